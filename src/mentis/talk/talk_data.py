"""Turns, thoughts and deliveries as JSON: the same for every surface."""

from __future__ import annotations

from collections.abc import Sequence

from mentis.codec.forms import to_object
from mentis.record.threads import standing_numbers
from mentis.turn.turn import TurnResult
from mentis.turn.turn_data import step_data
from mentis.values.action import Outcome
from mentis.values.session import TurnPage
from mentis.values.turn import Turn

from .afterthought import Afterthought
from .beat import Beat
from .live import LiveSession, LiveUpdate
from .summaries import SessionSummary, SessionTitle


def turns_data(turns: Sequence[Turn]) -> list[dict[str, object]]:
    """Every turn of a session with its number, and whether it still counts."""
    counts = set(standing_numbers(turns))
    return [{"number": n, "counts": n in counts, **to_object(t)} for n, t in enumerate(turns)]


def page_data(page: TurnPage) -> list[dict[str, object]]:
    """The same of a stretch of a session."""
    return [{"number": n, "counts": n in page.standing, **to_object(t)} for n, t in page.turns]


def title_data(made: SessionTitle) -> dict[str, object]:
    return {"title": made.title, "entry": made.entry.index, "fallback": made.fallback}


def summary_data(made: SessionSummary) -> dict[str, object]:
    return {
        "text": made.text,
        "until": made.until,
        "lineage": made.lineage.value,
        "left_out": made.left_out,
        "entry": made.entry.index,
    }


def afterthought_data(found: Afterthought) -> dict[str, object]:
    followup = found.followup
    return {
        "session": found.session,
        "decision": found.decision,
        "thought": found.thought,
        "text": followup.reply.text if followup else None,
        "entries": [found.entry.index, *([followup.entry.index] if followup else [])],
    }


def delivery_data(outcome: Outcome, result: TurnResult) -> dict[str, object]:
    """What came of an act, as somebody was told it."""
    sent = [f"{one.action.type} {one.state}" for one in result.outcomes]
    told = {"key": outcome.key, "session": result.session, "text": result.reply.text}
    return {**told, "messages": sent, "entry": result.entry.index}


def beat_data(found: Beat) -> dict[str, object]:
    return {
        "kind": found.kind,
        "text": found.result.reply.text,
        "stop": found.result.reply.stop,
        "stop_reason": found.result.stop,
        "steps": [step_data(step) for step in found.result.steps],
        "outcomes": [to_object(one) for one in found.result.outcomes],
        "entry": found.result.entry.index,
    }


def live_data(opened: LiveSession) -> dict[str, object]:
    payload = opened.opening.rendering.payload
    return {
        "instructions": opened.instructions,
        "tools": payload.get("tools", []),
        "entry": opened.entry.index,
    }


def live_update_data(told: LiveUpdate) -> dict[str, object]:
    return {
        "text": told.text,
        "changed": list(told.changes.changed),
        "gone": list(told.changes.gone),
        "entry": None if told.entry is None else told.entry.index,
    }
