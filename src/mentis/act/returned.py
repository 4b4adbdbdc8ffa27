"""Results of functions and servers as text. A result that has no text is a typed failure."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Awaitable, Iterator
from inspect import iscoroutine

from mentis.codec.forms import to_object
from mentis.errors import BadInput
from mentis.values.value import Value


def text_of(result: object) -> str:
    """Text as it is, nothing for None, JSON for the rest; BadInput when there is no such text."""
    match result:
        case None:
            return ""
        case str():
            return _sayable(str(result))
        case bytes() | bytearray():
            return text_of_bytes(bytes(result))
        case _:
            return _sayable(_json(result))


def text_of_bytes(content: bytes) -> str:
    """UTF-8 as text, anything else as a JSON object that says what it is."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        encoded = base64.b64encode(content).decode()
        return json.dumps({"bytes": len(content), "base64": encoded})


def _json(result: object) -> str:
    try:
        return json.dumps(result, ensure_ascii=False, allow_nan=False, default=_plain)
    except RecursionError as error:
        raise _unusable(result, "it is nested too deeply") from error
    except (TypeError, ValueError) as error:
        raise _unusable(result, str(error)) from error


def _plain(part: object) -> object:
    if isinstance(part, Value):
        return to_object(part)
    if isinstance(part, (bytes, bytearray, memoryview)):
        raise TypeError("bytes inside of a result have no JSON form")
    if kind := _unfinished(part):
        raise TypeError(f"a {kind} is not a result, but a way to get one")
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    try:
        return to_jsonable_python(part)
    except PydanticSerializationError as error:
        raise TypeError(f"{type(part).__name__} has no JSON form") from error


def _unfinished(part: object) -> str:
    kind = type(part)
    if iscoroutine(part):
        part.close()  # or Python complains that nobody waited for it
    return kind.__name__ if issubclass(kind, (Iterator, AsyncIterator, Awaitable)) else ""


def _sayable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _unusable(text, "it holds half a surrogate pair") from error
    return text


def _unusable(result: object, why: str) -> BadInput:
    return BadInput(
        f"the result ({type(result).__name__}) cannot be told: {why[:200]}",
        hint="give back text, None, or what JSON can say",
    )
