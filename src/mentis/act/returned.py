"""Results of functions and servers as text. A result that has no text is a typed failure."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from dataclasses import replace
from inspect import iscoroutine
from pathlib import Path
from typing import Any, cast

from mentis.codec.forms import to_object
from mentis.codec.media_types import type_of, usual_type
from mentis.disk.bounded import read_bounded
from mentis.errors import BadInput
from mentis.values.part import MediaPart
from mentis.values.value import Value

_MIME = re.compile(r"[a-z]+/[a-z0-9.+-]+")
_DOCUMENTS = frozenset({"application/pdf"})
_MOST_FILE = 32 * 1024 * 1024


def content_of(result: object) -> tuple[str, tuple[MediaPart, ...]]:
    """The text of a result and the media in it: a part, bytes of a known type, or a list with some
    of them among the rest. BadInput when it cannot be told.
    """
    listed = isinstance(result, (list, tuple))
    items = cast("Sequence[object]", result) if listed else (result,)
    found = [_media_of(item) for item in items]
    media = tuple(one for one in found if one is not None)
    if not media:
        return text_of(result), ()
    rest = [text_of(item) for item, one in zip(items, found, strict=True) if one is None]
    return "\n".join(text for text in rest if text), media


def _media_of(item: object) -> MediaPart | None:
    if isinstance(item, (bytes, bytearray)):
        return media_part(bytes(item))
    if not isinstance(item, MediaPart):
        return None
    if item.url and item.data is None and not item.path:
        return None  # nothing is fetched: it is told as the address that it is
    data = _file(item.path) if item.data is None else item.data
    made = media_part(data, item.mime, name=item.name or Path(item.path).name)
    if made is None:
        raise _unusable(item, "its bytes are no picture, sound, film or document")
    return replace(made, extracted=item.extracted, metadata=item.metadata)


def media_part(data: bytes, mime: str = "", *, name: str = "") -> MediaPart | None:
    """As the type that the bytes tell, else the one they are said to be of; None without one."""
    found = type_of(data) or usual_type(mime)
    kind = found.partition("/")[0]
    if not data or not _MIME.fullmatch(found):
        return None
    if kind in ("image", "audio", "video"):
        return MediaPart(cast("Any", kind), found, data=data, name=name)
    return MediaPart("document", found, data=data, name=name) if found in _DOCUMENTS else None


def _file(path: str) -> bytes:
    try:
        return read_bounded(Path(path).expanduser(), _MOST_FILE)
    except (OSError, ValueError, RuntimeError) as error:
        raise _unusable(path, f"the file cannot be read: {error}") from error


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
        hint="give back text, None, what JSON can say, or media",
    )
