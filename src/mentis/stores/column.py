"""Values as JSON columns: read strictly, and never trusted on the way back."""

from __future__ import annotations

from typing import TypeVar

from mentis.codec.forms import from_json, to_json
from mentis.errors import BadInput, StoreDamaged
from mentis.values.value import Value

T = TypeVar("T", bound=Value)
_HINT = "somebody changed the database, or the disk did; put a backup in its place"


def write_value(value: Value) -> str:
    return to_json(value).decode()


def read_value(cls: type[T], text: str, *, where: str) -> T:
    try:
        return from_json(cls, text)
    except BadInput as error:
        raise StoreDamaged(f"{where} cannot be read: {error.message}", hint=_HINT) from error
