"""JSON columns: written in one canonical form, read strictly, and never trusted on the way back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

import rfc8785

from mentis.codec.forms import from_json, parse, to_json
from mentis.errors import BadInput, StoreDamaged
from mentis.values.value import Value

T = TypeVar("T", bound=Value)
_HINT = "somebody changed the database, or the disk did; put a backup in its place"


def write_object(members: Mapping[str, object]) -> str:
    return rfc8785.dumps(cast("Any", dict(members))).decode()


def read_object(text: str, *, index: int, column: str) -> dict[str, object]:
    """A JSON column of a ledger entry."""
    try:
        content = parse(text, what="it")
    except BadInput as error:
        raise damaged_cell(index, column, error.message) from error
    if not isinstance(content, dict):
        raise damaged_cell(index, column, "it is not a JSON object")
    return cast("dict[str, object]", content)


def write_value(value: Value) -> str:
    return to_json(value).decode()


def read_value(cls: type[T], text: str, *, where: str) -> T:
    try:
        return from_json(cls, text)
    except BadInput as error:
        raise StoreDamaged(f"{where} cannot be read: {error.message}", hint=_HINT) from error


def damaged_cell(index: object, column: str, reason: str) -> StoreDamaged:
    """The facts are what verification names the entry and the column by."""
    return StoreDamaged(
        f"ledger entry {index}, column `{column}`, cannot be read: {reason}",
        hint=_HINT,
        index=index,
        column=column,
    )
