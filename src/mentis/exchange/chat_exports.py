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

from .fields import object_of, objects_of, text_of
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
    branch = read_branch(messages, text_of(row, "current_node"))
    return ExportedConversation(
        id=text_of(row, "conversation_id") or text_of(row, "id"),
        title=text_of(row, "title"),
        time=_moment(row.get("create_time")),
        turns=branch.turns,
        edited=branch.edited,
        unsaid=tuple(sorted(found.unsaid.items())),
        attachments=tuple(dict.fromkeys(found.attachments)),
    )


def _node(key: str, node: JsonObject, found: _Found) -> TreeMessage:
    parent, message = text_of(node, "parent"), object_of(node, "message")
    blank = TreeMessage(key, parent)
    if not message:
        return blank
    content, about = object_of(message, "content"), object_of(message, "metadata")
    kind = text_of(content, "content_type")
    role = _SAID.get(text_of(object_of(message, "author"), "role"))
    to = text_of(message, "recipient") or "all"
    found.attachments += [text_of(one, "name") for one in objects_of(about, "attachments")]
    text = _parts(content, found)
    if about.get("is_visually_hidden_from_conversation") is True:
        found.unsaid["hidden messages"] += bool(text)
        return blank
    if role is None:
        name = text_of(object_of(message, "author"), "role") or "unknown"
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
            if text_of(told, "content_type") == "audio_transcription":
                texts.append(text_of(told, "text"))
            else:
                name = text_of(told, "asset_pointer") or text_of(told, "content_type") or "a part"
                found.attachments.append(name)
    return "\n\n".join(text for text in texts if text.strip())


# Claude: messages in their order, which may know the one before them


def _claude(row: JsonObject) -> ExportedConversation:
    found = _Found(Counter(), [])
    messages: list[TreeMessage] = []
    for number, one in enumerate(objects_of(row, "chat_messages")):
        before = messages[-1].id if messages else ""
        parent = text_of(one, "parent_message_uuid") or before
        name = text_of(one, "uuid") or f"message-{number}"
        messages.append(_claude_message(one, name, parent, found))
    branch = read_branch(messages, text_of(row, "current_leaf_message_uuid"))
    return ExportedConversation(
        id=text_of(row, "uuid"),
        title=text_of(row, "name"),
        time=text_of(row, "created_at"),
        turns=branch.turns,
        edited=branch.edited,
        unsaid=tuple(sorted(found.unsaid.items())),
        attachments=tuple(dict.fromkeys(found.attachments)),
    )


def _claude_message(one: JsonObject, name: str, parent: str, found: _Found) -> TreeMessage:
    role = _SAID.get(text_of(one, "sender"))
    for field in ("attachments", "files"):
        found.attachments += [text_of(each, "file_name") for each in objects_of(one, field)]
    texts: list[str] = []
    for block in objects_of(one, "content"):
        kind = text_of(block, "type")
        if kind == "text":
            texts.append(text_of(block, "text"))
        else:
            found.unsaid[f"parts of kind {kind or 'unknown'}"] += 1
    text = "\n\n".join(each for each in texts if each.strip()) or text_of(one, "text")
    if role is None or not text.strip():
        found.unsaid["messages of nobody known"] += role is None
        return TreeMessage(name, parent)
    return TreeMessage(name, parent, role, text, text_of(one, "created_at"))


def _moment(value: object) -> str:
    """Seconds since 1970 as a time; empty where they are none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return ""
    try:
        return datetime.fromtimestamp(value, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return ""
