"""The voter that reads a stored vector: a linear head, and the nearest attacks and harmless texts.

No embedding happens here. The vector was made when the text was stored; its first numbers are its
meaning, and those are what the head was trained on. What is not such a vector has no say.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from mentis.errors import StoreDamaged
from mentis.ports.screener import StoredVector
from mentis.values.value import Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix: TypeAlias = NDArray[np.floating[Any]]
    Numbers: TypeAlias = tuple[Matrix, Matrix, Matrix, Matrix]

FORMAT = 2
SEEN = 192  # numbers of a vector by which neighbours are found
LEARNED = "learned"  # the category of an attack that is not one of our own patterns
LENS = 32000  # stands for 1 in the numbers they are seen through
NEAREST = 3
_LEAST, _MOST = 1e-6, 1e3  # a vector has length 1 or so
_HINT = "install Mentis anew"


@dataclass(frozen=True, slots=True)
class VectorVote(Value):
    """What the vector says: the head, how much nearer attacks are than harmless texts, and the
    category of the nearest.
    """

    head: float
    patterns: float
    category: str


@dataclass(frozen=True, slots=True)
class NoVote(Value):
    """Why a vector has no say."""

    reason: str


class VectorVoter:
    """`packed` is one line of JSON (what it reads, sizes, digest) and the numbers behind it."""

    def __init__(self, packed: bytes) -> None:
        line, _, body = packed.partition(b"\n")
        told = _header(line)
        self.encoder = cast("str", told["encoder"])
        self.length = cast("int", told["length"])
        self._meaning = cast("int", told["meaning"])
        self._bias = cast("float", told["bias"])
        self._categories = tuple(cast("list[str]", told["categories"]))
        self._told = told
        self._raw = _unpacked(body, told)
        self._loaded: Numbers | None = None

    def hear(self, vector: StoredVector) -> VectorVote | NoVote:
        """Unheard when it is another embedder's, of another length, or holds no numbers."""
        if vector.model.partition("+")[0] != self.encoder:
            return NoVote(f"the vector is of {vector.model or 'an unknown embedder'}")
        if len(vector.numbers) != self.length:
            return NoVote(f"the vector has {len(vector.numbers)} numbers, not {self.length}")
        if find_spec("numpy") is None:
            return NoVote("numpy is not installed")
        return self._heard(vector)

    def _heard(self, vector: StoredVector) -> VectorVote | NoVote:
        import numpy as np

        head, lens, attacks, others = self._numbers()
        meaning = np.asarray(vector.numbers, np.float64)[: self._meaning]
        most = float(np.abs(meaning).max())
        if not _LEAST <= most <= _MOST:  # NaN neither
            return NoVote("the vector holds what is no number, or none of any size")
        meaning = (meaning / np.sqrt(meaning @ meaning)).astype(np.float32)
        # Not `@`: its threads cost more than the product, and more cores would add it up otherwise.
        seen = np.einsum("ij,j->i", lens, meaning)
        seen /= max(_LEAST, float(np.sqrt(np.einsum("i,i->", seen, seen))))
        near, far = (np.einsum("ij,j->i", known, seen) for known in (attacks, others))
        best = int(np.argmax(near))
        return VectorVote(
            float(head @ meaning) + self._bias,
            _top(near) - _top(far),
            self._categories[best] if best < len(self._categories) else LEARNED,
        )

    def _numbers(self) -> Numbers:
        if self._loaded is None:
            self._loaded = unpack_numbers(self._raw, self._told)
        return self._loaded


def unpack_numbers(raw: bytes, told: Mapping[str, object]) -> Numbers:
    """The head, what neighbours are seen through, attacks and harmless texts: numbers of 8 or 16
    bits, to be scaled.
    """
    import numpy as np

    width = cast("int", told["meaning"])
    head = np.frombuffer(raw, "<i2", width).astype(np.float32)
    lens = np.frombuffer(raw, "<i2", SEEN * width, 2 * width).reshape(SEEN, width)
    rest = np.frombuffer(raw, np.int8, offset=2 * width * (SEEN + 1)).reshape(-1, SEEN)
    rest = rest.astype(np.float32)
    rest /= np.sqrt((rest * rest).sum(axis=1, keepdims=True))
    count = cast("int", told["attacks"])
    head *= np.float32(cast("float", told["scale"]))
    return head, lens.astype(np.float32) / np.float32(LENS), rest[:count], rest[count:]


def _top(similarities: Matrix) -> float:
    import numpy as np

    count = min(NEAREST, len(similarities))
    return float(np.partition(similarities, -count)[-count:].mean())


def _header(line: bytes) -> Mapping[str, object]:
    try:
        told: object = json.loads(line)
    except ValueError as error:
        raise StoreDamaged(f"the vector voter cannot be read: {error}", hint=_HINT) from error
    if not isinstance(told, dict) or cast("dict[str, object]", told).get("format") != FORMAT:
        raise StoreDamaged("the vector voter is of another format", hint=_HINT)
    return cast("Mapping[str, object]", told)


def _unpacked(body: bytes, told: Mapping[str, object]) -> bytes:
    width, attacks, others = (cast("int", told[name]) for name in ("meaning", "attacks", "others"))
    size = 2 * width * (SEEN + 1) + SEEN * (attacks + others)
    try:
        raw = zlib.decompressobj().decompress(body, size + 1)
    except zlib.error as error:
        raise StoreDamaged(f"the vector voter cannot be read: {error}", hint=_HINT) from error
    if len(raw) != size or sha256(raw).hexdigest() != told["sha256"]:
        raise StoreDamaged("the vector voter is not the released one", hint=_HINT)
    return raw
