"""Are the conversations what the record says was said, in that order, and nothing more?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from mentis.errors import StoreDamaged
from mentis.home.older_turns import StoredTurns
from mentis.ledger.signature import statement_of
from mentis.ledger.statements import ERASURE, FIELD, whole_number
from mentis.values.entry import Entry, Finding
from mentis.values.words import quantity

from .claims import TurnClaim, claim_of, is_talk, session_of
from .threads import is_message
from .verify_turns import SessionTurns

EMPTIED = "emptied"  # the field of a tombstone that says what is left of the turns it emptied
_MOST_NAMED = 5


@dataclass(slots=True)
class _Session:
    claims: list[TurnClaim] = field(default_factory=list[TurnClaim])
    loose: list[int] = field(default_factory=list[int])  # entries that do not say what was said


@dataclass(slots=True)
class ConversationClaims:
    """What the entries of one agent say of its conversations."""

    _sessions: defaultdict[str, _Session] = field(
        default_factory=lambda: defaultdict[str, _Session](_Session)
    )
    _loose: list[int] = field(default_factory=list[int])  # they say no more which session it was
    _erased: set[int] = field(default_factory=set[int])  # entries whose turns went with them
    _emptied: Counter[str] = field(default_factory=Counter[str])  # what is left of those turns
    gave_up: bool = False  # a rollback was accepted: turns outlive the entries that it gave up

    def take(self, entry: Entry) -> None:
        if not is_talk(entry):
            return
        session = session_of(entry)
        if session is None:
            self._loose.append(entry.index)
            return
        claim = claim_of(entry)
        if claim is None:
            self._sessions[session].loose.append(entry.index)
        else:
            self._sessions[session].claims.append(claim)

    def take_erasure(self, tombstone: Entry) -> None:
        """With the fields of a turn goes what was said in it; the tombstone says what is left."""
        left, index = tombstone.body.get(EMPTIED), erased_index(tombstone)
        if isinstance(left, list) and index is not None:
            self._erased.add(index)
            self._emptied.update(map(str, cast("list[object]", left)))

    def compare(
        self, agent: str, talk: StoredTurns, *, whole: Callable[[], bool]
    ) -> tuple[list[Finding], list[str]]:
        """What does not fit, and what is to be said.

        `whole`, asked once the turns were read: were all entries taken that there are? Each turn
        that was ended has its entry before it is there.
        """
        found: list[Finding | str] = []
        left: list[_Left] = []
        emptied = Counter[str]()
        try:
            names = sorted({*self._sessions, *talk.sessions(agent)})
        except StoreDamaged as damage:
            names = sorted(self._sessions)
            found.append(Finding(0, "conversation", damage.message, "unreadable"))
        for name in names:
            said = self._sessions.get(name, _Session())
            try:
                turns = SessionTurns(talk.turns(agent, name))
            except StoreDamaged as damage:
                first = said.claims[0].index if said.claims else 0
                found.append(Finding(first, "conversation", damage.message, "unreadable"))
                continue
            odd = turns.check(said.claims)
            found.extend(odd)
            found.extend(_replaced(name, said.claims))
            emptied.update(turns.emptied_digests().values())
            if not odd:
                left.extend(_Left(name, number, turns) for number in turns.unclaimed_numbers())
        if (left or emptied != self._emptied) and whole():
            odd = any(isinstance(one, Finding) for one in found)
            found.extend(self._cut_short_note(emptied) if odd else self._check_emptied(emptied))
            found.extend(self._unexplained(left))
        found.extend(self._unbound())
        findings = [one for one in found if isinstance(one, Finding)]
        notes = [one for one in found if isinstance(one, str)]
        return sorted(findings, key=lambda finding: finding.index), notes

    def turns_of(
        self, entry: Entry, session: str, talk: StoredTurns
    ) -> tuple[tuple[int, ...], int] | None:
        """The numbers of the turns that this entry speaks of, and how many more it should be; None
        where it does not say what was said. Never one that only another entry speaks of.
        """
        claims = self._sessions[session].claims
        claim = next((one for one in claims if one.index == entry.index), None)
        if claim is None:
            return None
        if entry.index in self._erased:
            return (), 0  # its tombstone names them already, and a segment has its fields still
        stored, others = talk.turns(entry.agent, session), [one for one in claims if one != claim]
        turns = SessionTurns(stored)
        odd = {finding for finding in turns.check(claims) if finding.index != claim.index}
        lost = len(turns.found[claim.index]) < claim.count
        if lost or not odd.issubset(SessionTurns(stored).check(others)):
            # Something is gone, so that one could be taken for another: the others come first.
            turns, emptied = SessionTurns(stored), self._emptied_alone(entry.agent, talk)
            for one in (*others, claim):
                turns.find_rest(one, emptied)
        numbers = turns.found[claim.index]
        return tuple(sorted(numbers)), claim.count - len(numbers)

    def _emptied_alone(self, agent: str, talk: StoredTurns) -> Counter[str]:
        """Empty turns that no tombstone speaks of: an older Mentis emptied before it wrote one."""
        emptied = Counter[str]()
        for name in talk.sessions(agent):
            emptied.update(SessionTurns(talk.turns(agent, name)).emptied_digests().values())
        return emptied - self._emptied

    def _check_emptied(self, emptied: Counter[str]) -> Iterator[Finding]:
        """Of an erased turn its place is left, and all that its tombstone says."""
        if odd := (emptied - self._emptied).total():
            message = f"{quantity(odd, 'empty turn')} of the conversations in no tombstone"
            yield Finding(0, "conversation", message, "inserted")
        elif gone := (self._emptied - emptied).total():
            message = f"{quantity(gone, 'turn')} that a tombstone emptied: not in the conversations"
            yield Finding(0, "conversation", message, "deleted")

    def _cut_short_note(self, emptied: Counter[str]) -> Iterator[str]:
        """An older Mentis emptied the turns before it wrote their tombstone."""
        if odd := (emptied - self._emptied).total():
            yield (
                f"{quantity(odd, 'empty turn')} of the conversations in no tombstone: if it was an"
                " erasure that was cut short, the same `mentis ledger erase` ends it"
            )

    def _unexplained(self, left: Sequence[_Left]) -> Iterator[Finding | str]:
        """Turns that no entry speaks of: begun and never ended, or put there."""
        begun = [one for one in left if one.is_pending]
        yield from (f"{one} was begun and never ended, so no entry speaks of it" for one in begun)
        rest = [one for one in left if not one.is_pending]
        loose = self._unsettled(self._loose)
        # A turn has one message at most, so there cannot be more of them than entries.
        many = sum(one.is_said for one in rest if not self._loose_in(one)) > len(loose)
        for one in rest:
            if own := self._loose_in(one):
                yield f"{one} is in no entry; entry {own[0]} does not say what was said"
            elif self.gave_up:
                why = "which may have gone with the rollback that was accepted"
                yield f"{one} is in no entry, {why}"
            elif loose and not many:
                yield f"{one} is in no entry; it may be of one that no longer says its session"
            else:
                yield Finding(0, "conversation", f"{one} is in no entry", "inserted")

    def _unbound(self) -> Iterator[str]:
        """What nobody can compare."""
        if loose := self._unsettled(self._loose):
            yield (
                f"added turns could not be told from others everywhere: {_listed(loose)} no longer"
                " says which session it was"
            )
        for name, said in sorted(self._sessions.items()):
            if loose := self._unsettled(said.loose):
                yield (
                    f"added turns were not looked for in session {name!r}: {_listed(loose)} does"
                    " not say what was said"
                )
        older = sum(not claim.whole for said in self._sessions.values() for claim in said.claims)
        if older:
            yield (
                f"of {quantity(older, 'turn')} the entry binds the texts alone: how far they were"
                " trusted and what was known of attachments could not be compared"
            )

    def _unsettled(self, loose: Sequence[int]) -> list[int]:
        return [index for index in loose if index not in self._erased]

    def _loose_in(self, left: _Left) -> list[int]:
        said = self._sessions.get(left.session)
        return [] if said is None else self._unsettled(said.loose)


@dataclass(frozen=True, slots=True)
class _Left:
    """A turn that no entry speaks of."""

    session: str
    number: int
    turns: SessionTurns

    @property
    def is_pending(self) -> bool:
        turn = self.turns.turns[self.number]
        return turn.role == "user" and turn.state == "pending"

    @property
    def is_said(self) -> bool:
        return is_message(self.turns.turns[self.number])

    def __str__(self) -> str:
        return f"turn {self.number} of session {self.session!r}"


def erased_index(entry: Entry) -> int | None:
    """The entry that this tombstone is of; None where it is no tombstone."""
    index = statement_of(entry.body.get(FIELD)).get("index") if entry.kind == ERASURE else None
    return whole_number(index)


def _replaced(session: str, claims: Sequence[TurnClaim]) -> Iterator[str]:
    """What is kept and no longer told, because it was said anew."""
    for claim in claims:
        failed = claim.failure and claim.answer is None
        if claim.message is not None and claim.replaces is not None and not failed:
            yield (
                f"turn {claim.replaces} of session {session!r} and what followed it were said anew"
                f" as turn {claim.number} (entry {claim.index})"
            )


def _listed(indexes: Sequence[int]) -> str:
    named = ", ".join(map(str, indexes[:_MOST_NAMED]))
    more = f" and {len(indexes) - _MOST_NAMED} more" if len(indexes) > _MOST_NAMED else ""
    return f"entry {named}{more}"
