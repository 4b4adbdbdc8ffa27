"""Every capability of a manifest, scored against one task: by vectors, by words, by both.

The task is leaned towards what it asks for (`phrasebook`). The dense score is then the mean of
three cosines: to the description, to the three nearest texts, and to the middle of all texts. One
lucky example does not carry it, nor does one dry description sink it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, overload

from mentis.values.selection import Capability, Kind, Manifest

from .cuts import SelectionCut
from .lexical import LexicalIndex
from .phrasebook import phrasebook_for

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]
    Numbers = NDArray[np.float64]

_NEAREST = 3
_WORD_SHARE = 0.15  # the most that shared words can add to a cosine
_WORD_HALF = 6.0  # the BM25 score that counts half
_DIGITS = 6  # scores are compared after rounding: the last bits differ between machines


class ScoredCapability(NamedTuple):
    """One of all that were scored: a plain tuple, since hundreds are made for each task."""

    name: str
    kind: Kind
    score: float
    dense: float | None
    lexical: float


class RankedCapabilities(Sequence[ScoredCapability]):
    """Best first. Most are never looked at, so each row is made when somebody does."""

    def __init__(
        self,
        names: Sequence[tuple[str, Kind]],
        order: Sequence[int],
        rows: tuple[Sequence[float], Sequence[float | None], Sequence[float]],
        chatter: float = -1.0,
    ) -> None:
        """`chatter`: how much the task resembles small talk, where that can be told."""
        self._names, self._order = names, order
        self.chatter = chatter
        self._scores, self._dense, self._lexical = rows

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, index: int) -> ScoredCapability: ...
    @overload
    def __getitem__(self, index: slice) -> list[ScoredCapability]: ...
    def __getitem__(self, index: int | slice) -> ScoredCapability | list[ScoredCapability]:
        if isinstance(index, slice):
            return [*map(self._row, self._order[index])]
        return self._row(self._order[index])

    def of(self, kind: Kind) -> Iterator[ScoredCapability]:
        return (self._row(at) for at in self._order if self._names[at][1] == kind)

    def _row(self, at: int) -> ScoredCapability:
        return ScoredCapability(
            *self._names[at], self._scores[at], self._dense[at], self._lexical[at]
        )


class Ranking:
    """A manifest made ready to be ranked, once; each task costs one product with its matrix."""

    def __init__(self, manifest: Manifest, cuts: Mapping[str, SelectionCut] | None = None) -> None:
        """`cuts` are the owner's own, by embedder; those that ship hold for the others."""
        self.manifest = manifest
        self.cuts = cuts or {}
        self._words = LexicalIndex([" ".join(one.readings) for one in manifest.entries])
        self._matrix: _Matrix | None = None
        self._names: list[tuple[str, Kind]] = [
            (one.capability.name, one.capability.kind) for one in manifest.entries
        ]
        self._skills = {
            one.capability.name: one.capability
            for one in manifest.entries
            if one.capability.kind == "skill"
        }
        # Those that are not for every stance.
        self.limited = {
            (one.capability.kind, one.capability.name): one.capability.stances
            for one in manifest.entries
            if one.capability.stances
        }
        self._by_name = sorted(range(len(self._names)), key=self._names.__getitem__)
        self._named: NDArray[np.intp] | None = None  # the same, for numpy
        self._nothing = [None] * len(self._names)

    @property
    def skill_names(self) -> frozenset[str]:
        return frozenset(self._skills)

    def skill(self, name: str) -> Capability:
        """The skill of this name; KeyError when there is none."""
        return self._skills[name]

    def by_words(self, reading: str) -> RankedCapabilities:
        """Best first, names decide between equals."""
        lexical = self._lexical(reading)
        scores = [round(score, _DIGITS) for score in lexical]
        # Sorting leaves equals where they were: in the order of their names.
        order = sorted(self._by_name, key=scores.__getitem__, reverse=True)
        return RankedCapabilities(self._names, order, (scores, self._nothing, lexical))

    def by_vector(self, vector: Sequence[float]) -> RankedCapabilities:
        dense, chatter = self._dense(vector)
        return self._ordered(dense, (dense, [0.0] * len(dense)), chatter)

    def by_both(self, reading: str, vector: Sequence[float]) -> RankedCapabilities:
        import numpy as np

        (dense, chatter), lexical = self._dense(vector), self._lexical(reading)
        return self._ordered(dense + _WORD_SHARE * np.array(lexical), (dense, lexical), chatter)

    def _lexical(self, reading: str) -> list[float]:
        """BM25, squeezed between 0 and 1: what a score means must not depend on the others."""
        squeezed = [0.0] * self._words.size
        for number, score in self._words.scores(reading).items():
            squeezed[number] = score / (score + _WORD_HALF)
        return squeezed

    def _dense(self, vector: Sequence[float]) -> tuple[Numbers, float]:
        if self._matrix is None:
            self._matrix = _Matrix(self.manifest)
        return self._matrix.scores(vector)

    def _ordered(
        self, scores: Numbers, parts: tuple[Numbers, Sequence[float]], chatter: float
    ) -> RankedCapabilities:
        import numpy as np

        steady = scores.round(_DIGITS)
        if self._named is None:
            self._named = np.array(self._by_name, dtype=np.intp)
        order = self._named[(-steady[self._named]).argsort(kind="stable")]
        rows = (steady.tolist(), parts[0].tolist(), parts[1])
        return RankedCapabilities(self._names, order.tolist(), rows, round(chatter, _DIGITS))


class _Matrix:
    """The vectors of a manifest as one matrix, and where the rows of each entry lie in it."""

    def __init__(self, manifest: Manifest) -> None:
        import numpy as np

        width = manifest.header.dimension
        rows = np.frombuffer(manifest.vectors, dtype="<f4").reshape(-1, width)
        entries = manifest.entries
        self._phrasebook = phrasebook_for(manifest.header.model)
        self._rows = rows.astype(np.float32, copy=False)
        self._first = np.array([one.start for one in entries], dtype=np.int64)
        self._middle = _middles(self._rows, self._first)
        most = max((one.rows for one in entries), default=1)
        places = np.arange(most)[None, :] + self._first[:, None]
        self._inside = np.arange(most)[None, :] < np.array([one.rows for one in entries])[:, None]
        self._places = np.where(self._inside, places, 0)
        self._counts = np.minimum(self._inside.sum(axis=1), _NEAREST)

    def scores(self, vector: Sequence[float]) -> tuple[Numbers, float]:
        import numpy as np

        wanted, chatter = np.asarray(vector, dtype=np.float32), -1.0
        if self._phrasebook is not None:
            wanted, chatter = self._phrasebook.lean(wanted)
        cosines = self._rows @ wanted
        spread = np.where(self._inside, cosines[self._places], -np.inf)
        spread.sort(axis=1)
        nearest = spread[:, -_NEAREST:]
        near = np.where(np.isfinite(nearest), nearest, 0).sum(axis=1) / self._counts
        dense = (cosines[self._first] + near + self._middle @ wanted) / 3
        return dense.astype(np.float64), chatter


def _middles(rows: Matrix, first: NDArray[np.int64]) -> Matrix:
    import numpy as np

    sums = np.add.reduceat(rows, first, axis=0)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)
