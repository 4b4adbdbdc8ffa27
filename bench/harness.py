"""How a benchmark is declared and measured.

A machine is never quiet and never the same, so no time stands alone: the candidate and its
baseline take turns in the same run, and what counts is the ratio of their processor times; where
the disk or another process does the work, that of the time that passed.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Literal, TypeAlias

Run: TypeAlias = Callable[[], object]
Pair: TypeAlias = tuple[Run, Run]

REGISTERED: dict[str, Benchmark] = {}
SUMMARIES: dict[str, Summary] = {}
WEIGHTS: dict[str, Weight] = {}
# What plain Python does all day, in a kilobyte: what a gate allows is counted in such documents.
_DOCUMENT = {
    "text": "What was said about the garden on this day, and what is still to be done there. " * 3,
    "numbers": list(range(40)),
    "things": {f"thing {number}": {"x": number, "y": f"value {number}"} for number in range(20)},
}
# Long enough that the clock's grain does not show, short enough for many rounds.
SAMPLE_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Benchmark:
    """`prepare` makes the candidate and its baseline; a ratio over `gate` fails the run."""

    name: str
    against: str
    prepare: Callable[[], Pair]
    gate: float | None
    rounds: int
    clock: Literal["cpu", "wall"] = "cpu"
    slow: bool = False  # only with --full


@dataclass(frozen=True, slots=True)
class Summary:
    """The median of the ratios of several benchmarks, when all of them were measured."""

    name: str
    against: str
    members: tuple[str, ...]
    gate: float | None


@dataclass(frozen=True, slots=True)
class Weight:
    """`weigh` gives two numbers, such as bytes held and the bytes they are compared with."""

    name: str
    against: str
    weigh: Callable[[], tuple[int, int]]
    gate: float
    slow: bool = False


@dataclass(frozen=True, slots=True)
class Spread:
    """The middle, and the quarter below and above it."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds for one call."""

    cpu: Spread
    wall: Spread
    loops: int


@dataclass(frozen=True, slots=True)
class Result:
    name: str
    against: str
    rounds: int
    candidate: Timing
    baseline: Timing
    ratio: Spread
    gate: float | None
    clock: Literal["cpu", "wall"] = "cpu"

    @property
    def within_gate(self) -> bool:
        return self.gate is None or self.ratio.median <= self.gate


@dataclass(frozen=True, slots=True)
class Figure:
    """A single ratio: a median of others, or of bytes to bytes."""

    name: str
    against: str
    ratio: float
    gate: float | None

    @property
    def within_gate(self) -> bool:
        return self.gate is None or self.ratio <= self.gate


@dataclass(frozen=True, slots=True)
class _Sample:
    cpu: float
    wall: float


def plain_json(documents: int) -> None:
    """Write and read so many documents of a kilobyte: a baseline for what has no peer.

    A time in seconds would say more of the machine than of what is measured. One document is a
    sixtieth of a millisecond where the gates were set.
    """
    for _ in range(documents):
        json.loads(json.dumps(_DOCUMENT))


def benchmark(
    name: str,
    *,
    against: str,
    gate: float | None = None,
    rounds: int = 15,
    clock: Literal["cpu", "wall"] = "cpu",
    slow: bool = False,
) -> Callable[[Callable[[], Pair]], Callable[[], Pair]]:
    """Declare one: the decorated function prepares and returns candidate and baseline."""

    def register(prepare: Callable[[], Pair]) -> Callable[[], Pair]:
        REGISTERED[name] = Benchmark(name, against, prepare, gate, rounds, clock, slow)
        return prepare

    return register


def weight(
    name: str, *, against: str, gate: float, slow: bool = False
) -> Callable[[Callable[[], tuple[int, int]]], Callable[[], tuple[int, int]]]:
    """Declare one: the decorated function weighs or counts what there is, and what it is of."""

    def register(weigh: Callable[[], tuple[int, int]]) -> Callable[[], tuple[int, int]]:
        WEIGHTS[name] = Weight(name, against, weigh, gate, slow)
        return weigh

    return register


def summary(name: str, *, against: str, members: Sequence[str], gate: float | None = None) -> None:
    SUMMARIES[name] = Summary(name, against, tuple(members), gate)


def weighed(chosen: Weight) -> Figure:
    held, compared = chosen.weigh()
    return Figure(chosen.name, chosen.against, held / compared, chosen.gate)


def summed_up(results: Sequence[Result]) -> list[Figure]:
    """The summaries of which every member was measured in this run."""
    ratios = {result.name: result.ratio.median for result in results}
    return [
        Figure(one.name, one.against, median(ratios[name] for name in one.members), one.gate)
        for one in SUMMARIES.values()
        if ratios.keys() >= set(one.members)
    ]


def measure(chosen: Benchmark, *, times: int = 1) -> Result:
    """Interleaved rounds; who goes first changes each round."""
    candidate, baseline = chosen.prepare()
    loops = _loops(candidate), _loops(baseline)
    ours: list[_Sample] = []
    theirs: list[_Sample] = []
    for number in range(chosen.rounds * times):
        turns = [(candidate, loops[0], ours), (baseline, loops[1], theirs)]
        for run, count, samples in turns if number % 2 else reversed(turns):
            samples.append(_sample(run, count))
    ratios = [
        getattr(mine, chosen.clock) / getattr(other, chosen.clock)
        for mine, other in zip(ours, theirs, strict=True)
    ]
    return Result(
        name=chosen.name,
        against=chosen.against,
        rounds=len(ratios),
        candidate=_timing(ours, loops[0]),
        baseline=_timing(theirs, loops[1]),
        ratio=_spread(ratios),
        gate=chosen.gate,
        clock=chosen.clock,
    )


def _loops(run: Run) -> int:
    """How many calls make one sample; the first call only warms up."""
    run()
    count = 1
    while _sample(run, count).wall * count < SAMPLE_SECONDS:
        count *= 2
    return count


def _sample(run: Run, count: int) -> _Sample:
    cpu, wall = _cpu_seconds(), time.perf_counter()
    for _ in range(count):
        run()
    return _Sample((_cpu_seconds() - cpu) / count, (time.perf_counter() - wall) / count)


def _cpu_seconds() -> float:
    """Of this process and of the children it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _timing(samples: list[_Sample], loops: int) -> Timing:
    cpu = _spread([sample.cpu for sample in samples])
    return Timing(cpu, _spread([sample.wall for sample in samples]), loops)


def _spread(numbers: list[float]) -> Spread:
    low, _, high = quantiles(numbers, n=4)
    return Spread(median(numbers), low, high)
