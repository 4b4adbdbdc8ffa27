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

_MOST = 20


def verify_agent(agent: str, ledger: LedgerStore, talk: ConversationStore) -> Verdict:
    """The chain of one agent, then every text that its turns are bound to."""
    verdict = verify_chain(agent, ledger.entries(agent))
    if not verdict.intact:
        return verdict

    @cache
    def digests(session: str) -> frozenset[str]:
        return frozenset(digest(turn.text.encode()) for turn in talk.turns(agent, session))

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


def _session(entry: Entry) -> str:
    return str(_object(entry.body.get("turn")).get("session", ""))


def _object(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
