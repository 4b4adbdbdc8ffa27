"""The turns of one session, held against what entries say of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence

from mentis.values.digest import digest
from mentis.values.entry import Attack, Finding
from mentis.values.part import MediaPart, ReasoningPart, TextPart
from mentis.values.trust import Trust
from mentis.values.turn import Turn

from .claims import TurnClaim, deciding_claims
from .media_digest import media_digest
from .stored_turns import BROKEN, acts, is_emptied, turn_digest

_ANSWERS = (Trust.SELF, Trust.UNTRUSTED)  # the agent's own at best


class SessionTurns:
    """And which of them an entry has spoken of."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.turns = turns
        self.found: defaultdict[int, list[int]] = defaultdict(list)  # by the index of the entry
        self._told: set[int] = set()
        self._texts = [digest(turn.text.encode()) for turn in turns]
        self._wholes = [turn_digest(turn) for turn in turns]
        self._placed: defaultdict[str, list[int]] = defaultdict(list)  # whole turns
        self._answers: defaultdict[str, list[int]] = defaultdict(list)  # texts of plain answers
        for number, turn in enumerate(turns):
            self._placed[self._wholes[number]].append(number)
            if turn.role == "assistant" and turn.kind == "said" and not acts(turn):
                self._answers[self._texts[number]].append(number)

    def check(self, claims: Sequence[TurnClaim]) -> list[Finding]:
        """What of these turns, all of the session, is not as their entries say."""
        decides = deciding_claims(claims)
        return [
            finding
            for claim in claims
            for finding in self._check(claim, whole=decides.get(claim.number) is claim)
        ]

    def unclaimed_numbers(self) -> list[int]:
        """Those that no entry speaks of, but for what was erased."""
        return [
            number
            for number, turn in enumerate(self.turns)
            if number not in self._told and not is_emptied(turn)
        ]

    def emptied_digests(self) -> dict[int, str]:
        """What is left of those that were erased, by their numbers."""
        return {n: self._wholes[n] for n, turn in enumerate(self.turns) if is_emptied(turn)}

    def find_rest(self, claim: TurnClaim, emptied: Counter[str]) -> None:
        """Find the turns of an entry, also where some of them are gone.

        An erasure that was cut short has emptied the first of them; such a turn is its own before
        a later one that has the same words. `emptied`, what is left of such turns, is used up.
        """
        places, wanted = self._placed, claim.acted
        if not wanted and claim.answer is not None:
            places, wanted = self._answers, (claim.answer,)
        number = claim.number
        if claim.message is None:
            number -= 1  # the answer itself may have that number
        elif self._is_message(number, claim.message) or self._use_emptied(number, emptied):
            self._take(claim, number)
        for name in wanted:
            free = (n for n in range(number + 1, len(self.turns)) if n not in self._told)
            own = (n for n in free if n in places.get(name, ()) or self._use_emptied(n, emptied))
            if (place := next(own, None)) is not None:
                self._take(claim, place)
                number = place

    def _use_emptied(self, number: int, emptied: Counter[str]) -> bool:
        """Whether this is one of them, which then is used up."""
        there = 0 <= number < len(self.turns) and is_emptied(self.turns[number])
        if not there or not emptied[self._wholes[number]]:
            return False
        emptied[self._wholes[number]] -= 1
        return True

    def _is_message(self, number: int, message: str) -> bool:
        if not 0 <= number < len(self.turns):
            return False
        return self.turns[number].role == "user" and self._texts[number] == message

    def _check(self, claim: TurnClaim, *, whole: bool) -> Iterator[Finding]:
        number = claim.number
        if claim.message is None:
            number -= 1  # the answer itself may have that number
        else:
            yield from self._check_message(claim, claim.message, whole=whole)
        if claim.acted:
            yield from self._check_acted(claim, number)
        elif claim.answer is not None:
            yield from self._check_answer(claim, claim.answer, number)

    # The question

    def _check_message(self, claim: TurnClaim, message: str, *, whole: bool) -> Iterator[Finding]:
        number = claim.number
        if not self._is_message(number, message):
            yield self._missing(claim, "message", message, self._texts)
            return
        there = self.turns[number]
        self._take(claim, number)
        odd = [*_message_parts(claim, there)]
        if whole and not odd:
            odd = [*self._message_rest(claim, there)]
        yield from (claim_finding(claim, message) for message in odd)

    def _message_rest(self, claim: TurnClaim, there: Turn) -> Iterator[str]:
        if claim.asked is not None:
            if self._wholes[claim.number] != claim.asked:
                yield (
                    "the message of this turn has its words, and is not as it was: what is known of"
                    " its attachments, how far it is trusted, or what it came to"
                )
        elif there.until is not None or there.state not in claim.asked_states:
            yield "the message of this turn came to something else than its entry says"

    # What followed it

    def _check_acted(self, claim: TurnClaim, number: int) -> Iterator[Finding]:
        if self._find(claim, self._placed, claim.acted, number):
            return
        first, *more = claim.acted
        if more:
            message = (
                "the calls of this turn or their results are not in the conversation as they were"
            )
            yield claim_finding(claim, message)
            return
        if claim.answer and self._find(claim, self._answers, [claim.answer], number):
            yield claim_finding(claim, _answer_changed(self.turns[self.found[claim.index][-1]]))
        else:
            yield self._missing(claim, "answer", first, self._wholes)

    def _check_answer(self, claim: TurnClaim, answer: str, number: int) -> Iterator[Finding]:
        """Of an older entry, which binds nothing but the text."""
        if not self._find(claim, self._answers, [answer], number):
            yield self._missing(claim, "answer", answer, self._texts)
            return
        there = self.turns[self.found[claim.index][-1]]
        state = "interrupted" if claim.stop in BROKEN else "complete"
        trusted = (Trust.UNTRUSTED,) if claim.repeats else _ANSWERS
        fits = there.state == state and there.lineage in trusted and _plain(there)
        if not fits:
            yield claim_finding(claim, _answer_changed(there))

    def _find(
        self,
        claim: TurnClaim,
        places: defaultdict[str, list[int]],
        wanted: Sequence[str],
        number: int,
    ) -> bool:
        """One after the other behind the question, each where no entry has found its own.

        Others may have been asked in between.
        """
        found: list[int] = []
        for name in wanted:
            free = (n for n in places.get(name, ()) if n > number and n not in self._told)
            number = next(free, -1)
            if number < 0:
                return False
            found.append(number)
        for name, number in zip(wanted, found, strict=True):
            self._take(claim, number)
            places[name].remove(number)
        return True

    def _take(self, claim: TurnClaim, number: int) -> None:
        self._told.add(number)
        self.found[claim.index].append(number)

    def _missing(self, claim: TurnClaim, what: str, wanted: str, among: Collection[str]) -> Finding:
        if wanted in among:
            message = f"the {what} of this turn does not stand where it was said"
            return claim_finding(claim, message, "reordered")
        return claim_finding(claim, f"the {what} of this turn is not in the conversation as it was")


def claim_finding(claim: TurnClaim, message: str, attack: Attack = "edited") -> Finding:
    return Finding(claim.index, "conversation", message, attack)


def _message_parts(claim: TurnClaim, there: Turn) -> Iterator[str]:
    """Attachments, then the words, and nothing else."""
    if there.kind != "said" or there.replaces != claim.replaces:
        yield "the message of this turn replaces others than it did"
    media = [part for part in there.parts if isinstance(part, MediaPart)]
    if len(media) > len(claim.attached):
        yield "this turn has attachments that it did not have"
    for place, name in enumerate(claim.attached, start=1):
        part = media[place - 1] if place <= len(media) else None
        if part is None or media_digest(part) != name or _two_places(part):
            yield f"attachment {place} of this turn is not in the conversation as it was"
    if not _is_asked(there, len(media)):
        yield "the message of this turn has parts that it did not have"


def _is_asked(turn: Turn, media: int) -> bool:
    """As it is made: the words come last, once, and nothing of a provider with them."""
    last = turn.parts[-1] if turn.parts else None
    bare = isinstance(last, TextPart) and last.state is None
    return bare and len(turn.parts) == media + 1


def _two_places(part: MediaPart) -> bool:
    """Each was read where it was, and then has its bytes, or an address."""
    return bool(part.path) or (part.data is not None and bool(part.url))


def _plain(turn: Turn) -> bool:
    """What an answer without calls can be made of: of thoughts only those that are signed."""
    fitting = all(
        isinstance(part, TextPart) or (isinstance(part, ReasoningPart) and part.state is not None)
        for part in turn.parts
    )
    return fitting and turn.replaces is None and turn.until is None


def _answer_changed(there: Turn) -> str:
    return (
        "the answer of this turn has its words, and is not as it was: its other parts, how far it"
        f" is trusted ({there.lineage}), or what it takes the place of"
    )
