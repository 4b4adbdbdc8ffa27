"""Replays and forks as JSON: the same for every surface."""

from __future__ import annotations

from mentis.codec.forms import to_object
from mentis.turn.turn import TurnResult
from mentis.turn.turn_data import composition_data

from .fork import ForkPreview
from .replay import Replay


def replay_data(replayed: Replay, *, explain: bool = False) -> dict[str, object]:
    data: dict[str, object] = {
        "entry": replayed.index,
        "step": replayed.step,
        "session": replayed.session,
        "route": replayed.route.name,
        "model": replayed.route.model,
        "identical": replayed.identical,
        "request": replayed.request,
        "payload": replayed.payload,
        "digest": replayed.rendering.digest,
        "bytes": len(replayed.rendering.body()),
        "apart": to_object(replayed.apart) if replayed.apart else None,
        "notes": list(replayed.notes),
    }
    if explain:
        trace = replayed.composed.trace
        data["blocks"] = [to_object(block) for block in trace.blocks]
        data["explained"] = composition_data(replayed.composed)
    return data


def fork_data(shown: ForkPreview, result: TurnResult | None) -> dict[str, object]:
    return {
        "before": replay_data(shown.before),
        "blocks": dict(shown.blocks),
        "differences": [to_object(one) for one in shown.differences],
        "was": to_object(shown.was),
        "now": to_object(shown.now),
        "forecast": to_object(shown.forecast),
        "notes": list(shown.notes),
        "digest": shown.rendering.digest,
        "answer": None if result is None else _answer(result),
    }


def _answer(result: TurnResult) -> dict[str, object]:
    return {
        "text": result.reply.text,
        "stop": result.reply.stop,
        "session": result.session,
        "not_done": [to_object(action) for action in result.reply.actions],
        "entry": {"index": result.entry.index, "hash": result.entry.hash},
    }
