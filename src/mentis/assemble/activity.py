"""Recent activity: the newest entries of the record, and the end of the conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from mentis.compose.shorten import first_words
from mentis.values.assembly import AssembledActivity
from mentis.values.entry import Entry
from mentis.values.turn import Turn

_LONGEST = 240  # characters of what somebody said


def activity_of(
    entries: Sequence[Entry], turns: Sequence[Turn], *, most: int
) -> tuple[AssembledActivity, ...]:
    """At most `most` of each, oldest first: the record, then the conversation."""
    recorded = (AssembledActivity("ledger", _entry(one)) for one in entries[-most:] if most)
    spoken = (AssembledActivity("conversation", _turn(one)) for one in turns[-most:] if most)
    return (*recorded, *(one for one in spoken if one.text))


def _entry(entry: Entry) -> str:
    said = f"entry {entry.index}: {entry.kind} by {entry.source}"
    act = entry.body.get("act")
    if isinstance(act, dict) and isinstance(
        name := cast("dict[str, object]", act).get("type"), str
    ):
        return f"{said}, {name}"
    return said


def _turn(turn: Turn) -> str:
    text = " ".join(turn.text[: 20 * _LONGEST].split())
    name = turn.speaker({"user": "user", "assistant": "assistant"})
    return f"{name}: {first_words(text, _LONGEST)}" if text else ""
