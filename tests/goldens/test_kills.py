"""Killed at any write, a turn or tick comes to a known end, and the next one goes on from there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from .golden_files import UPDATE, compare, known

Kind = Literal["turn", "tick"]
TESTS = Path(__file__).parents[1]
START = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from goldens.killed import main
main(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
"""


def recovered(folder: Path, kind: Kind, stride: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """What the process after each kill found: the moment, and what it says."""
    words = [sys.executable, "-c", START, str(TESTS), str(folder), kind, str(stride)]
    environ = {name: one for name, one in os.environ.items() if not name.startswith("MENTIS_")}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environ)
    assert (done.returncode, done.stderr) == (0, "")
    moment = ""
    for line in map(json.loads, done.stdout.splitlines()):
        if "moment" in line:
            moment = line["moment"]
            assert line["killed"] == (moment != "none"), moment
        elif "state" in line:
            yield moment, line


def end_of(kind: Kind, found: dict[str, Any]) -> str:
    """`nothing` happened, it is `closed` as a failure, or `complete`."""
    if kind == "turn":
        first = found["state"]["history"][0]
        ends = {"user said failed Mark it.": "closed", "user said complete Mark it.": "complete"}
        return ends.get(first, "nothing")
    ticks = [one["body"]["tick"] for one in found["state"]["entries"] if "tick" in one["body"]]
    if len(ticks) == 1:
        return "nothing"
    return "closed" if ticks[0].get("noop") == "cut_off" else "complete"


def held(folder: Path, kind: Kind, stride: int) -> list[dict[str, Any]]:
    """Every state that was found, once, with the rules that hold for all of them."""
    states: dict[str, dict[str, Any]] = {}
    for moment, found in recovered(folder, kind, stride):
        about = f"{kind} killed at {moment}"
        end = end_of(kind, found)
        assert (found["before"], found["after"]) == ([], []), about
        assert all(found["replays"]), about
        assert found["effects"] <= 1, about
        assert (moment != "none") or (end, found["effects"]) == ("complete", 1), about
        assert not any("pending" in turn for turn in found["state"]["history"]), about
        assert end != "nothing" or found["effects"] == 0, about
        state = {"end": end, "effects": found["effects"], **found["state"]}
        states[json.dumps(state, sort_keys=True)] = state
    return [states[key] for key in sorted(states)]


@pytest.mark.skipif(UPDATE, reason="the whole of it is being written")
@pytest.mark.parametrize("kind", ["turn", "tick"])
def test_killed_at_a_few_writes_it_comes_to_a_known_end(kind: Kind, tmp_path: Path) -> None:
    states = held(tmp_path, kind, 5)
    assert [state for state in states if state not in known(f"kills/{kind}")] == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["turn", "tick"])
def test_killed_at_any_write_it_comes_to_a_known_end(kind: Kind, tmp_path: Path) -> None:
    states = held(tmp_path, kind, 1)
    assert {state["end"] for state in states} == {"nothing", "closed", "complete"}
    if UPDATE:
        compare(f"kills/{kind}", states)
    # How many writes there are may change; what they may come to must not grow.
    assert [state for state in states if state not in known(f"kills/{kind}")] == []
