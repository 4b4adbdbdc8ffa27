"""Looks at a turn of a conversation once it is over: notes on it, and what is due next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from mentis.compose.history import LEFT_BEHIND
from mentis.settings.settings import Settings
from mentis.settings.sources import LiveSettings
from mentis.turn.turn import TurnResult
from mentis.values.entry import Entry
from mentis.values.trace import Degradation

from .idle_plan import Mode


def afterthought_mode(settings: Settings) -> Mode:
    """How often the agent thinks again by itself; the switch comes before the mode."""
    return settings.model.afterthought.mode if settings.model.features.afterthoughts else "off"


def summary_due(result: TurnResult, settings: LiveSettings) -> bool:
    """Whether turns had to be left out, and the owner wants them summed up. It may block."""
    cuts = result.composed.trace.cuts
    if not any(cut.what.startswith("turn ") and cut.reason == LEFT_BEHIND for cut in cuts):
        return False
    return settings.current()[0].model.conversations.summary == "auto"


def with_left_behind(result: TurnResult, left: Sequence[Entry]) -> TurnResult:
    """Say which messages another process had left unanswered."""
    for entry in left:
        turn = cast("dict[str, object]", entry.body["turn"])
        said = f"turn {turn['number']} was begun and never answered; entry {entry.index} says so"
        result = with_note(result, Degradation("conversation", said))
    return result


def with_note(result: TurnResult, note: Degradation) -> TurnResult:
    trace = result.composed.trace
    trace = replace(trace, degraded=(*trace.degraded, note))
    return replace(result, composed=replace(result.composed, trace=trace))
