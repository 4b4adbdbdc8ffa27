"""Killed at any step between intent and outcome: no act is done twice, and none is lost."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from mentis.act import entries
from mentis.ledger.verify import verify_chain
from mentis.values.act import ActCall, Decision, WaitingAct
from mentis.values.action import Action
from mentis.values.entry import Entry

from .actor import ACTIONS, AGENT, Life, accepted_in
from .conftest import first_then_slow

ACTOR = Path(__file__).with_name("actor.py")
INSIDE, OUTSIDE, SHARES = 204, 20, 4
APPROVED = "approved-1"
Run = Callable[[Path, int], list[str]]


@pytest.fixture
def run() -> Iterator[Run]:
    """What a child says that is killed at a step, and how it ends."""
    pipe = subprocess.PIPE
    command = [sys.executable, str(ACTOR)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as server:
        talk, hear = server.stdin, server.stdout
        assert talk is not None
        assert hear is not None

        def run(folder: Path, step: int) -> list[str]:
            talk.write(json.dumps({"folder": str(folder), "step": step}) + "\n")
            talk.flush()
            lines = [hear.readline().rstrip("\n")]
            while not lines[-1].startswith("end "):
                assert lines[-1], lines
                lines.append(hear.readline().rstrip("\n"))
            return lines

        yield run
        talk.close()


@pytest.fixture
def new_folder(tmp_path: Path) -> Callable[[], Path]:
    """A home each time, in which a person has approved one act that nobody has begun."""
    seed, numbers = tmp_path / "seed", count()
    seed.mkdir()
    life = Life(seed)
    waiting = WaitingAct(
        ActCall(Action("write", {"n": 0}), APPROVED, AGENT),
        life.registry.digest("write") or "",
        source="python",
        external_effects=True,
        decision=Decision("wait", "ask"),
        since="2026-01-01T00:00:00.000000Z",
        expires="2027-01-01T00:00:00.000000Z",
    )
    asked, mark = entries.waiting_draft(waiting), entries.waiting_mark(waiting)
    life.ledger.append(AGENT, [asked], life.stamp, marks=[mark])
    said = entries.decided_draft(waiting, "approved", entries.ApprovalDecision("d1", "owner"))
    life.ledger.append(AGENT, [said], life.stamp, marks=entries.approved_marks(waiting))
    life.close()

    def copied() -> Path:
        folder = Path(shutil.copytree(seed, tmp_path / f"f{next(numbers):04d}"))
        accepted_in(folder).accept(AGENT, APPROVED, entries.waiting_digest(waiting))
        return folder

    return copied


def points_of_a_whole_life(run: Run, folder: Path) -> list[int]:
    """Steps between an intent and its outcome; and some before, between and after."""
    said, end = run(folder, 0)
    assert end == "end 0", said
    assert said.startswith("kept "), said
    begun, ended, batch, *_, last = [int(step) for step in said.split()[1:]]
    inside = [*range(begun + 1, ended), *range(batch + 1, last)]
    outside = [*range(1, begun), *range(ended, batch), *range(last, last + 20)]
    return [*spread(inside, INSIDE), *spread(outside, OUTSIDE)]


def spread(steps: list[int], count: int) -> list[int]:
    chosen = [steps[n * (len(steps) - 1) // (count - 1)] for n in range(count)]
    assert len(set(chosen)) == count
    return chosen


@pytest.mark.parametrize("share", first_then_slow(*range(SHARES)))
def test_killed_at_any_step_no_act_is_done_twice_and_none_is_lost(
    run: Run, new_folder: Callable[[], Path], share: int
) -> None:
    folder = new_folder()
    points = points_of_a_whole_life(run, folder)
    settle(folder, about="whole")
    found_open = 0
    for point in points[share::SHARES]:
        folder = new_folder()
        said = run(folder, point)
        # How threads take turns moves a step or two: the very last ones may not come.
        assert said[-1] == "end -9" or point > max(points) - 60, said
        found_open += settle(folder, about=f"killed at step {point}")
    assert found_open > 45  # of 51: there was an intent and no outcome when it was killed


def settle(folder: Path, *, about: str) -> bool:
    """Start again and look at what is there; whether anything was open before."""
    left = recorded(folder)
    begun = {key for key, _ in intents(left)}
    assert effects(folder).keys() <= begun, about  # nothing is done before its intent
    restart(folder)
    restart(folder)
    made = recorded(folder)
    assert verify_chain(AGENT, made).intact, about
    outcomes = Counter(key for key, _ in ended(made))
    states = dict(ended(made))
    done = effects(folder)
    for key, name in set(intents(made)):
        assert outcomes[key] == 1, f"{about}: {key}"
        most = 2 if name == "put" else 1
        assert done[key] <= most, f"{about}: {name} {key} was done {done[key]} times"
        assert states[key] in ("done", "unknown"), about
        assert states[key] == "unknown" or done[key] >= 1, f"{about}: {key}"
    assert done.keys() <= {key for key, _ in intents(made)}, about
    assert states[APPROVED] in ("done", "unknown"), about
    asked = [key for key in outcomes if key != APPROVED]
    waits = [entry for entry in made if act(entry)["stage"] == "waiting"]
    assert len(asked) + len(waits) - 1 in (0, len(ACTIONS)), about  # all of the batch, or nothing
    return bool(begun - {key for key, _ in ended(left)})


def restart(folder: Path) -> None:
    async def start() -> None:
        life = Life(folder)
        try:
            recovered, approved = await life.start()
            assert (recovered.faults, approved.faults) == ((), ())
            assert life.ledger.marks(AGENT, "act") == ()
            assert life.ledger.marks(AGENT, "approved") == ()
            told = {mark.key for mark in life.ledger.marks(AGENT, "news")}
            assert told >= {outcome.key for outcome in recovered.outcomes}
        finally:
            life.close()

    anyio.run(start)


def recorded(folder: Path) -> list[Entry]:
    life = Life(folder)
    try:
        return list(life.ledger.entries(AGENT))
    finally:
        life.close()


def act(entry: Entry) -> dict[str, Any]:
    return cast("dict[str, Any]", entry.body["act"])


def intents(made: list[Entry]) -> list[tuple[str, str]]:
    return [(act(e)["key"], act(e)["type"]) for e in made if act(e)["stage"] == "intent"]


def ended(made: list[Entry]) -> list[tuple[str, str]]:
    return [(act(e)["key"], act(e)["state"]) for e in made if act(e)["stage"] == "outcome"]


def effects(folder: Path) -> Counter[str]:
    path = folder / "effects"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return Counter(line.split()[1] for line in lines)
