"""Are the conversations what the record says was said, in that order, and nothing more?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from mentis.errors import StoreDamaged
from mentis.ports.conversation_store import ConversationStore
from mentis.values.digest import digest
from mentis.values.entry import Attack, Entry, Finding
from mentis.values.part import MediaPart
from mentis.values.turn import Turn

from .attachments import media_digest
from .said import acts, turn_digest


@dataclass(frozen=True, slots=True)
class _Claim:
    """What one entry says of one turn: its number, and the digests of what was said.

    `message` is None where nobody said anything: the agent began, thought, or wrote once more.
    """

    index: int
    number: object
    message: str | None
    answer: str | None
    attached: tuple[str, ...]
    acted: tuple[str, ...]
    replaces: object = None
    failed: bool = False


@dataclass(slots=True)
class _Session:
    claims: list[_Claim] = field(default_factory=list[_Claim])
    loose: bool = False  # an entry does not say, or says no more, what was said


@dataclass(slots=True)
class Said:
    """What the entries of one agent say of its conversations."""

    _sessions: defaultdict[str, _Session] = field(
        default_factory=lambda: defaultdict[str, _Session](_Session)
    )
    _loose: bool = False  # of an entry nobody can say any more which session it was
    gave_up: bool = False  # a rollback was accepted: turns outlive the entries that it gave up

    def take(self, entry: Entry) -> None:
        told, bound = _object(entry.body.get("turn")), _object(entry.body.get("digests"))
        if "tick" in entry.fields and "turn" not in entry.fields:
            return  # a tick is no part of a conversation
        if "session" not in told:
            self._loose = True
            return
        session = self._sessions[str(told["session"])]
        if ("instruction" if "inner" in told else "message") not in bound:
            session.loose = True
            return
        answer = bound.get("answer")
        session.claims.append(
            _Claim(
                index=entry.index,
                number=told.get("number"),
                message=None if "inner" in told else str(bound["message"]),
                answer=None if answer is None else str(answer),
                attached=_texts(entry.body.get("attachments")),
                acted=_texts(entry.body.get("acted")),
                replaces=told.get("replaces"),
                failed="failure" in told and "answer" not in bound,
            )
        )

    def compare(
        self, agent: str, talk: ConversationStore, *, whole: Callable[[], bool]
    ) -> tuple[list[Finding], list[str]]:
        """What does not fit, and what is to be said.

        `whole`, asked once the turns were read: were all entries taken that there are? Each turn
        that was ended has its entry before it is there.
        """
        found: list[Finding | str] = []
        try:
            names = sorted({*self._sessions, *talk.sessions(agent)})
        except StoreDamaged as damage:
            names = sorted(self._sessions)
            found.append(Finding(0, "conversation", damage.message, "unreadable"))
        for name in names:
            said = self._sessions.get(name, _Session())
            try:
                turns = _Turns(talk.turns(agent, name))
            except StoreDamaged as damage:
                first = said.claims[0].index if said.claims else 0
                found.append(Finding(first, "conversation", damage.message, "unreadable"))
                continue
            odd = [finding for claim in said.claims for finding in turns.check(claim)]
            found.extend(odd)
            found.extend(_replaced(name, said.claims))
            if not (odd or said.loose or self._loose):
                left = turns.unexplained(name, whole)
                found.extend(map(_excused, left) if self.gave_up else left)
        findings = [one for one in found if isinstance(one, Finding)]
        notes = [one for one in found if isinstance(one, str)]
        return sorted(findings, key=lambda finding: finding.index), notes


class _Turns:
    """The turns of one session, and which of them an entry has spoken of."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = turns
        self._texts = [digest(turn.text.encode()) for turn in turns]
        self._places: defaultdict[str, list[int]] = defaultdict(list)  # of answers and acts
        for number, turn in enumerate(turns):
            if acts(turn) or turn.kind != "said":
                self._places[turn_digest(turn)].append(number)
            elif turn.role == "assistant":
                self._places[self._texts[number]].append(number)
        self._told: set[int] = set()

    def check(self, claim: _Claim) -> Iterator[Finding]:
        number = claim.number if isinstance(claim.number, int) else -1
        if claim.message is None:
            number -= 1  # the answer itself may have that number
        else:
            yield from self._check_message(claim, claim.message, number)
        if claim.acted:
            if not self._find(claim.acted, number):
                message = (
                    "the calls of this turn or their results are not in the conversation as they"
                    " were"
                )
                yield _changed(claim, message)
        elif claim.answer is not None and not self._find([claim.answer], number):
            yield self._missing(claim, "answer", claim.answer)

    def unexplained(self, session: str, whole: Callable[[], bool]) -> Iterator[Finding | str]:
        """Turns that no entry speaks of: begun and never ended, or put there."""
        left = [number for number in range(len(self._turns)) if number not in self._told]
        if not left or not whole():
            return
        for number in left:
            turn, place = self._turns[number], f"turn {number} of session {session!r}"
            if turn.role == "user" and turn.state == "pending":
                yield f"{place} was begun and never ended, so no entry speaks of it"
            else:
                yield Finding(0, "conversation", f"{place} is in no entry", "inserted")

    def _check_message(self, claim: _Claim, message: str, number: int) -> Iterator[Finding]:
        there = self._turns[number] if 0 <= number < len(self._turns) else None
        if there is None or there.role != "user" or self._texts[number] != message:
            yield self._missing(claim, "message", message)
            return
        self._told.add(number)
        if there.kind != "said" or there.replaces != claim.replaces:
            yield _changed(claim, "the message of this turn replaces others than it did")
        media = [media_digest(part) for part in there.parts if isinstance(part, MediaPart)]
        if len(media) > len(claim.attached):
            yield _changed(claim, "this turn has attachments that it did not have")
        for place, name in enumerate(claim.attached, start=1):
            if media[place - 1 : place] != [name]:
                message = f"attachment {place} of this turn is not in the conversation as it was"
                yield _changed(claim, message)

    def _find(self, wanted: Sequence[str], number: int) -> bool:
        """One after the other behind the question, each where no entry has found its own.

        Others may have been asked in between.
        """
        for name in wanted:
            places = self._places[name]
            place = next((place for place in places if place > number), None)
            if place is None:
                return False
            places.remove(place)
            self._told.add(place)
            number = place
        return True

    def _missing(self, claim: _Claim, what: str, wanted: str) -> Finding:
        if wanted in self._texts:
            message = f"the {what} of this turn does not stand where it was said"
            return _changed(claim, message, "reordered")
        return _changed(claim, f"the {what} of this turn is not in the conversation as it was")


def _replaced(session: str, claims: Sequence[_Claim]) -> Iterator[str]:
    """What is kept and no longer told, because it was said anew."""
    for claim in claims:
        if claim.message is not None and claim.replaces is not None and not claim.failed:
            yield (
                f"turn {claim.replaces} of session {session!r} and what followed it were said anew"
                f" as turn {claim.number} (entry {claim.index})"
            )


def _excused(left: Finding | str) -> str:
    if isinstance(left, str):
        return left
    return f"{left.message}, which may have gone with the rollback that was accepted"


def _changed(claim: _Claim, message: str, attack: Attack = "edited") -> Finding:
    return Finding(claim.index, "conversation", message, attack)


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, cast("list[object]", value))) if isinstance(value, list) else ()


def _object(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
