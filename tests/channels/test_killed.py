"""A kill at every point between a message, its answer and the platform."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("killed.py")
KEY = "channel/chat/42/m1/answer/0"
# Nothing can have been sent yet, or it is known that it was.
SURE = (
    "before received",
    "after received",
    "before acknowledging",
    "in the call",
    "before turn",
    "after turn",
    "before answered",
    "after answered",
    "before sending",
    "after sent",
)
# It was begun: nobody knows, where the platform knows no keys.
UNSURE = (
    "after sending",
    "before the platform has it",
    "after the platform has it",
    "before sent",
)


KEYED = tuple(f"keyed {moment}" for moment in UNSURE)
FEW = ("after received", "in the call", "after turn", "after answered", "after sent")


def test_a_kill_loses_nothing_and_answers_nothing_twice(tmp_path: Path) -> None:
    check(tmp_path, (*FEW, UNSURE[0], UNSURE[2], KEYED[2]))


@pytest.mark.slow
def test_a_kill_anywhere_loses_nothing_and_answers_nothing_twice(tmp_path: Path) -> None:
    check(tmp_path, (*SURE, *UNSURE, *KEYED))


def check(folder: Path, moments: Sequence[str]) -> None:
    command = [sys.executable, str(SCRIPT), str(folder), *moments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines: list[Any] = [json.loads(line) for line in done.stdout.splitlines()]
    found = {one["moment"]: one for one in lines}
    assert found.keys() == {*moments}, done.stderr
    for moment, one in found.items():
        assert one["killed"], moment
        assert one["intact"], moment
        assert one["answered"] == 1, (moment, one)
        others = [text for key, text in one["sent"] if key != KEY]
        answers = [text for key, text in one["sent"] if key == KEY]
        if moment in UNSURE:  # the room is told, and nothing is sent again
            assert answers == ["Hello."] * (moment in UNSURE[2:]), moment
            assert others[0].startswith("I was interrupted"), moment
            assert (len(others), one["unknown"]) == (1, 1), moment
        elif moment in KEYED:  # the platform takes the second for the first: the key is the same
            assert set(answers) == {"Hello."}, moment
            assert (others, one["unknown"]) == ([], 0), moment
        else:
            assert (answers, others, one["unknown"]) == (["Hello."], [], 0), moment
