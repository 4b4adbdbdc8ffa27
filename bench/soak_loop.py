"""`python -m bench.soak_loop [--ticks N]`: an agent lives on the embedded model, with real files.

A day has 20 ticks, and 13 files are put into its folder. At the end every file must be taken, the
record must verify, the revisions of the state follow each other, memory not have grown without
bound, and enough must have happened: of 500 ticks at least 300 with a call of the primary, 50 acts
that were dispatched and 50 patches that were applied.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, cycle, islice
from pathlib import Path
from typing import Literal

import anyio

from bench.soak import GROWTH_MEGABYTES, resident_megabytes
from mentis.act.functions import act
from mentis.app.agent import Agent
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.loop.report import RunReport
from mentis.loop.sources import LoopChoice
from mentis.prompts.cognition import open_cognition
from mentis.values.trust import Trust

DAY = 20  # ticks, after which its owner clears its mind: what it reads would grow with the time
FILES = 13  # a day, one for each tick until there are no more
CHOSEN = {
    "MENTIS_ROUTES__DEFAULT__TEMPERATURE": "0",
    "MENTIS_CORTEX__SECONDS": "600",
    "MENTIS_CORTEX__PRIMARY_TOKENS": "64",
    "MENTIS_CORTEX__L1_ENTRIES": "8",
    "MENTIS_CORTEX__GOALS": "8",
    "MENTIS_RUN__SENSES": "1",
}
NOTES = (
    "Remember that my name is Bo.",
    "Use lights: hall, on.",
    "Turn on the light in the kitchen.",
    "It rains.",
    "Keep in mind: the key is under the mat.",
    "Switch the lights in the hall off.",
    "Your new goal is to learn French.",
)


@act
def lights(room: Literal["kitchen", "hall"], on: bool) -> str:
    """Switch the lights of a room."""
    return f"The lights in the {room} are {'on' if on else 'off'}."


@dataclass(slots=True)
class Log:
    total: RunReport = field(default_factory=RunReport)
    calls: int = 0
    seconds: float = 0.0
    megabytes: list[float] = field(default_factory=list[float])
    failures: list[str] = field(default_factory=list[str])

    def add(self, report: RunReport) -> None:
        for name in ("ticks", "thought", "idle", "failed", "senses", "acts", "patches"):
            setattr(self.total, name, getattr(self.total, name) + getattr(report, name))
        self.megabytes.append(resident_megabytes())


async def live(home: Path, ticks: int, log: Log) -> None:
    inbox, notes = home.parent / "inbox", cycle(NOTES)
    inbox.mkdir()
    environ = {**os.environ, **CHOSEN}
    async with Agent.open(home, parts=Parts(environ=environ)) as agent:
        for day in count():
            if log.total.ticks >= ticks:
                break
            offer(agent, day)
            for number, text in enumerate(islice(notes, FILES)):
                (inbox / f"{log.total.ticks + number:05d}.txt").write_text(text, encoding="utf-8")
            choice = LoopChoice(0.0, min(DAY, ticks - log.total.ticks), (inbox,), None, Trust.OWNER)
            log.add(await agent.loop(choice=choice).run())
            print(f"{log.total.ticks} ticks, {log.total.acts} acts", file=sys.stderr, flush=True)
            clear(home, log)
        check(agent, inbox, ticks, log)


def offer(agent: Agent, day: int) -> None:
    """Every other day there is nothing to do but to remember: once it acts, it hardly stops."""
    if day % 2:
        agent.acts.add(lights)
    elif day:
        agent.acts.drop("lights")


def clear(home: Path, log: Log) -> None:
    with open_cognition(home) as mind:
        numbers = [one.number for one in mind.history()]
        if numbers != list(range(1, len(numbers) + 1)):
            log.failures.append(f"the revisions of the state do not follow each other: {numbers}")
        if numbers:
            mind.undo(to=0)


def check(agent: Agent, inbox: Path, ticks: int, log: Log) -> None:
    total, entries = log.total, agent.entries()
    log.failures += [f"entry {found.index}: {found.message}" for found in agent.verify().findings]
    log.calls = sum(entry.kind == "turn" for entry in entries)
    for name, least in (("calls", 300), ("acts", 50), ("patches", 50)):
        found = log.calls if name == "calls" else getattr(total, name)
        if found < least * ticks // 500:
            log.failures.append(f"{found} {name}, and {least * ticks // 500} are wanted")
    if left := [one.name for one in inbox.iterdir() if one.is_file()]:
        log.failures.append(f"{len(left)} files were not taken, {left[0]} is the first")
    if total.failed:
        log.failures.append(f"{total.failed} ticks failed")
    if (growth := log.megabytes[-1] - log.megabytes[0]) > GROWTH_MEGABYTES:
        log.failures.append(f"memory grew by {growth:.0f} MB")


def soak(ticks: int) -> Log:
    log, begun = Log(), time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="mentis-soak-") as folder:
        os.environ["MENTIS_CONFIG"] = str(Path(folder) / "keys")
        anyio.run(live, create_home(Path(folder) / "home"), ticks, log)
    log.seconds = time.perf_counter() - begun
    return log


def report(log: Log) -> None:
    total = log.total
    print(f"ticks         {total.ticks} in {log.seconds:.0f} s: {total.idle} cost nothing")
    print(f"senses        {total.senses} files")
    print(f"calls         {log.calls} of the primary")
    print(f"came of it    {total.acts} acts, {total.patches} patches")
    days = " ".join(f"{one:.0f}" for one in log.megabytes)
    print(f"memory        MB after each day: {days}")
    for failure in log.failures:
        print(f"failed: {failure}", file=sys.stderr)
    print("record        intact" if not log.failures else "record        see above")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.soak_loop", description=__doc__)
    parser.add_argument("--ticks", type=int, default=500, help="how many (default: 500)")
    log = soak(parser.parse_args(arguments).ticks)
    report(log)
    return 1 if log.failures else 0


if __name__ == "__main__":
    sys.exit(main())
