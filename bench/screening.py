"""What it costs to screen a stored memory, against folding its letters and cutting it into words.

The gate of the issue is a time (3 ms of processor per memory); the table prints it beside the
ratio, and the ratio is what fails a run.
"""

from __future__ import annotations

import json
import math

from mentis.ports.screener import StoredVector
from mentis.recall.screening.features import tokens_of
from mentis.recall.screening.knowledge import shipped_file, shipped_knowledge
from mentis.recall.screening.screener import TextScreener
from mentis.recall.screening.vector import VectorVoter

from .harness import Pair, benchmark

GATE = 20.0


def notes() -> list[str]:
    lines = shipped_file("calibration.jsonl").decode().splitlines()
    return [json.loads(line)["text"] for line in lines]


def stored() -> StoredVector:
    """Any vector of the right length: what it says costs the same."""
    voter = VectorVoter(shipped_file("vector.bin"))
    return StoredVector([math.sin(place) for place in range(voter.length)], voter.encoder)


def pair(texts: list[str], vector: StoredVector | None = None) -> Pair:
    """One text each call, in turn, so that the figure is one memory's."""
    screener = TextScreener(shipped_knowledge())
    count = [0, 0]

    def screened() -> object:
        count[0] += 1
        return screener.screen(texts[count[0] % len(texts)], source="bench", vector=vector)

    def cut() -> object:
        count[1] += 1
        return tokens_of(texts[count[1] % len(texts)])

    return screened, cut


@benchmark("screen a memory", against="cutting it into folded words", gate=GATE)
def screen_a_memory() -> Pair:
    return pair(notes())


@benchmark("screen a memory with its vector", against="cutting it into folded words", gate=2 * GATE)
def screen_with_vector() -> Pair:
    return pair(notes(), stored())


@benchmark("screen 1,000 characters", against="cutting them into folded words", gate=GATE)
def screen_a_long_memory() -> Pair:
    whole = " ".join(notes())
    return pair([whole[at : at + 1000] for at in range(0, len(whole) - 1000, 997)])
