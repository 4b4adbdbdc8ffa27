"""A memory as the JSON of a column: read fast where it is as we write it, strictly otherwise."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, cast, get_args

import orjson

from mentis.codec.forms import from_json, to_json
from mentis.errors import BadInput, StoreDamaged
from mentis.values.cognition import Memory, Screening
from mentis.values.memories import listed_text, memory_state
from mentis.values.memory_kind import MemoryKind
from mentis.values.trust import Trust

_HINT = "somebody changed the database, or the disk did; put a backup in its place"
_NAMES = tuple(field.name for field in fields(Memory))
_KINDS = frozenset(get_args(MemoryKind))
_TRUSTS = {trust.value: trust for trust in Trust}
_TEXTS = tuple(name for name in _NAMES if name not in ("tags", "confidence", "screening"))
_VERDICT = tuple(field.name for field in fields(Screening))
LIST_COLUMNS = ("state", "kind", "worth", "time", "names", "words")  # of what lists are made by
_OUTCOMES = ("clean", "suspicious", "dropped")


def write_memory(memory: Memory) -> str:
    return to_json(memory).decode()


def list_cells(memory: Memory) -> tuple[str, ...]:
    """The cells of `LIST_COLUMNS`."""
    names = "\x1f".join(memory.tags)
    cells = (memory_state(memory), memory.kind, memory.worth.value, memory.time, names)
    return tuple(plain_text(cell) for cell in (*cells, listed_text(memory)))


def list_cells_of(text: str) -> tuple[str, ...]:
    """Of a row that is kept. One that cannot be read stands among those that were kept back, where
    whoever looks is told of it.
    """
    try:
        return list_cells(read_memory(text, agent="any"))
    except StoreDamaged:
        return ("quarantine", "", Trust.UNTRUSTED.value, "", "", "")


def plain_text(text: str) -> str:
    """Without the one character that a column of PostgreSQL cannot hold."""
    return text.replace("\0", " ")


def read_memory(text: str, *, agent: str) -> Memory:
    memory = _read_plain(text)
    if memory is not None:
        return memory
    try:
        return from_json(Memory, text)
    except BadInput as error:
        where = f"a memory of `{agent}` cannot be read"
        raise StoreDamaged(f"{where}: {error.message}", hint=_HINT) from error


def _read_plain(text: str) -> Memory | None:
    """None for what is older, newer or wrong: about that the strict reader decides."""
    try:
        told: object = orjson.loads(text)
    except ValueError:
        return None
    if not isinstance(told, dict):
        return None
    row = cast("dict[str, Any]", told)
    if tuple(row) != _NAMES or not _as_written(row):
        return None
    row["trust"], row["lineage"] = _TRUSTS[row["trust"]], _TRUSTS[row["lineage"]]
    row["tags"] = tuple(row["tags"])
    if row["screening"] is not None:
        row["screening"] = Screening(**row["screening"])
    return Memory(**row)


def _as_written(row: dict[str, Any]) -> bool:
    return (
        all(type(row[name]) is str for name in _TEXTS)
        and row["kind"] in _KINDS
        and row["trust"] in _TRUSTS
        and row["lineage"] in _TRUSTS
        and type(row["confidence"]) is float
        and _are_tags(row["tags"])
        and (row["screening"] is None or _is_verdict(row["screening"]))
    )


def _are_tags(told: Any) -> bool:  # noqa: ANN401 - JSON
    return type(told) is list and all(type(tag) is str for tag in cast("list[object]", told))


def _is_verdict(told: Any) -> bool:  # noqa: ANN401 - JSON
    return (
        type(told) is dict
        and tuple(cast("dict[str, object]", told)) == _VERDICT
        and all(type(part) is str for part in cast("dict[str, object]", told).values())
        and told["outcome"] in _OUTCOMES
    )
