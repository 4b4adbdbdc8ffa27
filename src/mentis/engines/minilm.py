"""all-MiniLM-L6-v2 in plain numpy: six layers of a small BERT, the mean of its states, length 1.

Each text is computed alone and unpadded, so a vector does not depend on what it was asked with.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from mentis.errors import WeightsMissing

from .wordpiece import WordPiece, read_vocabulary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix: TypeAlias = NDArray[np.float32]

DIMENSION = 384
LONGEST = 256  # pieces; the model was trained on no more
_LAYERS = 6
_HEADS = 12
_EPSILON = 1e-12
_SCALE = 1 / math.sqrt(DIMENSION // _HEADS)


class MiniLm:
    """The loaded model. 90 MB are mapped, not read, and shared between processes."""

    def __init__(self, weights: Path, vocabulary: Path) -> None:
        self._tensors = read_safetensors(weights)
        self._tokens = WordPiece(read_vocabulary(vocabulary), longest=LONGEST)
        self._layers = tuple(_Layer(self._tensors, number) for number in range(_LAYERS))

    def vector(self, text: str) -> Matrix:
        states = self._embedded(self._tokens.pieces(text))
        for layer in self._layers:
            states = layer.apply(states)
        mean = states.mean(axis=0)
        length = math.sqrt(float(mean @ mean))
        return mean / length if length else mean

    def _embedded(self, pieces: list[int]) -> Matrix:
        tensors = self._tensors
        states = tensors["embeddings.word_embeddings.weight"][pieces]
        states = states + tensors["embeddings.position_embeddings.weight"][: len(pieces)]
        states += tensors["embeddings.token_type_embeddings.weight"][0]
        return _normed(states, tensors, "embeddings.LayerNorm")


class _Layer:
    """One layer, its three projections joined so that one product serves query, key and value."""

    def __init__(self, tensors: Mapping[str, Matrix], number: int) -> None:
        import numpy as np

        self._tensors = tensors
        self._at = at = f"encoder.layer.{number}"
        parts = [f"{at}.attention.self.{part}" for part in ("query", "key", "value")]
        self._mixed = np.concatenate([tensors[f"{part}.weight"] for part in parts]).T.copy()
        self._bias = np.concatenate([tensors[f"{part}.bias"] for part in parts])
        # Turned once and kept: a product with a turned view takes a third longer, every time.
        self._turned = {
            name: np.ascontiguousarray(tensors[f"{at}.{name}.weight"].T)
            for name in ("attention.output.dense", "intermediate.dense", "output.dense")
        }

    def apply(self, states: Matrix) -> Matrix:
        attended = self._linear(self._attention(states), "attention.output.dense")
        states = _normed(attended + states, self._tensors, f"{self._at}.attention.output.LayerNorm")
        inner = _gelu(self._linear(states, "intermediate.dense"))
        outer = self._linear(inner, "output.dense")
        return _normed(outer + states, self._tensors, f"{self._at}.output.LayerNorm")

    def _attention(self, states: Matrix) -> Matrix:
        import numpy as np

        length = len(states)
        mixed = (states @ self._mixed + self._bias).reshape(length, 3, _HEADS, -1)
        query, key, value = mixed.transpose(1, 2, 0, 3)
        weights = query @ key.transpose(0, 2, 1) * np.float32(_SCALE)
        weights = np.exp(weights - weights.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        return (weights @ value).transpose(1, 0, 2).reshape(length, DIMENSION)

    def _linear(self, states: Matrix, name: str) -> Matrix:
        return states @ self._turned[name] + self._tensors[f"{self._at}.{name}.bias"]


def read_safetensors(path: Path) -> dict[str, Matrix]:
    """Every 32-bit tensor of the file, mapped."""
    import numpy as np

    raw = np.memmap(path, dtype=np.uint8, mode="r")
    size = int.from_bytes(raw[:8].tobytes(), "little")
    if size > len(raw) - 8:
        raise WeightsMissing(
            f"{path} is not a safetensors file", hint="mentis models install minilm-l6"
        )
    header = json.loads(raw[8 : 8 + size].tobytes())
    body = raw[8 + size :]
    return {
        name: body[slice(*info["data_offsets"])].view(np.float32).reshape(info["shape"])
        for name, info in header.items()
        if name != "__metadata__" and info["dtype"] == "F32"
    }


def _normed(states: Matrix, tensors: Mapping[str, Matrix], name: str) -> Matrix:
    import numpy as np

    centred = states - states.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(_EPSILON))
    return centred / spread * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]


def _gelu(states: Matrix) -> Matrix:
    """Exact to 1.5e-7: the error function by Abramowitz and Stegun 7.1.26."""
    import numpy as np

    size = np.abs(states) * np.float32(math.sqrt(0.5))
    step = 1 / (1 + np.float32(0.3275911) * size)
    tail = step * np.exp(-size * size)
    polynomial = np.float32(1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        polynomial = polynomial * step + np.float32(factor)
    error = np.copysign(1 - polynomial * tail, states)
    return states * np.float32(0.5) * (1 + error)
