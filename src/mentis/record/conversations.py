"""What a turn came to is recorded and kept as one, though the two may lie in two databases.

It goes as a mark with the entry that binds it, in one transaction, and is carried over into the
conversation right after that: by the same process, or, if that was killed or found the store busy,
by whoever writes next. Until then reading shows it where it will stand. The mark goes with the next
entry; an ending is carried over once, however often it is tried. Turns that a tombstone has erased
are emptied in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from mentis.codec.forms import from_json, to_json
from mentis.errors import BadInput, MentisError, StoreDamaged
from mentis.ports.conversation_store import ConversationStore
from mentis.ports.entries import Stamp
from mentis.ports.ids import Ids
from mentis.ports.ledger_store import LedgerStore
from mentis.values.ending import Ending
from mentis.values.entry import Draft, Entry
from mentis.values.mark import Mark
from mentis.values.turn import Turn, TurnState

from .erased_turns import ERASED_TURNS, ErasedTurns
from .stored_turns import emptied

ENDING = "ending"  # the kind of the marks
_SESSION, _ENDING = "session", "ending"


@dataclass(frozen=True, slots=True)
class Ended:
    """An ending and the session it is of."""

    session: str
    ending: Ending

    @classmethod
    def new(
        cls,
        session: str,
        number: int,
        ids: Ids,
        *,
        state: TurnState | None = None,
        turns: tuple[Turn, ...] = (),
    ) -> Ended:
        """In the order of their names endings of a session follow one another as turns do."""
        return cls(session, Ending(f"{session}/{number:09}/{ids.new_id()}", number, state, turns))

    def mark(self) -> Mark:
        """BadInput where it cannot be written."""
        written = to_json(self.ending).decode()
        return Mark(ENDING, self.ending.name, {_SESSION: self.session, _ENDING: written})

    def writable(self) -> Ended:
        """Without what followed the message, where that has no JSON form."""
        try:
            self.mark()
        except BadInput:
            return replace(self, ending=replace(self.ending, turns=()))
        return self

    def __str__(self) -> str:
        return (
            f"what turn {self.ending.number} of session {self.session!r} came to is recorded, and"
            " not carried over into the conversation yet: the next turn does that"
        )


class CarriedTalk:
    """The conversations as the record has them. Its methods block."""

    def __init__(self, store: ConversationStore, ledger: LedgerStore) -> None:
        self._store = store
        self._ledger = ledger
        self._known: set[tuple[str, str]] = set()  # carried over, while their marks still stand

    @classmethod
    def over(cls, store: ConversationStore, ledger: LedgerStore) -> CarriedTalk:
        return store if isinstance(store, cls) else cls(store, ledger)

    def record(
        self,
        agent: str,
        draft: Draft,
        stamp: Stamp,
        *,
        ended: Ended | None,
        marks: Sequence[Mark] = (),
    ) -> Entry:
        """The entry, together with what its turn came to."""
        own = () if ended is None else (ended.mark(),)
        every = (*marks, *self.settled(agent), *own)
        (entry,) = self._ledger.append(agent, [draft], stamp, marks=every)
        if ended is not None:
            # It is kept as it is: nobody has to say it again because the store is busy just now.
            with suppress(MentisError):
                self._carry(agent, ended)
        return entry

    def settled(self, agent: str) -> tuple[Mark, ...]:
        """Carry over what others have left, as far as that can be done; the marks that take away
        what has its place now, to go with the next entry.
        """
        marks = self._ledger.marks(agent, ENDING)
        self._known.intersection_update((agent, mark.key) for mark in marks)
        for mark in marks:
            if (agent, mark.key) not in self._known:
                with suppress(MentisError):
                    self._carry(agent, _read(mark))
        carried = (mark for mark in marks if (agent, mark.key) in self._known)
        return (*(Mark(ENDING, mark.key) for mark in carried), *self._finish_erasures(agent))

    def waiting(self, agent: str, session: str = "") -> tuple[Ended, ...]:
        """What is recorded and has not been carried over: of one session, or of all."""
        named = [m for m in self._ledger.marks(agent, ENDING) if (agent, m.key) not in self._known]
        if session:
            named = [mark for mark in named if mark.key.startswith(f"{session}/")]
        return tuple(one for one in map(_read, named) if not self._is_carried(agent, one))

    def carry_over(self, agent: str, session: str) -> None:
        for ended in self.waiting(agent, session):
            self._carry(agent, ended)

    def unfinished_erasures(self, agent: str) -> tuple[ErasedTurns, ...]:
        """Turns that are erased in the record, and stand in the store as before."""
        return tuple(
            erased
            for erased in self._erasures(agent)
            if erased.standing(self._store.turns(agent, erased.session))
        )

    def empty(self, agent: str, erased: ErasedTurns) -> None:
        """Empty these turns and no others, however often it is tried."""
        self.carry_over(agent, erased.session)
        turns = self._store.turns(agent, erased.session)
        for number in erased.standing(turns):
            self._store.replace(agent, erased.session, number, emptied(turns[number]))

    # As every store of conversations

    def add(self, agent: str, session: str, turn: Turn) -> int:
        self.carry_over(agent, session)
        return self._store.add(agent, session, turn)

    def replace(self, agent: str, session: str, number: int, turn: Turn) -> None:
        self.carry_over(agent, session)
        self._store.replace(agent, session, number, turn)

    def carry(self, agent: str, session: str, ending: Ending) -> None:
        self._store.carry(agent, session, ending)

    def carried(self, agent: str, session: str, ending: Ending) -> bool:
        return self._store.carried(agent, session, ending)

    def turns(self, agent: str, session: str) -> tuple[Turn, ...]:
        # The marks first: they go only after what they hold is there. What is carried over by
        # somebody else between two looks would be there twice, or not at all.
        erasures = [one for one in self._erasures(agent) if one.session == session]
        waiting = self.waiting(agent, session)
        turns = self._store.turns(agent, session)
        while waiting != (left := self._left(agent, waiting)):
            waiting, turns = left, self._store.turns(agent, session)
        turns = _with(turns, waiting) if waiting else turns
        for erased in erasures:
            turns = erased.apply_to(turns)
        return turns

    def sessions(self, agent: str) -> tuple[str, ...]:
        begun = [ended.session for ended in self.waiting(agent)]
        return tuple(dict.fromkeys((*self._store.sessions(agent), *begun)))

    def damage(self) -> tuple[str, ...]:
        return self._store.damage()

    def _erasures(self, agent: str) -> tuple[ErasedTurns, ...]:
        return tuple(map(ErasedTurns.read, self._ledger.marks(agent, ERASED_TURNS)))

    def _finish_erasures(self, agent: str) -> tuple[Mark, ...]:
        done: list[Mark] = []
        for mark in self._ledger.marks(agent, ERASED_TURNS):
            with suppress(MentisError):
                self.empty(agent, ErasedTurns.read(mark))
                done.append(Mark(ERASED_TURNS, mark.key))
        return tuple(done)

    def _left(self, agent: str, waiting: Sequence[Ended]) -> tuple[Ended, ...]:
        return tuple(one for one in waiting if not self._is_carried(agent, one))

    def _is_carried(self, agent: str, ended: Ended) -> bool:
        place = (agent, ended.ending.name)
        if place not in self._known and self._store.carried(agent, ended.session, ended.ending):
            self._known.add(place)
        return place in self._known

    def _carry(self, agent: str, ended: Ended) -> None:
        if not self._is_carried(agent, ended):
            self._store.carry(agent, ended.session, ended.ending)
            self._known.add((agent, ended.ending.name))


def _with(turns: Sequence[Turn], waiting: Sequence[Ended]) -> tuple[Turn, ...]:
    """As they will be once these are carried over."""
    told = [*turns]
    for ending in (one.ending for one in waiting):
        if ending.state is not None and 0 <= ending.number < len(told):
            told[ending.number] = replace(told[ending.number], state=ending.state)
        told.extend(ending.turns)
    return tuple(told)


def _read(mark: Mark) -> Ended:
    """StoreDamaged unless it is what was written: it will be told to the model."""
    value = mark.value or {}
    session, written = value.get(_SESSION), value.get(_ENDING)
    try:
        ending = from_json(Ending, str(written))
    except BadInput as error:
        raise _damaged(mark, error.message) from error
    if ending.name != mark.key or not mark.key.startswith(f"{session}/"):
        raise _damaged(mark, "it is that of another turn")
    return Ended(str(session), ending)


def _damaged(mark: Mark, reason: str) -> StoreDamaged:
    return StoreDamaged(
        f"what a turn came to cannot be read in mark {mark.key!r}: {reason}",
        hint="somebody changed the database; put a backup in its place",
        column="marks",
        key=mark.key,
    )
