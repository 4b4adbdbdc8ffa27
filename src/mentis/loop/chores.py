"""Chores of an agent between two ticks, in this order: people who wait for what an act brought, a
talk that has been silent for a while, its own memory files, and then a beat.

Each is one small function. What fails is told and tried again later; none of it ends the loop, but
a budget does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from anyio import Event, to_thread
from anyio.abc import TaskStatus

from mentis.errors import BudgetReached, MentisError, StoreLocked
from mentis.ports.clock import Clock
from mentis.talk.afterthought import Afterthought
from mentis.talk.beat import Beat
from mentis.talk.persona_update import Upkeep
from mentis.talk.schedule import BeatSchedule, next_due
from mentis.talk.silence import DueAfterthought
from mentis.tick.cortex import Backlog
from mentis.tick.events import EventName
from mentis.turn.turn import TurnResult
from mentis.values.action import Outcome
from mentis.values.persona_update import PersonaUpdate
from mentis.values.value import Value

from .report import RunReport


class ChoreAgent(Protocol):
    """What does them: an `Agent`."""

    @property
    def clock(self) -> Clock: ...

    async def deliverable_outcomes(self) -> tuple[Outcome, ...]: ...

    async def deliver(self, outcome: Outcome) -> TurnResult: ...

    def due_afterthought(self) -> DueAfterthought | None: ...

    async def run_afterthought(
        self, due: DueAfterthought, *, poll: float
    ) -> Afterthought | None: ...

    def updates_due(self, since: int) -> tuple[tuple[str, ...], int]: ...

    def upkeep(self, on_update: Callable[[PersonaUpdate | MentisError], None]) -> Upkeep: ...

    def beat_schedule(self) -> BeatSchedule: ...

    async def beat(self) -> Beat: ...


class TellEvent(Protocol):
    def __call__(self, event: EventName, **facts: object) -> None: ...


@dataclass(frozen=True, slots=True)
class ChorePlan(Value):
    """Which of them are wanted; `poll` and `retry` in seconds, as in the settings."""

    deliver: bool = True
    afterthoughts: bool = True
    updates: bool = True
    poll: float = 1.0
    retry: float = 300.0


class Chores:
    def __init__(
        self, doer: ChoreAgent, plan: ChorePlan, report: RunReport, tell: TellEvent
    ) -> None:
        self._doer, self._plan, self._report, self._tell = doer, plan, report, tell
        self._not_before: dict[str, float] = {}  # on the clock that only goes on
        self._began: datetime = doer.clock.now()
        self._upkeep: Upkeep | None = None
        self._kept = Event()
        self._looked = 0  # entries
        self._anew = False  # an update came to nothing: all of them are looked at
        self._waits: dict[str, object] | None = None  # the delivery that was put off last

    async def serve(self, *, task_status: TaskStatus[None]) -> None:
        """The updates, in the background."""
        self._began = self._doer.clock.now()
        self._upkeep = self._doer.upkeep(self._updated) if self._plan.updates else None
        task_status.started()
        if self._upkeep is not None:
            await self._upkeep.run()
        self._kept.set()

    async def end(self) -> None:
        """An update that has begun comes to its end."""
        if self._upkeep is not None:
            self._upkeep.finish()
        await self._kept.wait()

    def rouse(self, waiting: Backlog) -> bool:
        """Whether there is something to deliver now."""
        return self._plan.deliver and bool(waiting.owed) and self._may("delivery")

    async def run(self, waiting: Backlog, *, still: bool) -> None:
        """All that is due; a beat only where nothing else was, also no tick (`still`)."""
        busy = await self._deliver(waiting)
        busy = await self._think_again() or busy
        await self._keep_up()
        if still and not busy and not self._report.stopped:
            await self._beat()

    async def _deliver(self, waiting: Backlog) -> bool:
        if not self.rouse(waiting):
            return False
        facts: dict[str, object] = {}
        try:
            for outcome in await self._doer.deliverable_outcomes():
                if self._report.stopped:
                    break
                facts = {"key": outcome.key, "act": outcome.action.type}
                made = await self._doer.deliver(outcome)
                self._report.deliveries += 1
                self._tell("delivery_made", session=made.session, entry=made.entry.index, **facts)
        except StoreLocked as error:
            self._put_off(error, facts)
        except MentisError as error:
            self._failed("delivery", "delivery_failed", error, **facts)
        return True

    def _put_off(self, error: StoreLocked, facts: dict[str, object]) -> None:
        """Somebody is being answered there, or told of it: no failure, and soon over. Told once."""
        self._not_before["delivery"] = self._doer.clock.monotonic() + self._plan.poll
        if self._waits != facts:
            self._tell("delivery_put_off", code=error.code, reason=error.message, **facts)
        self._waits = facts

    async def _think_again(self) -> bool:
        """One that was due before the loop began is not made up for."""
        if not self._plan.afterthoughts or self._report.stopped or not self._may("afterthought"):
            return False
        silence = None
        try:
            silence = await to_thread.run_sync(self._doer.due_afterthought)
            now = self._doer.clock.now()
            self._began = min(self._began, now)  # it began with a clock that was ahead
            if silence is None or not self._began <= silence.due <= now:
                return False
            made = await self._doer.run_afterthought(silence, poll=self._plan.poll)
        except MentisError as error:
            where = {"session": silence.session} if silence is not None else {}
            self._failed("afterthought", "afterthought_failed", error, **where)
            return True
        if made is not None:
            self._thought(made)
        return True

    def _thought(self, made: Afterthought) -> None:
        self._report.afterthoughts += 1
        entry = made.followup.entry if made.followup is not None else made.entry
        wrote = made.followup is not None and made.followup.reply.stop != "interrupted"
        self._tell("afterthought_made", session=made.session, wrote=wrote, entry=entry.index)

    async def _keep_up(self) -> None:
        """Only what has changed since is looked at, unless one has failed."""
        if self._upkeep is None or self._report.stopped or not self._may("update"):
            return
        self._upkeep.again()
        since, self._anew = 0 if self._anew else self._looked, False
        try:
            due, self._looked = await to_thread.run_sync(self._doer.updates_due, since)
        except MentisError as error:
            self._anew = not since
            self._failed("update", "memory_update_failed", error)
            return
        for session in due:
            self._upkeep.note_message(session)

    def _updated(self, made: PersonaUpdate | MentisError) -> None:
        if isinstance(made, MentisError):
            self._not_updated(code=made.code, reason=made.message)
            return
        facts: dict[str, object] = {"session": made.session, "entry": made.entry}
        if not made.success:
            self._not_updated(code=made.failure, reason=made.message, **facts)
            return
        self._report.updates += 1
        self._tell("memory_updated", written=[one.name for one in made.written], **facts)

    def _not_updated(self, **facts: object) -> None:
        self._not_before["update"] = self._doer.clock.monotonic() + self._plan.retry
        self._anew = True
        self._tell("memory_update_failed", **facts)

    async def _beat(self) -> None:
        if not self._may("beat"):
            return
        try:
            pulse = await to_thread.run_sync(self._doer.beat_schedule)
            now = self._doer.clock.monotonic()  # after it: what is due at once is due by now
            if next_due(now, pulse=pulse).what is None:
                return
            made = await self._doer.beat()
        except MentisError as error:
            self._failed("beat", "beat_failed", error)
            return
        self._report.beats += 1
        self._tell("beat_made", kind=made.kind, entry=made.result.entry.index)

    def _may(self, what: str) -> bool:
        return self._doer.clock.monotonic() >= self._not_before.get(what, 0.0)

    def _failed(self, what: str, event: EventName, error: MentisError, **facts: object) -> None:
        self._not_before[what] = self._doer.clock.monotonic() + self._plan.retry
        self._tell(event, code=error.code, reason=error.message, **facts)
        if isinstance(error, BudgetReached):
            self._report.stopped, self._report.told = "budget", error.message
