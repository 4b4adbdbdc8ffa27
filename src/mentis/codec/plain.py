"""A value taken apart into what JSON has. Bytes are text in base64, but only as a field."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, cast

from mentis.errors import BadInput
from mentis.values.value import Value

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


_KNOWN = (str, int, type(None), float, Decimal, tuple, list, Value, Mapping)
_EMPTY: object = ()
_ATOMS = frozenset((str, int, bool, type(None)))  # which are in JSON what they are here


class _NoForm(Exception):
    """JSON cannot say it; where it stands is looked for only then."""


def plain_value(value: Value, place: str) -> dict[str, object]:
    """The fields in their order; what JSON cannot say is refused with its place."""
    try:
        return _fields(value)
    except _NoForm:
        _refuse(value, place)
        raise


def _fields(value: Value) -> dict[str, object]:
    return {
        name: content if type(content := getattr(value, name)) in _ATOMS else _plain_field(content)
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


def _plain_field(content: object) -> object:
    if content is _EMPTY:  # as many are
        return []
    if isinstance(content, bytes):
        return base64.urlsafe_b64encode(content).decode()
    return _plain(content)


def _plain(content: object) -> object:
    if isinstance(content, Value):  # as most are
        return _fields(content)
    match content:
        case str():
            return str(content)
        case tuple() | list():
            items = cast("Sequence[object]", content)
            return [item if type(item) in _ATOMS else _plain(item) for item in items]
        case None | bool() | int():
            return content
        case float() | Decimal() if math.isfinite(content):
            # Money is written as the text of its digits: a fraction would change them.
            return str(content) if isinstance(content, Decimal) else content
        case Mapping():
            members = cast("Mapping[object, object]", content).items()
            return {
                _key(key): item if type(item) in _ATOMS else _plain(item) for key, item in members
            }
        case _:
            raise _NoForm


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise _NoForm
    return str(key)


def _refuse(content: object, place: str) -> None:
    """Say what in it JSON cannot say, and where that stands."""
    for name, item in _items(content, place):
        _refuse(item, f"{place}{name}")
    if isinstance(content, (float, Decimal)) and not math.isfinite(content):
        hint = "keep to finite numbers"
        raise BadInput(f"{place}: {content} is not a JSON number", hint=hint)
    if not isinstance(content, _KNOWN):
        kind = type(content).__name__
        raise BadInput(f"{place}: {kind} has no JSON form", hint="keep to JSON's types")


def _items(content: object, place: str) -> Iterator[tuple[str, object]]:
    match content:
        case tuple() | list():
            for number, item in enumerate(cast("Sequence[object]", content)):
                yield f"[{number}]", item
        case Value():
            for name in _written_names(content):
                if not isinstance(item := getattr(content, name), bytes):
                    yield f".{name}", item
        case Mapping():
            for key, item in cast("Mapping[object, object]", content).items():
                if not isinstance(key, str):
                    hint = "JSON keys are strings"
                    raise BadInput(f"{place}: the key {key!r} is not a string", hint=hint)
                yield f".{key}", item
        case _:
            pass
