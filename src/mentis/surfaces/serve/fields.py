"""Reads the JSON of clients. What is not known is passed over, what is wrong named by its place."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import cast

from mentis.codec.media_types import type_by_name, type_of
from mentis.codec.option_check import options_from
from mentis.codec.strict_json import read_outside
from mentis.errors import BadInput
from mentis.values.json import JsonObject
from mentis.values.options import CallOptions
from mentis.values.part import MediaPart, TextPart, ToolCallPart, ToolResultPart
from mentis.values.tool import ToolDeclaration
from mentis.values.turn import Turn

_NO_PARAMETERS: JsonObject = {"type": "object", "properties": {}}
_DEEPEST = 100  # what is nested deeper could be read, and not be recorded


def read_json(body: bytes) -> JsonObject:
    """The body of a request; BadInput where it is no JSON object."""
    return as_object(_parse_json(body, "the body"), "the body")


def _parse_json(text: str | bytes, where: str) -> object:
    """BadInput also where it holds what no record can."""
    return read_outside(text, what=where, hint="send a JSON object", max_depth=_DEEPEST)


def as_object(found: object, where: str) -> JsonObject:
    if not isinstance(found, dict):
        raise BadInput(f"{where} is no object", hint="see the reference of the protocol")
    return cast("JsonObject", found)


def maybe_object(found: object) -> JsonObject:
    """An object, or an empty one in the place of anything else."""
    return cast("JsonObject", found) if isinstance(found, dict) else {}


def as_list(found: object, where: str) -> list[object]:
    if not isinstance(found, list):
        raise BadInput(f"{where} is no list", hint="see the reference of the protocol")
    return cast("list[object]", found)


def as_text(found: object, where: str) -> str:
    if not isinstance(found, str):
        raise BadInput(f"{where} is no text", hint="see the reference of the protocol")
    return found


def text_in(body: Mapping[str, object], name: str, where: str = "") -> str:
    """A text that has to be there."""
    return as_text(body.get(name), f"{where}{name}")


def words(found: object, where: str) -> str:
    """A text, or the texts of a list of parts."""
    if found is None or isinstance(found, str):
        return as_text(found or "", where)
    parts = [as_object(one, where) for one in as_list(found, where)]
    return "\n\n".join(as_text(one["text"], where) for one in parts if "text" in one)


def result_words(found: object, where: str) -> str:
    """The words of a result. What else came with it is not told, and that is said."""
    text = words(found, where)
    if not isinstance(found, list):
        return text
    kinds = [maybe_object(one) for one in cast("list[object]", found)]
    left = [f"[{one.get('type') or 'part'} left out]" for one in kinds if "text" not in one]
    return "\n\n".join(filter(None, (text, *left)))


def arguments_of(found: object) -> tuple[JsonObject, str]:
    """The arguments of a call, and the text of those that cannot be read."""
    if isinstance(found, dict):
        return cast("JsonObject", found), ""
    text = found if isinstance(found, str) else ""
    try:
        read = _parse_json(text or "{}", "arguments")
    except BadInput:
        return {}, text
    return (cast("JsonObject", read), "") if isinstance(read, dict) else ({}, text)


def call_part(call_id: str, name: str, found: object) -> ToolCallPart:
    arguments, raw = arguments_of(found)
    return ToolCallPart(call_id, name, arguments, raw=raw)


def result_part(call_id: str, text: str, *, failed: bool = False) -> ToolResultPart:
    return ToolResultPart(call_id, "", text, failed=failed)


def declaration(name: str, description: object, parameters: object) -> ToolDeclaration:
    """A tool that the client executes."""
    told = description if isinstance(description, str) and description.strip() else name
    schema = cast("JsonObject", parameters) if isinstance(parameters, dict) else _NO_PARAMETERS
    if schema.get("type") != "object":
        schema = {**schema, "type": "object"}
    return ToolDeclaration(name, told, schema)


def image_of(address: str, where: str) -> MediaPart:
    """An image by its address, or with its bytes in it. No file of this machine is ever read."""
    if address.startswith("data:"):
        head, _, data = address.partition(",")
        if not head.endswith(";base64"):
            raise BadInput(f"{where}: only base64 is read in a data address", hint="encode it so")
        return media_of(data, head[5:-7], where)
    if not address.startswith(("https://", "http://")):
        raise BadInput(f"{where}: {address[:80]!r} is no address of an image", hint="use https://")
    mime = type_by_name(address.partition("?")[0])
    return MediaPart("image", mime if mime.startswith("image/") else "image/jpeg", url=address)


def media_of(data: str, mime: str, where: str) -> MediaPart:
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadInput(f"{where} is not base64: {error}", hint="encode it anew") from error
    found = type_of(content) or mime
    kind = found.partition("/")[0]
    if kind in ("image", "audio", "video"):
        return MediaPart(kind, found, data=content)  # pyright: ignore[reportArgumentType]  # one of the three
    return MediaPart("document", found, data=content)


def options_of(found: Mapping[str, object]) -> CallOptions:
    """Those that were chosen; what is null was not."""
    chosen = {name: value for name, value in found.items() if value not in (None, [], "")}
    return options_from(chosen, "the request") if chosen else CallOptions()


def merge_turns(turns: list[Turn]) -> tuple[Turn, ...]:
    """Neighbours of one role become one, as conversations here have them."""
    merged: list[Turn] = []
    for turn in turns:
        if merged and merged[-1].role == turn.role:
            merged[-1] = Turn(turn.role, (*merged[-1].parts, *turn.parts))
        else:
            merged.append(turn)
    return tuple(turn for turn in merged if turn.parts)


def text_part(text: str) -> tuple[TextPart, ...]:
    return (TextPart(text),) if text else ()
