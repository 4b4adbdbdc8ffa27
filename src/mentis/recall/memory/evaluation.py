"""Questions that memories are found by, measured: for each, the one memory that answers it.

A set is a folder with `memories.jsonl` (`id`, `text`) and `questions.jsonl` (`language`, `text`,
`memory`). The half of a question is decided by its words alone: on the open one things may be
tuned, on the held one never.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import cast

from mentis.errors import BadInput
from mentis.recall.evaluation_set import Half
from mentis.values.cognition import Memory
from mentis.values.memories import MemoryStanding
from mentis.values.proportion import Proportion
from mentis.values.value import Value

from .index import MemoryIndex, Query
from .packing import pack_vectors

WAYS = ("both", "meaning", "words")
_TOP = 3
_HINT = "docs/concepts/memory.md says what a set looks like"


@dataclass(frozen=True, slots=True)
class MemoryQuestion(Value):
    language: str
    text: str
    memory: str

    @property
    def half(self) -> Half:
        return "held" if sha256(self.text.encode()).digest()[0] % 2 else "open"


@dataclass(frozen=True, slots=True)
class MemorySet(Value):
    memories: Mapping[str, str]
    questions: tuple[MemoryQuestion, ...]


@dataclass(frozen=True, slots=True)
class MemoryFigures(Value):
    """How often the right memory stands first, and among the first three, and the mean of 1/rank.

    One that is not found counts as 0.
    """

    way: str
    language: str
    first: Proportion
    top: Proportion
    mrr: float


def load_memory_set(folder: Path | None = None, *, half: Half = "all") -> MemorySet:
    """The shipped one, or that of a folder. BadInput with the place where it is none."""
    place: Traversable = folder or files("mentis.recall").joinpath("data", "memory")
    memories = {
        _text(row, "id", where): _text(row, "text", where)
        for where, row in _rows(place.joinpath("memories.jsonl"))
    }
    questions: list[MemoryQuestion] = []
    for where, row in _rows(place.joinpath("questions.jsonl")):
        one = MemoryQuestion(*(_text(row, key, where) for key in ("language", "text", "memory")))
        if one.memory not in memories:
            raise BadInput(f"{where}: there is no memory {one.memory!r}", hint=_HINT)
        questions.append(one)
    return MemorySet(memories, tuple(one for one in questions if half in ("all", one.half)))


def measure(
    found: MemorySet, memories: Sequence[Sequence[float]], questions: Sequence[Sequence[float]]
) -> tuple[MemoryFigures, ...]:
    """By way and language, all languages first; vectors in the order of the set."""
    known = [Memory(name, text) for name, text in found.memories.items()]
    index = MemoryIndex(MemoryStanding(), known)
    index.put_vectors(pack_vectors(known, memories))
    ranks = {
        way: [
            (one.language, _rank(index, one, None if way == "words" else vector, way))
            for one, vector in zip(found.questions, questions, strict=True)
        ]
        for way in WAYS
    }
    languages = ("all", *sorted({one.language for one in found.questions}))
    return tuple(
        _figures(way, language, [rank for of, rank in ranks[way] if language in ("all", of)])
        for way in WAYS
        for language in languages
    )


def _rank(index: MemoryIndex, one: MemoryQuestion, vector: Sequence[float] | None, way: str) -> int:
    """Where the right memory stands; 0 where it is not found."""
    query = Query(one.text, vector, lexical=way != "meaning", limit=len(index))
    order = [row.memory.id for row in index.search(query).rows]
    return order.index(one.memory) + 1 if one.memory in order else 0


def _figures(way: str, language: str, ranks: Sequence[int]) -> MemoryFigures:
    return MemoryFigures(
        way,
        language,
        Proportion(sum(rank == 1 for rank in ranks), len(ranks)),
        Proportion(sum(0 < rank <= _TOP for rank in ranks), len(ranks)),
        round(sum(1 / rank for rank in ranks if rank) / len(ranks), 4) if ranks else 0.0,
    )


def _rows(file: Traversable) -> Iterator[tuple[str, Mapping[str, object]]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}", hint=_HINT) from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{file}: not UTF-8 at byte {error.start}", hint=_HINT) from error
    for number, line in enumerate(lines, 1):
        where = f"{file.name}, line {number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise BadInput(f"{where}: {error}", hint=_HINT) from error
        if not isinstance(row, dict):
            raise BadInput(f"{where}: not an object", hint=_HINT)
        yield where, cast("Mapping[str, object]", row)


def _text(row: Mapping[str, object], key: str, where: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value:
        raise BadInput(f"{where}: `{key}` is not a text", hint=_HINT)
    return value
