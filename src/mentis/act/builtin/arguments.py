"""Reads the arguments of a call by type and range.

The payload was held against its schema before; what comes here otherwise (from Python, after a
change of the schema) is refused the same way, with the name of what does not fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar, cast

from mentis.values.json import JsonObject

_Choice = TypeVar("_Choice", bound=str)


class Unfit(ValueError):
    """Which argument cannot be taken, and why."""


class Arguments:
    def __init__(self, payload: JsonObject) -> None:
        self._payload = payload

    def text(self, name: str, *, most: int, default: str | None = None) -> str:
        """A string; `default` stands for one that is left out, without one it is required."""
        value = self._payload.get(name)
        if value is None and default is not None:
            return default
        return _text(name, value, most, empty=default is not None)

    def choice(
        self, name: str, among: Sequence[_Choice], default: _Choice | None = None
    ) -> _Choice:
        value = self.text(name, most=100, default=default)
        for one in among:
            if one == value:
                return one
        raise Unfit(f"{name}: {value!r} is none of {', '.join(among)}")

    def texts(self, name: str, *, most: int, each: int, empty: bool = False) -> tuple[str, ...]:
        """A list of strings; an empty one if it is left out."""
        value = self._payload.get(name)
        if value is None:
            return ()
        if not isinstance(value, (list, tuple)):
            raise Unfit(f"{name}: a list is needed, not {type(value).__name__}")
        items = list(cast("Sequence[object]", value))
        if len(items) > most:
            raise Unfit(f"{name}: {len(items)} entries, and {most} are allowed")
        return tuple(
            _text(f"{name}[{at}]", item, each, empty=empty) for at, item in enumerate(items)
        )

    def number(self, name: str, low: float, high: float, default: float | None = None) -> float:
        value = self._payload.get(name)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Unfit(f"{name}: a number is needed, not {type(value).__name__}")
        if not (math.isfinite(value) and low <= value <= high):
            raise Unfit(f"{name}: {value} is not between {low:g} and {high:g}")
        return value

    def whole(self, name: str, low: int, high: int, default: int | None = None) -> int:
        value = self.number(name, low, high, default)
        if value != int(value):
            raise Unfit(f"{name}: {value} is not a whole number")
        return int(value)

    def members(self, name: str) -> JsonObject:
        value = self._payload.get(name)
        if not isinstance(value, dict):
            raise Unfit(f"{name}: an object is needed, not {type(value).__name__}")
        return cast("JsonObject", value)


def _text(name: str, value: object, most: int, *, empty: bool = False) -> str:
    if not isinstance(value, str):
        raise Unfit(f"{name}: a text is needed, not {type(value).__name__}")
    if not value and not empty:
        raise Unfit(f"{name}: it is empty")
    if len(value) > most:
        raise Unfit(f"{name}: {len(value)} characters, and {most} are allowed")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise Unfit(f"{name}: it holds half a surrogate pair")
    return value
