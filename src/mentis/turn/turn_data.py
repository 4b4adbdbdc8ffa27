"""A turn that is over as JSON: the same for every surface."""

from __future__ import annotations

from typing import cast

from mentis.codec.forms import to_object
from mentis.compose.compose import Composition

from .steps import TurnStep
from .turn import TurnResult, TypedResult


def turn_data(result: TurnResult) -> dict[str, object]:
    """A turn for programs. `stop` is that of the last answer, `stop_reason` that of the turn."""
    reply, parsed = result.reply, parsed_output(result)
    return {
        "text": reply.text,
        **({} if parsed is None else {"output": parsed[0] if parsed else None}),
        "stop": reply.stop,
        "stop_reason": result.stop,
        "session": result.session,
        "usage": to_object(reply.usage) if reply.usage else None,
        "caching": [to_object(cached) for cached in result.caching],
        "model_calls": len(result.model_calls),
        "repeats": result.repeats,
        "losses": [to_object(loss) for loss in result.rendering.losses],
        "attempts": [to_object(attempt) for attempt in result.composed.trace.attempts],
        "notes": [to_object(note) for note in reply.notes],
        "passed_over": [to_object(passed) for passed in result.passed_over],
        "errors": [to_object(problem) for problem in reply.errors],
        "steps": [step_data(step) for step in result.steps],
        "outcomes": [to_object(outcome) for outcome in result.outcomes],
        "pending": [to_object(outcome) for outcome in result.pending],
        "calls": [to_object(action) for action in result.calls],
        "window": result.entry.body.get("window"),
        "claims": result.entry.body.get("claims"),
        "entry": {"index": result.entry.index, "hash": result.entry.hash},
    }


def step_data(step: TurnStep) -> dict[str, object]:
    """One answer, what it asked for and what came of that."""
    return {
        "text": step.reply.text,
        "stop": step.reply.stop,
        "calls": [to_object(action) for action in step.reply.actions],
        "outcomes": [to_object(outcome) for outcome in step.outcomes],
    }


def parsed_output(result: TurnResult) -> tuple[object, ...] | None:
    """The value of a typed answer, if it is there; None of a turn that has none."""
    return cast("TypedResult[object]", result).parsed if isinstance(result, TypedResult) else None


def composition_data(composed: Composition) -> dict[str, object]:
    """Decisions behind a prompt: what stays in it, what is told at its end, and why."""
    trace = composed.trace
    return {
        "placements": [to_object(one) for one in trace.placements],
        "candidates": [to_object(one) for one in composed.candidates],
        "embedding_calls": trace.embedding_calls,
        "filtered": trace.filtered,
        "degraded": [to_object(one) for one in trace.degraded],
    }
