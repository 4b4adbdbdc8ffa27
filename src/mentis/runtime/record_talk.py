"""What was said in a turn goes with the fields of its entry; its place in the session stays."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from mentis.ledger.statements import ERASURE
from mentis.ports.conversation_store import ConversationStore
from mentis.values.entry import Draft, Entry
from mentis.values.words import counted

from .audit_claims import BINDING, is_talk, session_of
from .audit_talk import EMPTIED, Said
from .said import emptied, turn_digest


@dataclass(frozen=True, slots=True)
class Emptying:
    """The turns that an entry speaks of. `missing` are not in the session as it says."""

    session: str
    numbers: tuple[int, ...]
    missing: int = 0

    def __str__(self) -> str:
        listed = ", ".join(map(str, self.numbers))
        return f"turn{'s' * (len(self.numbers) > 1)} {listed} of session {self.session!r}"

    def noted(self, tombstone: Draft, agent: str, talk: ConversationStore) -> Draft:
        """With what will be left of the turns: bare, but where they stand and what they replace."""
        turns = talk.turns(agent, self.session)
        left = [turn_digest(emptied(turns[number])) for number in self.numbers]
        return replace(tombstone, body={**tombstone.body, EMPTIED: left})

    def run(self, agent: str, talk: ConversationStore) -> None:
        turns = talk.turns(agent, self.session)
        for number in self.numbers:
            talk.replace(agent, self.session, number, emptied(turns[number]))


def turns_to_empty(
    entry: Entry, fields: Collection[str], *, entries: Iterable[Entry], talk: ConversationStore
) -> Emptying | None:
    """What goes with these fields; None where the entry says of no turn that it was said.

    `entries` are all of the agent: two may say the same, each of a turn of its own.
    """
    session = session_of(entry) if is_talk(entry) else None
    if session is None or not set(BINDING).intersection(fields):
        return None
    said = Said()
    for one in entries:
        if one.kind == ERASURE:
            said.take_erasure(one)
        else:
            said.take(one)
    found = said.turns_of(entry, session, talk)
    return None if found is None else Emptying(session, *found)


def what_remains(entry: Entry, emptying: Emptying | None) -> tuple[str, ...]:
    """Where the words of a turn are still to be read, after fields of its entry were erased."""
    if not is_talk(entry):
        return ()
    if emptying is None:
        session = session_of(entry)
        where = "a conversation" if session is None else f"session {session!r}"
        return (f"{where}: what was said there is not erased with these fields",)
    if not emptying.missing:
        return ()
    missing = counted(emptying.missing, "turn")
    return (f"session {emptying.session!r}: {missing} of it could not be found as the entry says",)
