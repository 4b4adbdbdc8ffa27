"""Erases the words of a turn with the fields of its entry; its place in the session stays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from mentis.home.older_turns import StoredTurns
from mentis.ledger.statements import ERASURE
from mentis.values.entry import Draft, Entry
from mentis.values.turn import Turn
from mentis.values.turn_writes import TurnWrites, emptied
from mentis.values.words import quantity

from .claims import BINDING, is_talk, session_of
from .stored_turns import turn_digest
from .verify_conversations import EMPTIED, ConversationClaims


@dataclass(frozen=True, slots=True)
class ErasedTurns:
    """The turns that an entry speaks of; `missing` are not in the session as it says."""

    session: str
    numbers: tuple[int, ...]
    missing: int = 0

    def writes(self) -> TurnWrites:
        return TurnWrites(self.session, emptied=self.numbers)

    def __str__(self) -> str:
        listed = ", ".join(map(str, self.numbers))
        return f"turn{'s' * (len(self.numbers) > 1)} {listed} of session {self.session!r}"


def tell_emptied(tombstone: Draft, erased: ErasedTurns, turns: Sequence[Turn]) -> Draft:
    """With what will be left of the turns: bare, but where they stand and what they replace."""
    left = [turn_digest(emptied(turns[number])) for number in erased.numbers]
    return replace(tombstone, body={**tombstone.body, EMPTIED: left})


def turns_to_empty(
    entry: Entry, fields: Collection[str], *, entries: Iterable[Entry], talk: StoredTurns
) -> ErasedTurns | None:
    """What goes with these fields; None where the entry says of no turn that it was said.

    `entries` are all of the agent: two may say the same, each of a turn of its own.
    """
    session = session_of(entry) if is_talk(entry) else None
    if session is None or not set(BINDING).intersection(fields):
        return None
    said = ConversationClaims()
    for one in entries:
        if one.kind == ERASURE:
            said.take_erasure(one)
        else:
            said.take(one)
    found = said.turns_of(entry, session, talk)
    return None if found is None else ErasedTurns(session, *found)


def what_remains(entry: Entry, erased: ErasedTurns | None) -> tuple[str, ...]:
    """Where the words of a turn are still to be read, after fields of its entry were erased."""
    if not is_talk(entry):
        return ()
    if erased is None:
        session = session_of(entry)
        where = "a conversation" if session is None else f"session {session!r}"
        return (f"{where}: what was said there is not erased with these fields",)
    if not erased.missing:
        return ()
    missing = quantity(erased.missing, "turn")
    return (f"session {erased.session!r}: {missing} of it could not be found as the entry says",)
