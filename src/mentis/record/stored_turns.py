"""The turns a conversation keeps: the question, the answer, the results of its calls.

The next request tells it again: calls as calls with their results, a quotation as it was shown, so
that what was sent before stays the beginning of what is sent next.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from mentis.codec.forms import to_json, to_object
from mentis.errors import BadInput
from mentis.values.action import Outcome
from mentis.values.digest import Digest, digest
from mentis.values.part import (
    MediaPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from mentis.values.recalled import Stimulus
from mentis.values.reply import Reply
from mentis.values.trust import Trust
from mentis.values.turn import GUEST, Turn, TurnState
from mentis.values.turn_writes import TurnWrites

from .late_outcomes import outcome_text, waiting_text

BROKEN = ("interrupted", "cut_off", "error")
_PLAIN = Turn("user", ())


def asked_text(stimulus: Stimulus) -> str:
    """The words with what they answer before them, as the model is shown them."""
    quoted = stimulus.reply_to.quote() if stimulus.reply_to is not None else ""
    return "\n\n".join(part for part in (quoted, stimulus.text) if part)


def question_turn(stimulus: Stimulus, state: TurnState) -> Turn:
    """Attachments first, as in the message that was sent; who is quoted vouches for nothing.

    A guest's words are kept with the name, so that nobody takes them for the owner's.
    """
    parts = (*stimulus.attachments, TextPart(asked_text(stimulus)))
    lineage = stimulus.trust if stimulus.reply_to is None else Trust.UNTRUSTED
    author = (stimulus.author or GUEST) if stimulus.from_guest else ""
    return Turn("user", parts, lineage, state, replaces=stimulus.replaces, author=author)


def answer_turns(
    reply: Reply,
    outcomes: Sequence[Outcome],
    *,
    at_once: bool,
    lineage: Trust = Trust.SELF,
) -> tuple[Turn, ...]:
    """The answer, and the results of its calls after it; nothing, if nothing was said or called.

    A call that was never judged is left out: nobody could say what came of it; one that is deferred
    to the caller has no result yet. `at_once`: one
    call of the model made it all, so that its thoughts and their signatures still fit together.
    `lineage`: the least trusted of what the answer was made from.
    """
    came = {outcome.action.call_id: outcome for outcome in outcomes if outcome.action.call_id}
    whole = reply.stop not in BROKEN
    calls = _calls(reply.parts, came)
    parts = _in_order(reply, calls) if whole and at_once else ()
    if "".join(part.text for part in parts if isinstance(part, TextPart)) != reply.text:
        parts = ()  # the text as a whole is what the record binds
    spoken = (TextPart(reply.text),) if reply.text else ()
    if not spoken and not calls:
        return ()
    said = Turn(
        "assistant",
        parts or (*spoken, *calls.values()),
        lineage,
        "complete" if whole else "interrupted",
    )
    results = [came[call_id] for call_id in calls if came[call_id].state != "deferred"]
    return (said, result_turn(results)) if results else (said,)


def turn_digest(turn: Turn) -> Digest:
    """Of the whole turn: its texts are not all that matters."""
    return digest(turn_form(turn))


def turn_form(turn: Turn) -> bytes:
    """The turn as it is bound. Bytes are in it by their own digest.

    What most turns do not say is left out, as it was before any could.
    """
    data = [part.data if isinstance(part, MediaPart) else None for part in turn.parts]
    told = to_object(replace(turn, parts=tuple(map(_bare, turn.parts))))
    for part, content in zip(cast("list[dict[str, object]]", told["parts"]), data, strict=True):
        if content is not None:
            part["data"] = digest(content)
    for name in ("kind", "replaces", "until"):
        if told[name] == getattr(_PLAIN, name):
            del told[name]
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()


def writable(writes: TurnWrites) -> TurnWrites:
    """Without what follows the message, where that has no JSON form."""
    try:
        for turn in writes.turns:
            to_json(turn)
    except BadInput:
        return replace(writes, turns=())
    return writes


def is_emptied(turn: Turn) -> bool:
    """No other turn is without parts."""
    return not turn.parts


def acts(turn: Turn) -> bool:
    return any(isinstance(part, ToolCallPart | ToolResultPart) for part in turn.parts)


def _bare(part: Part) -> Part:
    return replace(part, data=None) if isinstance(part, MediaPart) else part


def _calls(parts: Iterable[Part], came: Mapping[str, Outcome]) -> dict[str, ToolCallPart]:
    calls = [part for part in parts if isinstance(part, ToolCallPart) and part.id in came]
    return {call.id: call for call in calls}


def _in_order(reply: Reply, calls: Mapping[str, ToolCallPart]) -> tuple[Part, ...]:
    """Thoughts only where they are signed: others are taken back by nobody."""
    kept: list[Part] = []
    for part in reply.parts:
        match part:
            case TextPart() if part.text or part.state:
                kept.append(part)
            case ReasoningPart() if part.state:
                kept.append(part)
            case ToolCallPart() if calls.get(part.id) is part:
                kept.append(part)
            case _:
                pass
    return tuple(kept)


def result_turn(outcomes: Sequence[Outcome]) -> Turn:
    """What came of calls, as the model is told it. Each has its pictures and documents after it,
    kept as those of a message are.
    """
    parts = [part for outcome in outcomes for part in (_result(outcome), *outcome.media)]
    return Turn("user", tuple(parts), Trust.UNTRUSTED)


def _result(outcome: Outcome) -> ToolResultPart:
    return ToolResultPart(
        outcome.action.call_id,
        outcome.action.type,
        _told(outcome),
        failed=outcome.state not in ("done", "waiting"),
        trust=outcome.trust,
        verdict="" if outcome.screening is None else outcome.screening.outcome,
        media=len(outcome.media),
    )


def _told(outcome: Outcome) -> str:
    """What came of it. That it waits has to be said: why it does is not the same."""
    if outcome.state == "waiting":
        return waiting_text(outcome.reason, outcome.key)
    return outcome_text(outcome.state, outcome.reason, outcome.text)
