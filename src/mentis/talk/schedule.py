"""The order of what waits: events before users before beats, and one beat at a time. Pure.

It knows no clock but the times it is told, and does nothing: whoever runs an agent asks it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from mentis.values.value import Value

Cause: TypeAlias = Literal["event", "user", "beat"]
RANKS: dict[Cause, int] = {"event": 0, "user": 1, "beat": 2}


@dataclass(frozen=True, slots=True)
class PendingWork(Value):
    """Something that waits for the agent, since then. `name` says to whoever put it there what."""

    cause: Cause
    since: float = 0.0
    name: str = ""


@dataclass(frozen=True, slots=True)
class BeatSchedule(Value):
    """When the next beat is due (None: never), and since when one is going on, if one is."""

    due: float | None = None
    pending: float | None = None

    def begin(self, now: float) -> BeatSchedule:
        return replace(self, pending=now)

    def end(self, now: float, interval: float) -> BeatSchedule:
        """A whole interval from now: beats that were missed are not made up for."""
        return BeatSchedule(None if self.due is None else now + interval)


@dataclass(frozen=True, slots=True)
class NextDue(Value):
    """What to do now; where that is nothing, `again` is when to ask again (None: once something
    comes)."""

    what: PendingWork | None = None
    again: float | None = None


def next_due(
    now: float,
    waiting: Iterable[PendingWork] = (),
    pulse: BeatSchedule | None = None,
    *,
    longest: float = 300,
) -> NextDue:
    """The first of what waits; a beat only where nothing else does, it is due, and none is pending
    (one that has been for `longest` seconds is given up on).
    """
    first = min(waiting, key=lambda one: (RANKS[one.cause], one.since), default=None)
    if first is not None and first.cause != "beat":
        return NextDue(first)
    due, pending = (pulse.due, pulse.pending) if pulse is not None else (None, None)
    wanted = first or (None if due is None else PendingWork("beat", due))
    if wanted is None:
        return NextDue()
    begins = wanted.since if pending is None else max(wanted.since, pending + longest)
    return NextDue(wanted) if begins <= now else NextDue(again=begins)
