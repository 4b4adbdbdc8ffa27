"""Does the record hold, and are the conversations still what it says they were?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import cast

from mentis.ledger.verify import verify_chain
from mentis.ports.conversation_store import ConversationStore
from mentis.ports.ledger_store import LedgerStore
from mentis.values.digest import digest
from mentis.values.entry import Entry, Finding, Verdict
from mentis.values.part import MediaPart

from .attachments import media_digest
from .said import acts, turn_digest

_MOST = 20


def verify_agent(agent: str, ledger: LedgerStore, talk: ConversationStore) -> Verdict:
    """The chain of one agent, then every text that its turns are bound to."""
    verdict = verify_chain(agent, ledger.entries(agent))
    if not verdict.intact:
        return verdict

    @cache
    def digests(session: str) -> frozenset[str]:
        turns = talk.turns(agent, session)
        texts = (digest(turn.text.encode()) for turn in turns)
        parts = (part for turn in turns for part in turn.parts if isinstance(part, MediaPart))
        acted = (turn_digest(turn) for turn in turns if acts(turn))
        return frozenset((*texts, *map(media_digest, parts), *acted))

    findings = [
        finding
        for entry in ledger.entries(agent)
        if entry.kind == "turn"
        for finding in _changed(entry, digests(_session(entry)))
    ]
    return replace(verdict, findings=tuple(findings[:_MOST]), more=max(0, len(findings) - _MOST))


def _changed(entry: Entry, kept: frozenset[str]) -> Iterator[Finding]:
    bound = _object(entry.body.get("digests"))
    for name in ("message", "answer"):
        if name in bound and bound[name] not in kept:
            message = f"the {name} of this turn is not in the conversation as it was"
            yield Finding(entry.index, "conversation", message)
    attached = cast("list[str]", entry.body.get("attachments") or [])
    for number, name in enumerate(attached, start=1):
        if name not in kept:
            message = f"attachment {number} of this turn is not in the conversation as it was"
            yield Finding(entry.index, "conversation", message)

    acted = cast("list[str]", entry.body.get("acted") or [])
    if any(name not in kept for name in acted):
        message = "the calls of this turn or their results are not in the conversation as they were"
        yield Finding(entry.index, "conversation", message)


def _session(entry: Entry) -> str:
    return str(_object(entry.body.get("turn")).get("session", ""))


def _object(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
