"""Every capability of a manifest, scored against one task: by vectors, by words, by both.

The dense score is the mean of three cosines: to the description, to the three nearest texts, and to
the middle of all texts. One lucky example does not carry it, nor does one dry description sink it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from mentis.values.selection import Kind, Manifest

from .lexical import LexicalIndex

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

_NEAREST = 3
_WORD_SHARE = 0.3  # the most that shared words can add to a cosine
_WORD_HALF = 6.0  # the BM25 score that counts half
_DIGITS = 6  # scores are compared after rounding: the last bits differ between machines


class Scored(NamedTuple):
    """One of all that were scored: a plain tuple, since hundreds are made for each task."""

    name: str
    kind: Kind
    score: float
    dense: float | None
    lexical: float


class Ranking:
    """A manifest made ready to be ranked, once; each task costs one product with its matrix."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self._words = LexicalIndex([" ".join(one.readings) for one in manifest.entries])
        self._matrix: _Matrix | None = None
        self._names: list[tuple[str, Kind]] = [
            (one.capability.name, one.capability.kind) for one in manifest.entries
        ]
        self._nothing = [None] * len(self._names)

    def by_words(self, reading: str) -> list[Scored]:
        """Best first, names decide between equals."""
        lexical = self._lexical(reading)
        return self._ordered(lexical, None, lexical)

    def by_vector(self, vector: Sequence[float]) -> list[Scored]:
        dense = self._dense(vector)
        return self._ordered(dense, dense, [0.0] * len(dense))

    def by_both(self, reading: str, vector: Sequence[float]) -> list[Scored]:
        dense, lexical = self._dense(vector), self._lexical(reading)
        both = [cosine + _WORD_SHARE * words for cosine, words in zip(dense, lexical, strict=True)]
        return self._ordered(both, dense, lexical)

    def _lexical(self, reading: str) -> list[float]:
        """BM25, squeezed between 0 and 1: what a score means must not depend on the others."""
        found = self._words.scores(reading)
        scores = (found.get(number, 0.0) for number in range(self._words.size))
        return [score / (score + _WORD_HALF) for score in scores]

    def _dense(self, vector: Sequence[float]) -> list[float]:
        if self._matrix is None:
            self._matrix = _Matrix(self.manifest)
        return self._matrix.scores(vector)

    def _ordered(
        self, scores: Sequence[float], dense: Sequence[float] | None, lexical: Sequence[float]
    ) -> list[Scored]:
        spoken = dense or self._nothing
        found = [
            Scored(name, kind, round(score, _DIGITS), spoken[number], lexical[number])
            for number, ((name, kind), score) in enumerate(zip(self._names, scores, strict=True))
        ]
        return sorted(found, key=lambda one: (-one.score, one.name, one.kind))


class _Matrix:
    """The vectors of a manifest as one matrix, and where the rows of each entry lie in it."""

    def __init__(self, manifest: Manifest) -> None:
        import numpy as np

        width = manifest.header.dimension
        rows = np.frombuffer(manifest.vectors, dtype="<f4").reshape(-1, width)
        entries = manifest.entries
        self._rows = rows.astype(np.float32, copy=False)
        self._first = np.array([one.start for one in entries], dtype=np.int64)
        self._middle = _middles(self._rows, self._first)
        most = max((one.rows for one in entries), default=1)
        places = np.arange(most)[None, :] + self._first[:, None]
        self._inside = np.arange(most)[None, :] < np.array([one.rows for one in entries])[:, None]
        self._places = np.where(self._inside, places, 0)
        self._counts = np.minimum(self._inside.sum(axis=1), _NEAREST)

    def scores(self, vector: Sequence[float]) -> list[float]:
        import numpy as np

        wanted = np.asarray(vector, dtype=np.float32)
        cosines = self._rows @ wanted
        spread = np.where(self._inside, cosines[self._places], -np.inf)
        nearest = np.sort(spread, axis=1)[:, -_NEAREST:]
        near = np.where(np.isfinite(nearest), nearest, 0).sum(axis=1) / self._counts
        scores: list[float] = ((cosines[self._first] + near + self._middle @ wanted) / 3).tolist()
        return scores


def _middles(rows: Matrix, first: NDArray[np.int64]) -> Matrix:
    import numpy as np

    sums = np.add.reduceat(rows, first, axis=0)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)
