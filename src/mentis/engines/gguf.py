"""Header of a GGUF file: whether it is one, which model is in it, and what that can do.

Only the beginning is read, with bounds on everything that the file says of its own lengths.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from mentis.errors import EngineFailed, WeightsMissing
from mentis.values.value import Value

MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_MOST_KEYS = 4096
_LONGEST_NAME = 65_535
_LONGEST_TEXT = 1_000_000  # a chat template is the longest one that is needed
_MOST_BYTES = 64_000_000  # vocabularies of a few hundred thousand words stand in the header
_STRING, _ARRAY = 8, 9
# The types of single values, by their number: how many bytes, and how they are read.
_SINGLE: Mapping[int, str] = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q",
    12: "<d",
}  # fmt: skip
_VECTORS = ("bert", "nomic-bert", "jina-bert-v2", "nomic-bert-moe", "gemma-embedding", "t5encoder")


@dataclass(frozen=True, slots=True)
class GgufHeader(Value):
    """`context` is how many tokens it was trained on; `template`: it knows how a talk is written.

    `kind` is `model` for whole models; adapters and projectors have others.
    """

    name: str
    architecture: str
    context: int | None = None
    template: bool = False
    kind: str = "model"

    @property
    def writes(self) -> bool:
        """Whether it is a model that answers, and not one of vectors, or a part of another."""
        part = self.kind != "model" or self.architecture in ("", "clip")
        return not part and self.architecture not in _VECTORS


def read_gguf(path: Path) -> GgufHeader:
    """The header of a file; WeightsMissing where there is none, EngineFailed if it is no GGUF."""
    if not path.is_file():
        raise WeightsMissing(
            f"there is no model file at {path}",
            hint="give the path of a GGUF file, or a name from `mentis models list`",
            path=str(path),
        )
    try:
        with path.open("rb") as file:
            check_magic(file.read(len(MAGIC)), path)
            told = _Reader(file).metadata()
    except OSError as error:
        raise EngineFailed(f"{path} cannot be read: {error.strerror}", path=str(path)) from error
    except (ValueError, struct.error) as error:
        raise EngineFailed(
            f"{path} begins like a GGUF file, and its header cannot be read: {error}",
            hint="the file may be damaged or not wholly downloaded: fetch it again",
            path=str(path),
        ) from error
    architecture = str(told.get("general.architecture", ""))
    context = told.get(f"{architecture}.context_length")
    return GgufHeader(
        name=str(told.get("general.name") or path.stem),
        architecture=architecture,
        context=context if isinstance(context, int) and context > 0 else None,
        template="tokenizer.chat_template" in told,
        kind=str(told.get("general.type", "model")),
    )


def check_magic(magic: bytes, path: Path) -> None:
    if magic != MAGIC:
        raise EngineFailed(
            f"{path} is not a GGUF file: it begins with {magic!r}",
            hint="the embedded model runs GGUF files only",
            path=str(path),
        )


class _Reader:
    """Reads on from behind the magic bytes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._read = 0

    def metadata(self) -> dict[str, object]:
        version = self._number("<I")
        if version not in _VERSIONS:
            raise ValueError(f"it has version {version}, and {_VERSIONS} can be read")
        self._number("<Q")  # how many tensors
        keys = self._number("<Q")
        if keys > _MOST_KEYS:
            raise ValueError(f"it says that it has {keys} keys")
        return {self._text(_LONGEST_NAME): self._value(self._number("<I")) for _ in range(keys)}

    def _value(self, kind: int) -> object:
        """A single value; of lists only that they are there."""
        if kind == _STRING:
            return self._text(_LONGEST_TEXT)
        if kind == _ARRAY:
            inner, length = self._number("<I"), self._number("<Q")
            if inner == _STRING:
                for _ in range(self._bounded(length)):
                    self._bytes(self._bounded(self._number("<Q")))
            else:
                self._bytes(self._bounded(length * struct.calcsize(self._form(inner))))
            return None
        return self._number(self._form(kind))

    def _form(self, kind: int) -> str:
        if kind not in _SINGLE:
            raise ValueError(f"it has a value of an unknown type {kind}")
        return _SINGLE[kind]

    def _number(self, form: str) -> int:
        return struct.unpack(form, self._bytes(struct.calcsize(form)))[0]

    def _text(self, most: int) -> str:
        length = self._number("<Q")
        if length > most:
            raise ValueError(f"it has a text of {length} bytes")
        return self._bytes(length).decode("utf-8", "replace")

    def _bounded(self, length: int) -> int:
        if length > _MOST_BYTES:
            raise ValueError(f"it has a list of {length} bytes")
        return length

    def _bytes(self, length: int) -> bytes:
        self._read += length
        if self._read > _MOST_BYTES:
            raise ValueError(f"its header is longer than {_MOST_BYTES} bytes")
        found = self._file.read(length)
        if len(found) < length:
            raise ValueError("it ends in the middle of its header")
        return found
