"""Agents that use agents: which turns of others belong to a turn, as its record names them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, cast

from mentis.values.entry import Entry

from .agent_record import AgentRecord

_LOOKED_BACK = 512  # entries before a turn among which its acts are looked for


def asked_in_session(entries: Iterable[Entry], session: str) -> Iterator[str]:
    """Which turns another agent asked for, and which agents were asked in this session."""
    for entry in entries:
        if session in (_object(entry, "turn").get("session"), _object(entry, "act").get("session")):
            yield from _named(entry)


def asked_around(record: AgentRecord, entry: Entry) -> tuple[str, ...]:
    """Who asked for this turn, and whom it asked: acts that came after the turn before it in its
    session. It blocks.
    """
    session, found = _object(entry, "turn").get("session"), list[str]()
    if "steps" in entry.fields:  # without an act nobody was asked
        start = max(entry.index - _LOOKED_BACK, 0)
        before = record.ledger.entries(record.agent, start=start)
        for earlier in islice(before, entry.index - start):
            if earlier.kind == "turn" and _object(earlier, "turn").get("session") == session:
                found.clear()
            elif _object(earlier, "act").get("session") == session:
                found += _named(earlier)
    return (*_named(entry), *dict.fromkeys(found))


def _named(entry: Entry) -> Iterator[str]:
    turn, act = _object(entry, "turn"), _object(entry, "act")
    if caller := turn.get("caller"):
        yield (
            f"turn {turn.get('number')} was asked for by {caller['agent']}, session"
            f" {caller['session']}, act {caller['act']}"
        )
    if asked := act.get("turn"):
        yield (
            f"act {act.get('key')} asked {asked['agent']}, session {asked['session']},"
            f" entry {asked['entry']}"
        )


def _object(entry: Entry, name: str) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", entry.body.get(name) or {})
