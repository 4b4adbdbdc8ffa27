"""Exports of chat services: `conversations.json` of ChatGPT and of Claude.
See docs/design/formats.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TypeAlias, cast

from mentis.errors import BadInput
from mentis.values.imported import ImportedTurn
from mentis.values.json import JsonObject
from mentis.values.turn import Role
from mentis.values.value import Value

from .message_trees import TreeMessage, read_branch

ExportService: TypeAlias = Literal["ChatGPT", "Claude"]
CONVERSATIONS = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
_SAID: Mapping[str, Role] = {"user": "user", "human": "user", "assistant": "assistant"}
_HINT = "export it anew"


@dataclass(frozen=True, slots=True)
class ExportedConversation(Value):
    """`unsaid` counts what is no words of either, by what it is; `attachments` are names."""

    id: str
    title: str
    time: str
    turns: tuple[ImportedTurn, ...]
    edited: int = 0
    unsaid: tuple[tuple[str, int], ...] = ()
    attachments: tuple[str, ...] = ()


@dataclass(slots=True)
class _Found:
    """What is not said, while the messages of one conversation are read."""

    unsaid: Counter[str]
    attachments: list[str]


def export_service(document: object) -> ExportService | None:
    """Whose export a JSON document is, if it is one; also of a single conversation."""
    rows = _rows(document)
    if rows and all("mapping" in one for one in rows):
        return "ChatGPT"
    return "Claude" if rows and all("chat_messages" in one for one in rows) else None


def read_export(document: object) -> Iterator[ExportedConversation]:
    """All conversations of an export, in its order; BadInput where one is not what it has to be."""
    service = export_service(document)
    for number, row in enumerate(_rows(document), 1):
        try:
            yield _chatgpt(row) if service == "ChatGPT" else _claude(row)
        except BadInput as error:
            message = f"conversation {number}: {error.message}"
            raise BadInput(message, hint=error.hint or _HINT) from error


def _rows(document: object) -> list[JsonObject]:
    """The conversations; none where something else is among them."""
    found = cast("list[object]", document) if isinstance(document, list) else [document]
    rows = [cast("JsonObject", one) for one in found if isinstance(one, dict)]
    return rows if len(rows) == len(found) else []


# ChatGPT: a mapping of nodes by id, and the one that was shown last


def _chatgpt(row: JsonObject) -> ExportedConversation:
    mapping = row.get("mapping")
    if not isinstance(mapping, dict):
        raise BadInput("mapping is no object", hint=_HINT)
    found = _Found(Counter(), [])
    messages = [
        _node(key, cast("JsonObject", node), found)
        for key, node in cast("Mapping[str, object]", mapping).items()
        if isinstance(node, dict)
    ]
    branch = read_branch(messages, _text(row, "current_node"))
    return ExportedConversation(
        id=_text(row, "conversation_id") or _text(row, "id"),
        title=_text(row, "title"),
        time=_moment(row.get("create_time")),
        turns=branch.turns,
        edited=branch.edited,
        unsaid=tuple(sorted(found.unsaid.items())),
        attachments=tuple(dict.fromkeys(found.attachments)),
    )


def _node(key: str, node: JsonObject, found: _Found) -> TreeMessage:
    parent, message = _text(node, "parent"), _object(node, "message")
    blank = TreeMessage(key, parent)
    if not message:
        return blank
    content, about = _object(message, "content"), _object(message, "metadata")
    kind = _text(content, "content_type")
    role = _SAID.get(_text(_object(message, "author"), "role"))
    to = _text(message, "recipient") or "all"
    found.attachments += [_text(one, "name") for one in _objects(about, "attachments")]
    text = _parts(content, found)
    if about.get("is_visually_hidden_from_conversation") is True:
        found.unsaid["hidden messages"] += bool(text)
        return blank
    if role is None:
        name = _text(_object(message, "author"), "role") or "unknown"
        found.unsaid[f"messages of the {name}"] += bool(text or kind not in ("", "text"))
        return blank
    if to != "all" or kind not in ("text", "multimodal_text"):
        found.unsaid["calls of tools" if to != "all" else f"messages of kind {kind}"] += 1
        return blank
    if not text:
        return blank
    return TreeMessage(key, parent, role, text, _moment(message.get("create_time")))


def _parts(content: JsonObject, found: _Found) -> str:
    parts = content.get("parts")
    texts: list[str] = []
    for part in cast("list[object]", parts) if isinstance(parts, list) else []:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            told = cast("JsonObject", part)
            if _text(told, "content_type") == "audio_transcription":
                texts.append(_text(told, "text"))
            else:
                name = _text(told, "asset_pointer") or _text(told, "content_type") or "a part"
                found.attachments.append(name)
    return "\n\n".join(text for text in texts if text.strip())


# Claude: messages in their order, which may know the one before them


def _claude(row: JsonObject) -> ExportedConversation:
    found = _Found(Counter(), [])
    messages: list[TreeMessage] = []
    for number, one in enumerate(_objects(row, "chat_messages")):
        before = messages[-1].id if messages else ""
        parent = _text(one, "parent_message_uuid") or before
        name = _text(one, "uuid") or f"message-{number}"
        messages.append(_claude_message(one, name, parent, found))
    branch = read_branch(messages, _text(row, "current_leaf_message_uuid"))
    return ExportedConversation(
        id=_text(row, "uuid"),
        title=_text(row, "name"),
        time=_text(row, "created_at"),
        turns=branch.turns,
        edited=branch.edited,
        unsaid=tuple(sorted(found.unsaid.items())),
        attachments=tuple(dict.fromkeys(found.attachments)),
    )


def _claude_message(one: JsonObject, name: str, parent: str, found: _Found) -> TreeMessage:
    role = _SAID.get(_text(one, "sender"))
    for field in ("attachments", "files"):
        found.attachments += [_text(each, "file_name") for each in _objects(one, field)]
    texts: list[str] = []
    for block in _objects(one, "content"):
        kind = _text(block, "type")
        if kind == "text":
            texts.append(_text(block, "text"))
        else:
            found.unsaid[f"parts of kind {kind or 'unknown'}"] += 1
    text = "\n\n".join(each for each in texts if each.strip()) or _text(one, "text")
    if role is None or not text.strip():
        found.unsaid["messages of nobody known"] += role is None
        return TreeMessage(name, parent)
    return TreeMessage(name, parent, role, text, _text(one, "created_at"))


def _moment(value: object) -> str:
    """Seconds since 1970 as a time; empty where they are none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return ""
    try:
        return datetime.fromtimestamp(value, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return ""


def _text(row: JsonObject, name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _object(row: JsonObject, name: str) -> JsonObject:
    value = row.get(name)
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _objects(row: JsonObject, name: str) -> list[JsonObject]:
    value = row.get(name)
    rows = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("JsonObject", one) for one in rows if isinstance(one, dict)]
