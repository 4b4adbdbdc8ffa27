"""A kill at every point between a sense, the act it led to and the ledger."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("killed.py")
CHORES = Path(__file__).with_name("killed_chores.py")
AGAIN = ("after thought", "before intent")
BEGUN = ("after intent", "in act", "before tick")
ONCE = ("before letting go", "after letting go")


def test_a_kill_anywhere_loses_no_sense_and_takes_each_exactly_once(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), str(tmp_path), *AGAIN, *BEGUN, *ONCE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines: list[Any] = [json.loads(line) for line in done.stdout.splitlines()]
    found = {one["moment"]: one for one in lines}
    assert found.keys() == {*AGAIN, *BEGUN, *ONCE}, done.stderr
    for moment, one in found.items():
        assert one["killed"], moment
        assert one["intact"], moment
        assert one["waiting"] == 0, moment
        assert len(one["taken"]) == 1, (moment, one)
        # Each act that was begun has come to something, and none was begun twice.
        assert one["stages"].count("intent") == one["stages"].count("outcome"), (moment, one)
    # Nothing was begun: the sense is taken again.
    assert [found[one]["effects"] for one in AGAIN] == [1, 1]
    # Something was: the sense is not taken again, and the agent is told what is known of the act.
    assert [found[one]["effects"] for one in BEGUN] == [0, 1, 1]
    assert [found[one]["cut_off"] for one in (*AGAIN, *BEGUN)] == [1, 1, 1, 1, 1]
    assert found["before tick"]["marked"]
    assert found["after intent"]["told"]
    assert found["in act"]["told"]
    # It was recorded: the sense is gone, and only what came of the act is still to be told.
    for moment in ONCE:
        assert found[moment]["effects"] == 1, moment
        assert found[moment]["stages"] == ["intent", "outcome"], moment


def test_a_kill_at_a_delivery_or_an_afterthought_makes_none_twice(tmp_path: Path) -> None:
    """Before it is recorded it is made again; from then on it is not."""
    deliveries = ("delivery before 1", "delivery after 1")
    thoughts = ("afterthought before 1", "afterthought after 1", "afterthought after 2")
    command = [sys.executable, str(CHORES), str(tmp_path), *deliveries, *thoughts]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines: list[Any] = [json.loads(line) for line in done.stdout.splitlines()]
    found = {one["moment"]: one for one in lines}
    assert found.keys() == {*deliveries, *thoughts}, done.stderr
    for moment, one in found.items():
        assert (one["killed"], one["intact"]) == (True, True), moment
        # What was recorded is in the talk as well.
        wrote = one["inner"].count("delivery") + one["inner"].count("afterthought_followup")
        thought = one["inner"].count("afterthought_decision")
        assert sorted(one["kinds"]) == ["said"] * (1 + wrote) + ["thought"] * thought, one
        assert (one["owed"], one["inner"].count("delivery")) == (0, moment in deliveries), one
    assert [found[one]["inner"].count("afterthought_followup") for one in thoughts] == [1, 1, 1]
    assert [found[one]["inner"].count("afterthought_decision") for one in thoughts] == [1, 2, 1]
