"""How people ask, beside how tools are described: a task is leaned towards what it asks for.

"I am freezing" and "changes the temperature of a room" share nothing, and a small model sees little
between them. The phrasebook holds some two hundred things people ask for, each described as a tool
would be and said in a few ways in five languages. A task that resembles what is said there moves
towards what is described there, so that tools nobody wrote examples for are found. Beside them
stands small talk, which asks for nothing.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from mentis.errors import Defect
from mentis.values.value import Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

# Measured on the open half of the evaluation set with the examples taken away, and on a set with
# other tools; see docs/concepts/selection.md.
_LEAN = 0.8  # how far a task moves, at most
_NEAREST = 2  # phrases of one entry that it must resemble
_SHARPNESS = 0.03  # the smaller, the more the best entry alone decides
_DOUBT, _SURE = 0.2, 0.65  # below the first it does not move, from the second on as far as it may


# How much nearer to small talk than to the best tool a task is that needs none; and the score from
# which on somebody asks for that tool, whatever else they say.
CHATTER = 0.05
ASKED = 0.35
LANGUAGES = ("en", "de", "fr", "pt", "es")


@dataclass(frozen=True, slots=True)
class PhrasebookEntry(Value):
    """One thing people ask for: described as a tool would be, and said as they say it."""

    name: str
    description: str
    phrases: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        return (f"{self.name}: {self.description}", *self.phrases)


class LeanedTask(NamedTuple):
    """A task moved towards what it seems to ask for, and how much it resembles small talk."""

    vector: Matrix
    chatter: float


class Phrasebook:
    """What is said, in the few directions in which it differs most, and what is described.

    `said` has a row for each text of each entry (`counts` of them), then one for each line of small
    talk; `directions` are those it was written in.
    """

    def __init__(
        self, said: Matrix, directions: Matrix, described: Matrix, counts: Sequence[int]
    ) -> None:
        import numpy as np

        self.said, self.directions, self._described = said, directions, described
        sizes = np.array(counts, dtype=np.int64)
        first = np.cumsum(sizes) - sizes
        self._asked = int(sizes.sum())
        within = np.arange(int(sizes.max()))[None, :]
        self._inside = within < sizes[:, None]
        self._places = np.where(self._inside, first[:, None] + within, 0)

    def lean(self, vector: Matrix) -> LeanedTask:
        """The vector moved towards what it seems to ask for; as it came when nothing is near."""
        import numpy as np

        said = self.cosines(vector)
        cosines = np.where(self._inside, said[self._places], -1.0)
        cosines.partition(-_NEAREST, axis=1)
        near = cosines[:, -_NEAREST:].sum(axis=1) / _NEAREST
        best = float(near.max())
        step = _LEAN * min(max((best - _DOUBT) / (_SURE - _DOUBT), 0.0), 1.0)
        weights = np.exp((near - best) / _SHARPNESS)
        moved = vector + step * (weights / weights.sum()) @ self._described
        length = math.sqrt(moved @ moved)
        leaned = (moved / length).astype(np.float32, copy=False) if length else vector
        return LeanedTask(leaned, _chatter(said[self._asked :]))

    def cosines(self, vector: Matrix) -> Matrix:
        """How near a vector is to each text, as far as the directions tell."""
        seen: Matrix = self.directions @ vector
        return self.said @ seen


def _chatter(cosines: Matrix) -> float:
    """As for an entry: the mean of those it resembles most."""
    nearest = sorted(cosines.tolist())[-_NEAREST:]
    return sum(nearest) / _NEAREST if nearest else -1.0


def load_phrases() -> tuple[PhrasebookEntry, ...]:
    """What ships, in its order."""
    rows: Iterable[Mapping[str, Any]] = map(json.loads, _data("phrases.jsonl").splitlines())
    return tuple(PhrasebookEntry(row["name"], row["description"], _said(row)) for row in rows)


def _said(row: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return tuple(phrase for language in LANGUAGES for phrase in row[language])


def small_talk() -> tuple[str, ...]:
    """What people say when they ask for nothing."""
    return tuple(_data("smalltalk.txt").splitlines())


def _data(name: str) -> str:
    return (files("mentis.recall") / "data" / name).read_text(encoding="utf-8")


def digest(entries: Iterable[PhrasebookEntry], talk: Iterable[str]) -> str:
    texts = (text for one in entries for text in (*one.texts, ""))
    return sha256("\0".join((*texts, *talk)).encode()).hexdigest()


@cache
def phrasebook_for(model: str) -> Phrasebook | None:
    """The vectors that ship, when this embedder made them; None for any other."""
    header, data = _shipped()
    if not model.startswith(f"{header['model']}+") or f"/{header['dimension']}/" not in model:
        return None
    entries, talk = load_phrases(), small_talk()
    if header["digest"] != digest(entries, talk):
        raise Defect("phrases.bin was not made from these phrases", hint="tools/phrases.py")
    counts = [len(one.texts) for one in entries]
    return _unpacked(header, zlib.decompress(data), counts, len(talk))


def _unpacked(
    header: Mapping[str, str], data: bytes, counts: Sequence[int], talk: int
) -> Phrasebook:
    """Three matrices, a byte for each number: directions, what is described, what is said."""
    import numpy as np

    wide, kept = int(header["dimension"]), int(header["directions"])
    flat = np.frombuffer(data, dtype=np.int8).astype(np.float32)
    directions, described, said = np.split(flat, [kept * wide, (kept + len(counts)) * wide])
    return Phrasebook(
        said.reshape(sum(counts) + talk, kept) * np.float32(header["scale"]),
        _of_length_one(directions.reshape(kept, wide)),
        _of_length_one(described.reshape(len(counts), wide)),
        counts,
    )


def _of_length_one(rows: Matrix) -> Matrix:
    import numpy as np

    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _shipped() -> tuple[dict[str, str], bytes]:
    whole = (files("mentis.recall") / "data/phrases.bin").read_bytes()
    line, _, data = whole.partition(b"\n")
    return json.loads(line), data
