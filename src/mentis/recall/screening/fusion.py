"""How the voters are weighed into one score: a weight for each, learned on sources none had seen.

`vector` weighs all of them, `text` those that need no vector. Thresholds come with each; `strict`
ones hold for text whose vector was there and could not be used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log2
from typing import Literal, TypeAlias

from mentis.values.value import Value

Way: TypeAlias = Literal["vector", "text", "strict"]
WAYS: tuple[Way, ...] = ("vector", "text", "strict")
TEXT_VOTERS = ("window", "whole", "length")
VOTERS = (*TEXT_VOTERS, "head", "patterns")
_SHORT = 16  # tokens; below that a text has no length to speak of
_MOST_DOUBLINGS = 6.0


@dataclass(frozen=True, slots=True)
class Fusion(Value):
    weights: Mapping[str, float]
    bias: float

    def shares(self, votes: Mapping[str, float]) -> dict[str, float]:
        """What each voter adds to the score."""
        return {name: weight * votes[name] for name, weight in self.weights.items()}

    def total(self, votes: Mapping[str, float]) -> float:
        return self.bias + sum(self.shares(votes).values())


def weighs(way: Way) -> Literal["vector", "text"]:
    return "vector" if way == "vector" else "text"


def text_votes(window: float, whole: float, tokens: int) -> dict[str, float]:
    """The longer a text, the worse its worst part by mere chance: so its length has a vote.

    In tokens, not in windows: what tools bring is cut into many small ones that say little.
    """
    length = min(log2(max(1.0, tokens / _SHORT)), _MOST_DOUBLINGS)
    return {"window": window, "whole": whole, "length": length}
