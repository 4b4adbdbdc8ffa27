"""Failures of stages that no entry tells of: a tick that cost nothing and changed nothing has none.

A primary that cannot be reached, refuses, or has no prompt would fail for ever without a sign. Only
who ticks writes the file; `mentis status health` reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import cast

from mentis.errors import BadInput
from mentis.home.counts_file import CountsFile
from mentis.stores.files.home import Home
from mentis.values.cognition import CognitionState
from mentis.values.entry import Entry
from mentis.values.json import JsonObject
from mentis.values.tick import Stage, StageReport, TickReport

from .blame import why_unheard
from .health import FAILED, KNOWN, NO_STREAKS, Streaks, sayable
from .think import UNHEARD

_LOST = "it is written anew; failures of ticks that left no entry are counted from nothing"
_HINT = "hint"  # no stage is called so


class StageFailures:
    """Of one persona. Its methods block."""

    def __init__(self, home: Home, persona: str) -> None:
        self._file = CountsFile(home.owners / "run" / f"{persona}.failing.json", _LOST)

    def streaks(self) -> Streaks:
        """Of ticks without an entry; BadInput where the file is none of ours."""
        return _read(self._file.read())

    def after(self, stages: Iterable[StageReport], *, recorded: bool, hint: str = "") -> Streaks:
        """Once a tick is over. What is recorded counts there; a stage that worked ends both."""
        told = [one for one in stages if not (recorded and one.state in FAILED)]
        try:
            known = self.streaks()
        except BadInput:
            self._file.keep(_written(NO_STREAKS.after(told)))  # as it says; it is told once
            raise
        streaks = known.after(told)
        if hint:
            streaks = replace(streaks, hint=hint)
        self._file.keep(_written(streaks))
        return streaks


def hint_for(report: TickReport, state: CognitionState, ticks: Iterable[Entry]) -> str:
    """What to do about a primary that refuses what is said though nothing was to be sensed: then
    it is what is always told. Its mind is suspected as far as it changed since it was heard.
    """
    if report.noop not in UNHEARD or why_unheard(report)[1] != "told":
        return ""
    heard, now = _heard_at(ticks), state.revision
    if heard is None or heard == now:
        return (
            "it refuses a tick that senses nothing, too: look at its route, its prompts and what it"
            " holds in mind (mentis state show)"
        )
    return (
        "it refuses a tick that senses nothing, too; what came to its mind since one was heard may"
        f" be why: mentis state diff {heard} {now} shows it, mentis state undo --to {heard} takes"
        " it back"
    )


def _heard_at(ticks: Iterable[Entry]) -> int | None:
    """The revision of its mind that a primary was last told and answered to."""
    found: int | None = None
    for entry in ticks:
        tick = _facts(entry.body.get("tick"))
        before = tick.get("before")
        if isinstance(before, int) and not tick.get("unheard"):
            found = before
    return found


def _read(kept: Mapping[str, object]) -> Streaks:
    counts, reasons = dict[Stage, int](), dict[Stage, str]()
    for stage in KNOWN:
        facts = _facts(kept.get(stage))
        failures = facts.get("failures")
        if isinstance(failures, int) and failures > 0:
            counts[stage], reasons[stage] = failures, str(facts.get("reason", ""))
    return Streaks(counts, reasons, str(_facts(kept.get(_HINT)).get("text", "")))


def _written(streaks: Streaks) -> dict[str, JsonObject]:
    told: dict[str, JsonObject] = {
        stage: {"failures": count, "reason": sayable(streaks.reasons.get(stage, ""))}
        for stage, count in streaks.counts.items()
    }
    return {**told, **({_HINT: {"text": streaks.hint}} if streaks.hint else {})}


def _facts(kept: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", kept) if isinstance(kept, Mapping) else {}
