"""How people ask, beside how tools are described: a task is leaned towards what it asks for.

"I am freezing" and "changes the temperature of a room" share nothing, and a small model sees little
between them. The phrasebook holds some two hundred things people ask for, each described as a tool
would be and said in a few ways. A task that resembles what is said there moves towards what is
described there, so that tools nobody wrote examples for are found. English alone: the embedder
reads the other languages through its gloss.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

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
_SHARPNESS = 0.04  # the smaller, the more the best entry alone decides
_DOUBT, _SURE = 0.2, 0.5  # below the first it does not move, from the second on as far as it may


@dataclass(frozen=True, slots=True)
class Asked(Value):
    """One thing people ask for: described as a tool would be, and said as they say it."""

    name: str
    description: str
    phrases: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        return (f"{self.name}: {self.description}", *self.phrases)


class Phrasebook:
    """Rows of vectors: for each entry its description, then its phrases."""

    def __init__(self, rows: Matrix, counts: Sequence[int]) -> None:
        import numpy as np

        self.rows = rows
        sizes = np.array(counts, dtype=np.int64)
        first = np.cumsum(sizes) - sizes
        self._described = rows[first]
        within = np.arange(int(sizes.max()))[None, :]
        self._inside = within < sizes[:, None]
        self._places = np.where(self._inside, first[:, None] + within, 0)

    def lean(self, vector: Matrix) -> Matrix:
        """The vector moved towards what it seems to ask for; as it came when nothing is near."""
        import numpy as np

        cosines = np.where(self._inside, (self.rows @ vector)[self._places], -1.0)
        near = np.partition(cosines, -_NEAREST, axis=1)[:, -_NEAREST:].mean(axis=1)
        best = float(near.max())
        step = _LEAN * min(max((best - _DOUBT) / (_SURE - _DOUBT), 0.0), 1.0)
        weights = np.exp((near - best) / _SHARPNESS)
        moved = vector + step * (weights / weights.sum()) @ self._described
        length = float(np.linalg.norm(moved))
        return (moved / length).astype(np.float32) if length else vector


def asked() -> tuple[Asked, ...]:
    """What ships, in its order."""
    text = (files("mentis.recall") / "data/phrases.jsonl").read_text(encoding="utf-8")
    return tuple(
        Asked(row["name"], row["description"], tuple(row["phrases"]))
        for row in map(json.loads, text.splitlines())
    )


def digest(entries: Iterable[Asked]) -> str:
    texts = (text for one in entries for text in (*one.texts, ""))
    return sha256("\0".join(texts).encode()).hexdigest()


@cache
def phrasebook_for(model: str) -> Phrasebook | None:
    """The vectors that ship, when this embedder made them; None for any other."""
    header, data = _shipped()
    if not model.startswith(f"{header['model']}+") or f"/{header['dimension']}/" not in model:
        return None
    import numpy as np

    entries = asked()
    if header["digest"] != digest(entries):
        raise Defect("phrases.bin was not made from phrases.jsonl", hint="tools/phrases.py")
    flat = np.frombuffer(zlib.decompress(data), dtype=np.int8).astype(np.float32)
    rows = flat.reshape(-1, int(header["dimension"]))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return Phrasebook(rows, [len(one.texts) for one in entries])


def _shipped() -> tuple[dict[str, str], bytes]:
    whole = (files("mentis.recall") / "data/phrases.bin").read_bytes()
    line, _, data = whole.partition(b"\n")
    return json.loads(line), data
