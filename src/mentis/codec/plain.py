"""A value taken apart into what JSON has. Bytes are text in base64, but only as a field."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, cast

from mentis.errors import BadInput
from mentis.values.value import Value

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


_ATOMS = frozenset((str, int, bool, type(None)))  # which are in JSON what they are here


def plain_value(value: Value, place: str) -> dict[str, object]:
    """The fields in their order; what JSON cannot say is refused with its place."""
    return {
        name: content
        if type(content := getattr(value, name)) in _ATOMS
        else _plain_field(content, place, name)
        for name in _written_names(value)
    }


def _written_names(value: Value) -> Sequence[str]:
    cls = type(value)
    late = [name for name, default in _late(cls) if getattr(value, name) == default]
    return [name for name in _names(cls) if name not in late] if late else _names(cls)


@cache
def _names(cls: type[Value]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cast("type[DataclassInstance]", cls)))


@cache
def _late(cls: type[Value]) -> tuple[tuple[str, object], ...]:
    """Fields that are left out while they have their default, and that default."""
    known = fields(cast("type[DataclassInstance]", cls))
    return tuple((one.name, _default(one)) for one in known if one.metadata.get("late"))


def _default(one: Field[object]) -> object:
    return one.default if one.default_factory is MISSING else one.default_factory()


def _plain_field(content: object, place: str, name: str) -> object:
    if isinstance(content, bytes):
        return base64.urlsafe_b64encode(content).decode()
    return _plain(content, f"{place}.{name}")


def _plain(content: object, place: str) -> object:
    match content:
        case None | bool() | int():
            return content
        case str():
            return str(content)
        case float() | Decimal():
            return _number(content, place)
        case Value():
            return plain_value(content, place)
        case Mapping():
            members = cast("Mapping[object, object]", content).items()
            return {
                _key(key, place): item if type(item) in _ATOMS else _plain(item, f"{place}.{key}")
                for key, item in members
            }
        case tuple() | list():
            items = enumerate(cast("Sequence[object]", content))
            return [
                item if type(item) in _ATOMS else _plain(item, f"{place}[{index}]")
                for index, item in items
            ]
        case _:
            kind = type(content).__name__
            raise BadInput(f"{place}: {kind} has no JSON form", hint="keep to JSON's types")


def _key(key: object, place: str) -> str:
    if not isinstance(key, str):
        raise BadInput(f"{place}: the key {key!r} is not a string", hint="JSON keys are strings")
    return str(key)


def _number(number: float | Decimal, place: str) -> float | str:
    """Money is written as the text of its digits: a fraction would change them."""
    if not math.isfinite(number):
        raise BadInput(f"{place}: {number} is not a JSON number", hint="keep to finite numbers")
    return str(number) if isinstance(number, Decimal) else number
