"""`python -m bench.soak [--turns N]`: many real turns in a row on the embedded model.

At the end the record must verify and hold one entry for each turn, no answer may have been
empty or cut off, and memory must not have grown without bound.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from mentis import Agent, TurnResult, create_home
from mentis.engines import engine

# Each session is its own conversation, so that the history fits into the window of the model.
TURNS_PER_SESSION = 4
WARM_UP_TURNS = 4
# The engine fills the room it has for prefixes little by little. Here it gets little of it, so that
# it is soon full and what grows beyond it shows.
setattr(engine, "PREFIX_MEBIBYTES", 16)  # noqa: B010 - a constant of the program
GROWTH_MEGABYTES = 64.0
QUESTIONS = (
    "Good morning! Say hello in one short sentence.",
    "What did I ask you first?",
    "Name one colour.",
    "Thank you. Say goodbye in one short sentence.",
)


@dataclass(slots=True)
class Log:
    turns: int = 0
    read: int = 0
    cached: int = 0
    written: int = 0
    seconds: float = 0.0
    megabytes: list[float] = field(default_factory=list[float])
    failures: list[str] = field(default_factory=list[str])

    def add(self, result: TurnResult, seconds: float) -> None:
        self.turns += 1
        self.seconds += seconds
        self.megabytes.append(resident_megabytes())
        if usage := result.reply.usage:
            self.read += usage.input
            self.cached += usage.cache_read
            self.written += usage.output
        else:
            self.failures.append(f"turn {self.turns}: no usage was reported")
        if not result.reply.text.strip():
            self.failures.append(f"turn {self.turns}: the answer is empty")
        if result.reply.stop not in ("end", "length"):
            self.failures.append(f"turn {self.turns}: stopped by {result.reply.stop}")

    @property
    def growth(self) -> float:
        """Since the caches were filled."""
        after_warm_up = self.megabytes[min(WARM_UP_TURNS, len(self.megabytes)) - 1]
        return self.megabytes[-1] - after_warm_up


def resident_megabytes() -> float:
    """What this process holds now, not at its peak."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


async def talk(agent: Agent, turns: int, log: Log) -> None:
    for number in range(turns):
        session = f"soak-{number // TURNS_PER_SESSION}"
        question = QUESTIONS[number % len(QUESTIONS)]
        started = time.perf_counter()
        result = await agent.chat(question, session=session)
        log.add(result, time.perf_counter() - started)
        print(f"turn {log.turns}: {result.reply.text.strip()[:60]!r}", file=sys.stderr)


def check_record(agent: Agent, log: Log) -> None:
    verdict = agent.verify()
    log.failures += [f"entry {found.index}: {found.message}" for found in verdict.findings]
    turns = [entry for entry in agent.entries() if entry.kind == "turn"]
    if len(turns) != log.turns:
        log.failures.append(f"{log.turns} turns made {len(turns)} turn entries")
    if log.growth > GROWTH_MEGABYTES:
        log.failures.append(f"memory grew by {log.growth:.0f} MB")


async def soak(turns: int) -> Log:
    log = Log()
    with tempfile.TemporaryDirectory(prefix="mentis-soak-") as folder:
        # The key of a home that is thrown away goes with it.
        os.environ["MENTIS_CONFIG"] = str(Path(folder) / "keys")
        home = create_home(Path(folder) / "home")
        async with Agent.open(home) as agent:
            if agent.route.backend != "embedded":
                log.failures.append(f"the route is {agent.route.backend}, not the embedded model")
                return log
            await talk(agent, turns, log)
            check_record(agent, log)
    return log


def report(log: Log) -> None:
    if log.turns:
        print(f"turns         {log.turns} in {log.seconds:.1f} s")
        print(f"tokens        {log.read} read, {log.written} written")
        print(f"speed         {log.written / log.seconds:.1f} tokens written per second")
        print(f"cached share  {log.cached / max(log.read, 1):.0%} of what was read")
        print(f"memory        {log.megabytes[-1]:.0f} MB, {log.growth:+.1f} MB since warm")
    for failure in log.failures:
        print(f"failed: {failure}", file=sys.stderr)
    print("record        intact" if not log.failures else "record        see above")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--turns", type=int, default=40, help="how many (default: 40)")
    log = anyio.run(soak, parser.parse_args(arguments).turns)
    report(log)
    return 1 if log.failures else 0


if __name__ == "__main__":
    sys.exit(main())
