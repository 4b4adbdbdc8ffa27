"""Twenty fixed tasks for the embedded model: `python tests/tick/embedded_tasks.py`.

A task is passed when the tick leaves at least one draft that can be done or kept: an act that the
catalogue has, with a payload that fits it, or a change of goals or memory that was applied. How
often it is also the one that a person would have made is told beside it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from mentis.app.agent import Agent
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.tick.asking import TickAsker
from mentis.tick.cache import HelperCache
from mentis.tick.run import TickLimits
from mentis.tick.tick import tick
from mentis.tick.wire_up import StageBuilder
from mentis.values.cognition import CognitionState, Sense
from mentis.values.tick import Catalogue, Descriptor, Tick
from mentis.values.trust import Trust

GIVEN: Any = json.loads((Path(__file__).parent / "tasks.json").read_text(encoding="utf-8"))
ENVIRON = {
    **os.environ,
    "MENTIS_ROUTES__DEFAULT__THREADS": "1",
    "MENTIS_ROUTES__DEFAULT__TEMPERATURE": "0",
    "MENTIS_CORTEX__SECONDS": "600",
}


@dataclass(frozen=True, slots=True)
class Result:
    sense: str
    made: tuple[str, ...]
    fits: bool
    seconds: float
    said: str

    @property
    def valid(self) -> bool:
        return bool(self.made)


def catalogue() -> Catalogue:
    acts = [
        Descriptor("act", one["endpoint"], one["name"], one["schema"], one["description"])
        for one in GIVEN["acts"]
    ]
    return Catalogue("tasks", tuple(sorted(acts, key=lambda one: one.key)))


def made_in(done: Tick) -> tuple[str, ...]:
    """What can be done or was kept: names of acts, kinds of operations."""
    ops = (*done.report.goal_ops, *done.report.memory_ops)
    return (*(act.name for act in done.acts), *(one.op.op for one in ops if one.applied))


async def run_tasks(
    tasks: Sequence[Any], tell: Callable[[Result], None] = lambda _: None
) -> list[Result]:
    """Each on an empty mind, one after the other on one loaded model."""
    results: list[Result] = []
    with TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        create_home(home)
        async with Agent.open(home, parts=Parts(environ=ENVIRON)) as agent:
            agent_parts = agent._parts  # pyright: ignore[reportPrivateUsage]  # the tick without the home
            for task in tasks:
                present = agent_parts.look()
                asking = TickAsker(agent_parts.who, agent_parts.record, agent_parts.models, present)
                desk = StageBuilder(
                    agent_parts.who, agent_parts.models, present.settings, asking, HelperCache()
                )
                said = {"text": task["sense"]}
                sense = Sense("s", "message", said, Trust.OWNER, "owner")
                begun = time.monotonic()
                done = await tick(
                    [sense],
                    catalogue(),
                    CognitionState(),
                    stages=desk.stages(),
                    limits=TickLimits(seconds=600),
                )
                made = made_in(done)
                reply = asking.calls[0].reply
                result = Result(
                    task["sense"],
                    made,
                    bool(set(made) & set(task["wants"])),
                    time.monotonic() - begun,
                    reply.text or str(reply.actions),
                )
                results.append(result)
                tell(result)
    return results


def shown(one: Result) -> None:
    marks = f"{'valid' if one.valid else '-----'} {'fits' if one.fits else '----'}"
    told = ", ".join(one.made) or one.said
    print(f"{marks} {one.seconds:5.1f} s  {one.sense}  {told}", flush=True)  # noqa: T201


def main() -> None:
    results = anyio.run(run_tasks, GIVEN["tasks"], shown)
    valid, fits = sum(one.valid for one in results), sum(one.fits for one in results)
    seconds = sum(one.seconds for one in results)
    print(f"valid {valid} of {len(results)}, fitting {fits}, {seconds:.0f} s")  # noqa: T201
    sys.exit(valid < 16)


if __name__ == "__main__":
    main()
