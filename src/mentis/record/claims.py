"""Claims: what an entry says of the turns of a conversation that it recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from mentis.values.entry import Entry
from mentis.values.turn import TurnState

from .stored_turns import BROKEN

# Without one of these fields nobody can say any more which turns it were.
BINDING = ("turn", "digests", "asked", "acted", "attachments")


@dataclass(frozen=True, slots=True)
class TurnClaim:
    """What one entry says of one turn: its number, and the digests of what was said.

    `message` is None where nobody said anything: the agent began, thought, or wrote once more.
    `asked` and `acted` are of whole turns, the question and what followed. Older entries have the
    digests of texts alone, and `acted` only with calls.
    """

    index: int
    number: int
    message: str | None
    answer: str | None
    attached: tuple[str, ...]
    asked: str | None
    acted: tuple[str, ...]
    replaces: object = None
    stop: str = ""
    failure: bool = False
    repeats: bool = False

    @property
    def spoke(self) -> bool:
        return self.answer is not None or bool(self.acted)

    @property
    def count(self) -> int:
        """How many turns it speaks of."""
        return (self.message is not None) + (len(self.acted) or self.spoke)

    @property
    def whole(self) -> bool:
        """Whether it binds all there is of these turns."""
        asked = self.message is None or self.asked is not None
        return asked and (bool(self.acted) or not self.spoke)

    @property
    def asked_states(self) -> tuple[TurnState, ...]:
        """What the question can have come to, as far as an older entry says."""
        if self.spoke:
            return ("complete",)
        if self.failure:
            return ("failed",)
        return ("complete", "failed") if self.stop in BROKEN else ("complete",)


def claim_of(entry: Entry) -> TurnClaim | None:
    """None where the entry does not say, or says no more, what was said."""
    told, bound = object_in(entry, "turn"), object_in(entry, "digests")
    if "session" not in told or ("instruction" if "inner" in told else "message") not in bound:
        return None
    if any(name in entry.fields and name not in entry.body for name in BINDING):
        return None
    number, answer, asked = told.get("number"), bound.get("answer"), entry.body.get("asked")
    return TurnClaim(
        index=entry.index,
        number=number if isinstance(number, int) else -1,
        message=None if "inner" in told else str(bound["message"]),
        answer=None if answer is None else str(answer),
        attached=_texts(entry.body.get("attachments")),
        asked=None if asked is None else str(asked),
        acted=_texts(entry.body.get("acted")),
        replaces=told.get("replaces"),
        stop=str(told.get("stop", "")),
        failure="failure" in told,
        repeats="repeats" in told,
    )


def is_talk(entry: Entry) -> bool:
    """A tick is no part of a conversation."""
    return entry.kind == "turn" and ("turn" in entry.fields or "tick" not in entry.fields)


def session_of(entry: Entry) -> str | None:
    """None where nobody can say any more which one it was."""
    told = object_in(entry, "turn")
    return str(told["session"]) if "session" in told else None


def deciding_claims(claims: Sequence[TurnClaim]) -> dict[int, TurnClaim]:
    """By the number of a question, the claim that says what it came to.

    Several speak of one that a killed process had recorded and not ended: an answer counts, and
    without one what was said last.
    """
    found: dict[int, TurnClaim] = {}
    for claim in claims:
        known = found.get(claim.number)
        if claim.message is not None and (known is None or not known.spoke):
            found[claim.number] = claim
    return found


def object_in(entry: Entry, name: str) -> Mapping[str, object]:
    value = entry.body.get(name)
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, cast("list[object]", value))) if isinstance(value, list) else ()
