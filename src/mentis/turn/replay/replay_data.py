"""Replays and forks as JSON: the same for every surface."""

from __future__ import annotations

from mentis.ask.caching import span_name
from mentis.ask.prices import output_rate
from mentis.codec.forms import to_object
from mentis.turn.turn import TurnResult
from mentis.turn.turn_data import composition_data

from .fork import ForkPreview
from .replay import Replay
from .what_if import EditTrial, TrialEffect


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
        "most": most_for_answer(shown),
        "answer": None if result is None else _answer(result),
    }


def trial_data(trial: EditTrial) -> dict[str, object]:
    return {"entry": trial.entry, "effects": [_effect_data(one) for one in trial.effects]}


def _effect_data(one: TrialEffect) -> dict[str, object]:
    broken, kept = one.forecast.broken, one.kept
    return {
        "persona": one.persona,
        "route": one.route,
        "model": one.model,
        "wording": one.wording,
        "changed": one.changed,
        "reason": one.reason,
        "tokens": [one.was.total.tokens, one.now.total.tokens],
        "exact": one.was.total.exact and one.now.total.exact,
        "usd": [one.was.cost.usd, one.now.cost.usd],
        "rate": one.forecast.rate,
        "bytes": [kept.bytes, kept.of_bytes],
        "kept": [kept.tokens.tokens, kept.planned.tokens],
        "cached": kept.cached,
        "pointer": "" if broken is None else broken.pointer,
        "where": "" if broken is None else span_name(broken.span),
        "again": 0 if broken is None else broken.tokens.tokens,
        "again_usd": 0.0 if broken is None else broken.cost.usd,
        "differences": [to_object(each) for each in one.differences],
        "prompt": one.prompt,
        "shared": one.shared,
    }


def most_for_answer(shown: ForkPreview) -> dict[str, object]:
    """The most that an answer may come to: as many tokens as its route lets it write."""
    route = shown.before.route
    rate = output_rate(route, route.max_tokens, prompt=shown.now.total.tokens)
    price = rate.price(route.max_tokens)
    return {"tokens": route.max_tokens, "usd": price.usd, "rate": rate.told}


def _answer(result: TurnResult) -> dict[str, object]:
    return {
        "text": result.reply.text,
        "stop": result.reply.stop,
        "session": result.session,
        "not_done": [to_object(action) for action in result.reply.actions],
        "entry": {"index": result.entry.index, "hash": result.entry.hash},
    }
