"""An entry as a row of columns: written fast, read strictly, and never trusted on the way back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import product
from typing import Any, NoReturn, TypeAlias, cast

import orjson

from mentis.codec.forms import parse
from mentis.errors import BadInput, StoreDamaged
from mentis.values.entry import Entry, make_entry

Row: TypeAlias = tuple[Any, ...]

# In the order of the fields of an entry.
COLUMNS = (
    "agent", "idx", "time", "source", "kind", "ruleset", "prev",
    "fields", "hash", "body", "salts", "recipe", "delivery",
)  # fmt: skip
_OPTIONAL = frozenset({"ruleset", "prev", "delivery"})
# Every way the types of a row may fall out: one for each choice of what is left empty.
_EXPECTED = frozenset(
    product(
        *(
            (int,) if name == "idx" else (str, type(None)) if name in _OPTIONAL else (str,)
            for name in COLUMNS
        )
    )
)
_HINT = "somebody changed the database, or the disk did; put a backup in its place"


def to_row(entry: Entry) -> Row:
    if entry.written is not None:
        return entry.written
    return (
        entry.agent,
        entry.index,
        entry.time,
        entry.source,
        entry.kind,
        entry.ruleset,
        entry.prev,
        write_object(entry.fields),
        entry.hash,
        write_object(entry.body),
        write_object(entry.salts),
        entry.recipe,
        entry.delivery,
    )


def to_entry(row: Row) -> Entry:
    if tuple(map(type, row)) not in _EXPECTED:
        _name_damage(row)
    index = row[1]
    return make_entry(
        (*row[:7], _read_texts(row[7], index=index, column="fields")),
        row[8],
        _read_object(row[9], index=index, column="body"),
        _read_texts(row[10], index=index, column="salts"),
        recipe=row[11],
        delivery=row[12],
    )


def write_object(members: Mapping[str, object]) -> str:
    """JSON that reads back as the same value. Its form commits to nothing: the hashes do that."""
    try:
        return orjson.dumps(members).decode()
    except TypeError:  # an integer of more than 64 bits, or a mapping that is no dict
        plain = dict(members)
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def damaged_cell(index: object, column: str, reason: str) -> StoreDamaged:
    """The facts are what verification names the entry and the column by."""
    return StoreDamaged(
        f"ledger entry {index}, column `{column}`, cannot be read: {reason}",
        hint=_HINT,
        index=index,
        column=column,
    )


def _read_object(text: str, *, index: int, column: str) -> dict[str, object]:
    try:
        content: object = orjson.loads(text)
        # A key that stands twice, a number that does not fit: then it is not what was written.
        as_written = isinstance(content, dict) and orjson.dumps(content).decode() == text
    except (ValueError, TypeError):
        as_written, content = False, None
    if not as_written:
        content = _read_strictly(text, index=index, column=column)
    return cast("dict[str, object]", content)


def _read_strictly(text: str, *, index: int, column: str) -> object:
    try:
        content = parse(text, what="it")
    except BadInput as error:
        raise damaged_cell(index, column, error.message) from error
    if not isinstance(content, dict):
        raise damaged_cell(index, column, "it is not a JSON object")
    return cast("object", content)


def _name_damage(row: Row) -> NoReturn:
    """SQLite keeps any type in any column; a foreign one is somebody's doing, not ours."""
    for name, cell in zip(COLUMNS, row, strict=True):
        expected = int if name == "idx" else str
        if not (isinstance(cell, expected) or (cell is None and name in _OPTIONAL)):
            raise damaged_cell(row[1], name, f"it holds {type(cell).__name__}")
    raise damaged_cell(row[1], "idx", "its cells are of odd types")


def _read_texts(text: str, *, index: int, column: str) -> Mapping[str, str]:
    try:
        members: object = orjson.loads(text)
    except ValueError:
        members = _read_strictly(text, index=index, column=column)
    if not isinstance(members, dict):
        raise damaged_cell(index, column, "it is not a JSON object")
    texts = cast("dict[str, str]", members)
    try:
        "".join(texts.values())
    except TypeError as error:
        raise damaged_cell(index, column, "it holds something else than texts") from error
    # Four quotes for each; where there are more, a key may stand twice, of which one was taken.
    if text.count('"') != 4 * len(texts):
        _read_strictly(text, index=index, column=column)
    return texts
