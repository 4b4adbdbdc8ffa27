"""Drafts of memories: checked once, where they come in."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime

from mentis.errors import BadInput, UsageError
from mentis.ledger.chain import format_time
from mentis.values.cognition import Memory
from mentis.values.memories import MemoryDraft
from mentis.values.memory_kind import INSTRUCTION_KINDS

_NAME_CHARS, _TAGS = 200, 32


def check_draft(draft: MemoryDraft, *, text_chars: int) -> MemoryDraft:
    """The draft with its times in one form and its tags in order, or BadInput."""
    if draft.kind in INSTRUCTION_KINDS:
        raise UsageError(
            f"a memory of kind `{draft.kind}` cannot be made here",
            hint="such memories only come in by import, and are never told to a model",
        )
    check_text(draft.text, text_chars=text_chars)
    for name in ("scope", "source", "session"):
        check_name(getattr(draft, name), name)
    if not (math.isfinite(draft.confidence) and 0 <= draft.confidence <= 1):
        raise BadInput(
            f"a confidence of {draft.confidence} means nothing", hint="use a number from 0 to 1"
        )
    valid_from, valid_until = read_time(draft.valid_from), read_time(draft.valid_until)
    if valid_from and valid_until and valid_from >= valid_until:
        raise BadInput(
            f"the memory would end at {valid_until}, before it begins", hint="swap the two times"
        )
    tags = check_tags(draft.tags)
    return replace(draft, tags=tags, valid_from=valid_from, valid_until=valid_until)


def check_text(text: str, *, text_chars: int) -> None:
    if not text.strip():
        raise BadInput("an empty text is no memory", hint="say something")
    if len(text) > text_chars:
        raise BadInput(
            f"the text has {len(text)} characters; a memory may have {text_chars}",
            hint="say it shorter, or raise memories.text_chars",
            characters=len(text),
        )
    check_whole(text, "the text of a memory")


def check_name(name: str, what: str) -> None:
    """Words beside a text: one line, not long."""
    if len(name) > _NAME_CHARS or not (name.isprintable() or not name):
        raise BadInput(
            f"the {what} of a memory is one line of at most {_NAME_CHARS} characters",
            hint="shorten it, and take control characters out",
        )
    check_whole(name, f"the {what} of a memory")


def check_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    if len(tags) > _TAGS or not all(tag.strip() for tag in tags):
        raise BadInput(f"a memory may have up to {_TAGS} tags, none empty", hint="use fewer")
    for tag in tags:
        check_name(tag, "tag")
    return tuple(sorted(set(tags)))


def read_time(text: str) -> str:
    """A time as ISO 8601 tells it, in the form of the ledger; without a zone it is UTC."""
    if not text:
        return ""
    try:
        moment = datetime.fromisoformat(text)
        return format_time(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError) as error:
        raise BadInput(
            f"{text[:40]!r} is no time", hint="write it like 2026-01-31T12:00:00Z"
        ) from error


def memory_from(draft: MemoryDraft, memory_id: str, *, now: str) -> Memory:
    return Memory(
        id=memory_id,
        text=draft.text,
        kind=draft.kind,
        trust=draft.trust,
        source=draft.source,
        time=now,
        tags=draft.tags,
        scope=draft.scope,
        confidence=float(draft.confidence),
        lineage=draft.trust if draft.lineage is None else draft.lineage,
        updated=now,
        valid_from=draft.valid_from,
        valid_until=draft.valid_until,
        session=draft.session,
    )


def check_whole(text: str, what: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"{what} holds half a surrogate pair",
            hint="decode the text properly where it comes in",
        ) from error
