"""How often each stage failed in a row: a helper whose failures look like empty answers is noticed.

The count is read out of the record of the ticks, and of what is kept of those that left no entry
(`failing.py`), so that it outlives a process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast, get_args

from mentis.values.entry import Entry
from mentis.values.tick import Stage, StageReport
from mentis.values.value import Value

FAILED = ("fallback", "failed", "timeout")
KNOWN: tuple[Stage, ...] = get_args(Stage)


@dataclass(frozen=True, slots=True)
class Alarm(Value):
    """A stage that failed so many times in a row."""

    stage: Stage
    failures: int
    reason: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Streaks(Value):
    """Failures in a row by stage; a stage that had nothing to do stays where it was. `hint` is what
    the owner can do about the primary, where that is known.
    """

    counts: Mapping[Stage, int]
    reasons: Mapping[Stage, str]
    hint: str = ""

    def after(self, stages: Iterable[StageReport]) -> Streaks:
        counts, reasons, hint = dict(self.counts), dict(self.reasons), self.hint
        for one in stages:
            if one.state in FAILED:
                counts[one.stage] = counts.get(one.stage, 0) + 1
                reasons[one.stage] = one.reason
            elif one.state != "skipped":
                counts.pop(one.stage, None)
                reasons.pop(one.stage, None)
                hint = "" if one.stage == "primary" else hint
        return Streaks(counts, reasons, hint)

    def plus(self, others: Streaks) -> Streaks:
        """Those of both: each tick is counted in one of them."""
        counts = Counter(self.counts) + Counter(others.counts)
        return Streaks(counts, {**self.reasons, **others.reasons}, others.hint or self.hint)

    def alarms(self, limit: int) -> tuple[Alarm, ...]:
        return tuple(
            Alarm(
                stage,
                self.counts[stage],
                self.reasons.get(stage, ""),
                self.hint if stage == "primary" else "",
            )
            for stage in KNOWN
            if self.counts.get(stage, 0) >= limit
        )


NO_STREAKS = Streaks({}, {})


def streaks_in(entries: Iterable[Entry]) -> Streaks:
    """Of the ticks among these entries, which come oldest first."""
    streaks = NO_STREAKS
    for entry in entries:
        streaks = streaks.after(_stages(entry))
    return streaks


def stage_fields(stages: Iterable[StageReport]) -> dict[str, object]:
    """How the entry of a tick says it: the state of each stage, and why one failed."""
    states, reasons = dict[str, object](), dict[str, object]()
    for one in stages:
        states[one.stage] = one.state
        if one.state in FAILED:
            reasons[one.stage] = sayable(one.reason)
    return {"stages": states, **({"failed": reasons} if reasons else {})}


def sayable(reason: str) -> str:
    """A provider may have said half a character, which no record can hold."""
    return reason[:200].encode(errors="backslashreplace").decode()


def _stages(entry: Entry) -> Iterable[StageReport]:
    told = entry.body.get("tick") if entry.kind == "turn" else None
    if not isinstance(told, Mapping):
        return
    body = cast("Mapping[str, object]", told)
    states = cast("Mapping[str, str]", _mapping(body.get("stages")))
    reasons = _mapping(body.get("failed"))
    for stage in KNOWN:
        state = states.get(stage)
        if state in FAILED:
            yield StageReport(stage, "failed", str(reasons.get(stage, "")))
        elif state is not None:
            yield StageReport(stage, "skipped" if state == "skipped" else "model")


def _mapping(found: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}
