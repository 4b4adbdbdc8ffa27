"""The answer of an MCP server as text. Everything in it is untrusted: nothing is followed or
fetched. Pictures, sounds and documents stay what they are; what else is not text is described, and
kept if there is a place for it.
"""

from __future__ import annotations

import binascii
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from mentis.act.payloads import fault_in
from mentis.act.returned import media_part
from mentis.errors import BadInput
from mentis.values.digest import Digest, digest
from mentis.values.json import JsonObject
from mentis.values.part import MediaPart
from mentis.values.tool import ToolDeclaration

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

Keep: TypeAlias = Callable[[bytes], Awaitable[Digest]]


def media_in(result: CallToolResult) -> tuple[MediaPart, ...]:
    """Its pictures, sounds and documents, as far as they are what they say."""
    found = [_media(part) for part in result.content]
    return tuple(one for one in found if one is not None)


async def text_of(result: CallToolResult, keep: Keep | None) -> str:
    """All parts, one after the other. ValueError if JSON has no words for what is in it."""
    parts = [
        await _part(part, None if _media(part) is not None else keep) for part in result.content
    ]
    if result.structured_content is not None and not _said(
        parts, cast("object", result.structured_content)
    ):
        parts.append(json.dumps(result.structured_content, ensure_ascii=False, allow_nan=False))
    return "\n".join(parts)


def misfit(result: CallToolResult, tool: str, output: JsonObject | None) -> str:
    """How the answer breaks the schema the server itself declared; "" if it does not."""
    if output is None or result.is_error:
        return ""
    if result.structured_content is None:
        return "it has no structured content, which its schema asks for"
    try:
        return fault_in(result.structured_content, ToolDeclaration(tool, "", output))
    except BadInput as error:
        return error.message


def _said(parts: Sequence[str], structured: object) -> bool:
    """Servers repeat structured content as text, what is no object as `result`; told once is
    enough.
    """
    wanted: list[object] = [structured]
    members: dict[str, object] = (
        cast("dict[str, object]", structured) if isinstance(structured, dict) else {}
    )
    if set(members) == {"result"}:
        result = members["result"]
        wanted.append(result)
        listed = cast("list[object]", result) if isinstance(result, list) else []
        if listed and len(listed) == len(parts) and all(map(_says, parts, listed)):
            return True
    return any(_says(part, one) for part in parts for one in wanted)


def _says(part: str, value: object) -> bool:
    if isinstance(value, str):
        return part == value
    try:
        return bool(json.loads(part) == value)
    except (ValueError, RecursionError):
        return False


async def _part(part: ContentBlock, keep: Keep | None) -> str:
    match part.type:
        case "text":
            return part.text
        case "image" | "audio":
            return _line(
                {"type": part.type, "mimeType": part.mime_type}, *await _kept(part.data, keep)
            )
        case "resource_link":
            told = {"type": part.type, "uri": str(part.uri), "name": part.name}
            return _line({**told, "mimeType": part.mime_type})
        case "resource":
            held = part.resource
            told = {"type": part.type, "uri": str(held.uri), "mimeType": held.mime_type}
            text, blob = getattr(held, "text", None), getattr(held, "blob", None)
            if text is not None:
                return f"{_line(told)}\n{text}"
            return _line(told, *await _kept(cast("str", blob), keep))


def _media(part: ContentBlock) -> MediaPart | None:
    match part.type:
        case "image" | "audio":
            return _decoded(part.data, part.mime_type)
        case "resource" if (blob := getattr(part.resource, "blob", None)) is not None:
            name = str(part.resource.uri).rpartition("/")[2]
            return _decoded(cast("str", blob), part.resource.mime_type or "", name=name)
        case _:
            return None


def _decoded(encoded: str, mime: str, *, name: str = "") -> MediaPart | None:
    try:
        return media_part(binascii.a2b_base64(encoded, strict_mode=True), mime, name=name)
    except ValueError:
        return None


async def _kept(encoded: str, keep: Keep | None) -> tuple[JsonObject]:
    try:
        content = binascii.a2b_base64(encoded, strict_mode=True)
    except ValueError as error:
        return ({"problem": f"not base64: {error}"},)
    if keep is None:
        return ({"bytes": len(content), "digest": digest(content)},)
    return ({"bytes": len(content), "blob": await keep(content)},)


def _line(*told: JsonObject) -> str:
    merged = {name: value for one in told for name, value in one.items() if value is not None}
    return json.dumps(merged, ensure_ascii=False)
