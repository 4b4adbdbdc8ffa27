"""The arguments of a call: an object that can be recorded, or the reason why there is none."""

from __future__ import annotations

import json
from typing import cast

from mentis.values.json import JsonObject, inner_values, is_deeper, json_fault

from .lenient import DoubledKeys, refuse_constant

# Far more than any tool needs, far less than what makes a recursive reader fail later on.
DEEPEST = 100


class BadArguments(ValueError):
    """Why arguments cannot be used. It never leaves this room."""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise BadArguments(_twice(DoubledKeys(pairs)))
    return members


_loads = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=refuse_constant).decode


def read_arguments(raw: str) -> JsonObject:
    """The object in the text; no text at all is an empty object."""
    if not raw.strip():
        return {}
    try:
        payload: object = _loads(raw)
    except json.JSONDecodeError as error:
        raise BadArguments(f"not JSON: {where(error)}") from error
    except BadArguments:
        raise
    except RecursionError as error:
        raise BadArguments(f"nested deeper than {DEEPEST}") from error
    except ValueError as error:
        raise BadArguments(f"not JSON: {error}") from error
    return check_arguments(payload)


def check_arguments(payload: object) -> JsonObject:
    """The payload itself, when it is an object that can be written down again."""
    if not isinstance(payload, dict):
        raise BadArguments(f"not an object but {_kind(payload)}")
    members = cast("JsonObject", payload)
    if not is_recordable(members):
        raise BadArguments(f"it holds half a character or no number, or is deeper than {DEEPEST}")
    if doubled := _doubled(members):
        raise BadArguments(_twice(doubled))
    return members


def check_name(name: str) -> None:
    if not name:
        raise BadArguments("the call has no name")


def is_recordable(value: object) -> bool:
    """Whether JSON in UTF-8 can say it: finite numbers, whole characters, sane depth."""
    if is_deeper(value, DEEPEST):
        return False
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def said_again(value: object) -> str:
    """The JSON text of what came as an object, for the record of what was wrong with it."""
    try:
        return _written(value) if _doubled(value) else json.dumps(value, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):
        return "(too deep to be written down)"


def where(error: json.JSONDecodeError) -> str:
    """What the decoder said, and 20 characters either side of the place with a mark in it."""
    error = json_fault(error)
    before, after = error.doc[max(0, error.pos - 20) : error.pos], error.doc[error.pos :][:20]
    around = f"{before}>>>{after}".encode("utf-8", "backslashreplace").decode()
    return f"{error.msg} at line {error.lineno}, column {error.colno}: {around!r}"


def _doubled(value: object) -> DoubledKeys | None:
    if isinstance(value, DoubledKeys):
        return value
    return next((found for inner in inner_values(value) if (found := _doubled(inner))), None)


def _twice(doubled: DoubledKeys) -> str:
    return f"the key {doubled.key!r} stands twice in one object"


def _written(value: object) -> str:
    """As JSON, and with both values where a key stood twice."""
    if isinstance(value, list):
        return f"[{', '.join(map(_written, cast('list[object]', value)))}]"
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    members = value.pairs if isinstance(value, DoubledKeys) else cast("JsonObject", value).items()
    written = [f"{json.dumps(name)}: {_written(given)}" for name, given in members]
    return f"{{{', '.join(written)}}}"


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a truth value"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "a number"
