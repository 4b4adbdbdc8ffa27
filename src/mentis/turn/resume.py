"""A turn that goes on: what it waited for has come, from a person or from the caller.

It is a turn of its own, which names the message of the first. The model is told the same thread up
to the last results, with what came of them by now; what it said while it waited stays in the
conversation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from mentis.errors import BadInput, UsageError
from mentis.record.agent_record import AgentRecord
from mentis.record.inputs import ConversationHistory
from mentis.record.late_outcomes import waiting_keys, with_late_outcomes
from mentis.record.stored_turns import acts, result_turn
from mentis.record.threads import is_message, standing_numbers, told_numbers
from mentis.render.pairing import pair
from mentis.values.action import Action, Outcome
from mentis.values.part import ToolCallPart, ToolResultPart
from mentis.values.recalled import OPENING, Stimulus
from mentis.values.turn import Turn


def resumed_history(record: AgentRecord, session: str, number: int) -> ConversationHistory:
    """What was told before the message, and what followed it. It blocks."""
    turns = record.turns(session)
    before, thread = _split(turns, number)
    history = ConversationHistory(session, *turns_told_now(record, turns, before))
    told, numbers, amended = turns_told_now(record, turns, thread)
    return ConversationHistory(
        session,
        history.turns,
        history.numbers,
        history.amended,
        thread=told,
        thread_numbers=numbers,
        thread_amended=amended,
        waited=waiting_keys(turns[place] for place in numbers),
    )


def turns_told_now(
    record: AgentRecord, turns: Sequence[Turn] | Mapping[int, Turn], numbers: Sequence[int]
) -> tuple[tuple[Turn, ...], tuple[int, ...], tuple[int, ...]]:
    """The turns of these numbers, as the model is told them now, their numbers, and the places of
    those that say something else than is kept. It blocks.
    """
    kept = tuple([turns[number] for number in numbers])
    told = with_late_outcomes(kept, record.ledger, record.agent)
    if told == kept:  # far faster than one by one
        return kept, tuple(numbers), ()
    pairs = enumerate(zip(kept, told, strict=True))
    amended = tuple(place for place, (then, now) in pairs if now is not then)
    return told, tuple(numbers), amended


def resumed_keys(history: ConversationHistory) -> frozenset[str]:
    """The acts that the thread waited for, told in it by now."""
    return history.waited - waiting_keys(history.thread)


def waiting_message(record: AgentRecord, session: str, news: Collection[str]) -> int | None:
    """The number of the message whose turn is the last thing in a session and waited for one of
    these acts, of which nobody was told yet; None where nobody waits, or somebody wrote since. It
    blocks.
    """
    number = _last_message(record.turns(session))
    if number is None:
        return None
    if open_calls(record.turns(session), number):
        return None  # the caller brings results first
    over = resumed_keys(resumed_history(record, session, number))
    return number if over.intersection(news) else None


def open_calls(turns: Sequence[Turn], number: int) -> dict[str, ToolCallPart]:
    """The calls that followed a message and have no result, by their ids."""
    _, numbers = _split(turns, number)
    thread = [turns[place] for place in numbers]
    answered = pair(thread).answers  # an id may have been used before
    parts = {(n, p): part for n, turn in enumerate(thread) for p, part in enumerate(turn.parts)}
    calls = {place: part for place, part in parts.items() if isinstance(part, ToolCallPart)}
    return {call.id: call for place, call in calls.items() if place not in answered}


def deferred_message(
    record: AgentRecord, session: str, results: Mapping[str, str] | Sequence[ToolResultPart]
) -> tuple[int, tuple[Outcome, ...]]:
    """The number of the message whose calls these results answer, and the results in the order of
    the calls; UsageError where one answers no call, or a call has no result. It blocks.
    """
    turns = record.turns(session)
    number = _last_message(turns)
    calls = {} if number is None else open_calls(turns, number)
    if number is not None and not calls and _was_brought(turns, number, results):
        return number, ()  # nobody answered them: they are told once more
    if number is None or not calls:
        raise UsageError(
            f"in session {session!r} no call waits for a result",
            hint="results are given once, for the calls in `result.calls` of the last turn",
        )
    given = _parts(results, calls)
    if sorted(part.call_id for part in given) != sorted(calls):
        raise UsageError(
            f"the calls {', '.join(sorted(calls))} wait for a result each, and there are results"
            f" for {', '.join(part.call_id for part in given)}",
            hint="give one result for each of `result.calls`",
        )
    named = {part.call_id: part for part in given}
    return number, tuple(_outcome(named[call_id], call) for call_id, call in calls.items())


def _was_brought(
    turns: Sequence[Turn], number: int, results: Mapping[str, str] | Sequence[ToolResultPart]
) -> bool:
    """Whether these are the last thing in the conversation, and nothing was said to them."""
    last = turns[-1].parts if turns and len(turns) - 1 > number else ()
    there = {part.call_id: part.text for part in last if isinstance(part, ToolResultPart)}
    given = {part.call_id for part in _parts(results, {})}
    return bool(there) and given == set(there)


def _outcome(part: ToolResultPart, call: ToolCallPart) -> Outcome:
    try:
        part.text.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"the result of call {call.id!r} holds half a surrogate pair",
            hint="decode the text properly where it comes in",
        ) from error
    action = Action(call.name, call.arguments, call_id=call.id)
    return Outcome(action, "crashed" if part.failed else "done", text=part.text, source="caller")


def _parts(
    results: Mapping[str, str] | Sequence[ToolResultPart], calls: Mapping[str, ToolCallPart]
) -> list[ToolResultPart]:
    if not isinstance(results, Mapping):
        return [*results]
    names = {call_id: call.name for call_id, call in calls.items()}
    return [ToolResultPart(one, names.get(one, ""), text) for one, text in results.items()]


def result_turns(stimulus: Stimulus) -> tuple[Turn, ...]:
    """What the caller brings, as the conversation keeps it."""
    return (result_turn(stimulus.results),) if stimulus.results else ()


def _last_message(turns: Sequence[Turn]) -> int | None:
    """Its number, or OPENING where nobody but the agent has said anything."""
    numbers = [n for n in told_numbers(turns) if is_message(turns[n])]
    if not numbers and not any(is_message(turns[n]) for n in standing_numbers(turns)):
        return OPENING if turns else None
    return numbers[-1] if numbers and turns[numbers[-1]].state == "complete" else None


def _split(turns: Sequence[Turn], number: int) -> tuple[list[int], list[int]]:
    """Those before a message, and its thread up to the last calls or results."""
    told = told_numbers(turns)
    before = [n for n in told if n < number]
    after = [n for n in told if n > number and turns[n].kind == "said"]
    last = max((place for place, n in enumerate(after) if acts(turns[n])), default=-1)
    return before, after[: last + 1]
