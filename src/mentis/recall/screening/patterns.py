"""The owner's own patterns: texts that nobody may bring in, in their words or near to them.

They come from a manifest (`mentis manifest build --patterns`), with the vectors of the embedder
that made it. A text that says one of them word for word is dropped; so is one whose vector is near
enough to that of one, where both are of the same embedder.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from mentis.ports.screener import StoredVector
from mentis.recall.manifest import rows_of
from mentis.values.selection import Manifest
from mentis.values.value import Value

from .normalise import normalise

OWNER_PATTERN = "pattern"  # the category of a text that is like one of the owner's
NEAR = 0.75  # least cosine of a text that is like a pattern
_FEWEST = 2  # words of a pattern that is looked for inside of a text
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class PatternHit(Value):
    """Which pattern a text is like; `cosine` is None where it says the very words."""

    text: str
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class LeaveOneOut(Value):
    """How many of the patterns the others would have found, by words and by vector."""

    patterns: int
    found: int


class OwnerPatterns:
    def __init__(self, manifest: Manifest) -> None:
        rows = rows_of(manifest) if manifest.header.dimension else []
        own = [one for one in manifest.entries if one.capability.kind == "pattern"]
        self.model = manifest.header.model
        self._texts = [one.capability.description for one in own]
        self._words = [_worded(text) for text in self._texts]
        self._rows = [_unit(rows[one.start]) for one in own] if rows else []

    def __len__(self) -> int:
        return len(self._texts)

    def find(self, text: str, vector: StoredVector | None) -> PatternHit | None:
        """The first whose words the text says, else the nearest that is near enough."""
        normal = normalise(text)
        said = _worded("\n".join((normal.plain, *normal.hidden)))
        for pattern, words in zip(self._texts, self._words, strict=True):
            if _says(said, words):
                return PatternHit(pattern)
        return self._nearest(vector, without=-1)

    def leave_one_out(self) -> LeaveOneOut:
        found = 0
        for at, words in enumerate(self._words):
            rest = [other for place, other in enumerate(self._words) if place != at]
            vector = StoredVector(self._rows[at], self.model) if self._rows else None
            by_words = any(_says(words, other) for other in rest)
            found += by_words or self._nearest(vector, without=at) is not None
        return LeaveOneOut(len(self), found)

    def _nearest(self, vector: StoredVector | None, *, without: int) -> PatternHit | None:
        if vector is None or vector.model != self.model or not self._rows:
            return None
        row = _unit(array("f", vector.numbers))
        if len(row) != len(self._rows[0]):
            return None
        scores = [
            sum(map(float.__mul__, row, known)) if at != without else -1.0
            for at, known in enumerate(self._rows)
        ]
        best = max(range(len(scores)), key=scores.__getitem__)
        if scores[best] < NEAR:
            return None
        return PatternHit(self._texts[best], round(scores[best], 4))


def _worded(text: str) -> str:
    """Its words alone, with a blank before and after each."""
    return f" {' '.join(_WORD.findall(normalise(text).plain.casefold()))} "


def _says(said: str, words: str) -> bool:
    """A pattern of one word is a text of its own; longer ones may stand in any text."""
    return words in said if words.count(" ") > _FEWEST else bool(words.strip()) and words == said


def _unit(row: Sequence[float]) -> list[float]:
    length = math.sqrt(sum(number * number for number in row))
    return [number / length for number in row] if length else list(row)
