"""The steps of a turn: what was answered and done in each, and why there is no other after it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from mentis.act.seen import lineage_of
from mentis.ask.calls import ModelCall, combine_replies, request_digest
from mentis.codec.forms import to_json, to_object
from mentis.record.stored_turns import acts, answer_turns
from mentis.values.action import Outcome
from mentis.values.digest import Digest, digest
from mentis.values.reply import Reply
from mentis.values.trust import Trust
from mentis.values.turn import Turn
from mentis.values.value import Value

# An answer without calls; calls that wait for a yes, or for the caller to execute them; a limit of
# steps, of money, of room in the context; somebody broke it off; nobody answered, or an earlier
# answer was given once more; another agent was handed the conversation, and answered.
TurnStop: TypeAlias = Literal[
    "answer",
    "pending",
    "calls",
    "max_steps",
    "budget",
    "context",
    "interrupted",
    "failed",
    "repeated",
    "handoff",
]


@dataclass(frozen=True, slots=True)
class TurnStep(Value):
    """One answer of the model and what was done on it. `calls` are more than one where it had to be
    corrected; `turns` is how the conversation keeps it.
    """

    calls: tuple[ModelCall, ...]
    reply: Reply
    outcomes: tuple[Outcome, ...]
    turns: tuple[Turn, ...]

    @property
    def results(self) -> bool:
        """Whether something came of its calls that the model can be told."""
        return any(turn.role == "user" and acts(turn) for turn in self.turns)

    @property
    def waits(self) -> bool:
        return any(outcome.state == "waiting" for outcome in self.outcomes)

    @property
    def deferred(self) -> tuple[Outcome, ...]:
        """Calls that the caller is to execute."""
        return tuple(outcome for outcome in self.outcomes if outcome.state == "deferred")

    def entry_fields(self) -> dict[str, object]:
        """What the entry of the turn says about it; its calls stand under `calls`."""
        first = self.calls[0]
        return {
            "calls": len(self.calls),
            "turns": len(self.turns),
            "request": request_digest(first.composed.request),
            "payload": first.rendering.digest,
            "reply": digest(to_json(self.reply)),
            "acts": outcomes_digest(self.outcomes),
        }


def make_step(
    calls: Sequence[ModelCall], outcomes: Sequence[Outcome], *, said: Trust, repeated: Reply | None
) -> TurnStep:
    """Of all calls of a step, as one answer. `said` is how far its message is trusted; what an
    answer that is `repeated` was made from is not known here.
    """
    reply = combine_replies(calls) if repeated is None else repeated
    lineage = Trust.UNTRUSTED if repeated is not None else answer_lineage(calls, said)
    turns = answer_turns(reply, outcomes, at_once=len(calls) <= 1, lineage=lineage)
    return TurnStep(tuple(calls), reply, tuple(outcomes), turns)


def answer_lineage(calls: Sequence[ModelCall], said: Trust) -> Trust:
    """A correction quotes what the model said and what tools said: nobody vouches for that."""
    if len(calls) > 1:
        return Trust.UNTRUSTED
    return lineage_of(calls[0].composed.request, said=said)


def stop_after(steps: Sequence[TurnStep], *, most: int) -> TurnStop | None:
    """Why no step follows the last of these; None where its results are to be told."""
    last = steps[-1]
    if last.deferred:
        return "calls"
    if any(outcome.turn is not None and outcome.turn.handoff for outcome in last.outcomes):
        return "handoff"
    if not last.results:
        return "answer"
    if last.waits and any(step.waits for step in steps[:-1]):
        return "pending"  # it was told that it has to wait, and asked for more of the kind
    return "max_steps" if len(steps) >= most else None


def outcomes_digest(outcomes: Sequence[Outcome]) -> Digest:
    listed = [to_object(outcome) for outcome in outcomes]
    return digest(json.dumps(listed, ensure_ascii=False, separators=(",", ":")).encode())
