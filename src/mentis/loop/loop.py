"""The loop: when an agent ticks, with which senses, and when it stops.

A sense is let go only after the tick that took it is recorded. Whatever ends the loop, a kill too,
leaves what was not taken where it is; what was taken and not let go yet is known by its delivery.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from math import floor
from typing import Protocol, runtime_checkable

from anyio import CancelScope, create_task_group, current_time, to_thread
from anyio.abc import TaskGroup, TaskStatus

from mentis.act.builtin.rest import asked_rest
from mentis.errors import BudgetReached, LeaseHeld, MentisError, StoreLocked
from mentis.ports.sense_source import SenseSource
from mentis.record.leases import entered
from mentis.record.tick_entries import MOST_TAKEN
from mentis.tick.blame import why_unheard
from mentis.tick.cortex import Backlog, TickResult
from mentis.tick.events import Emit, EventName, TickEvent, silent
from mentis.tick.think import UNHEARD
from mentis.values.cognition import Sense
from mentis.values.tick import HIBERNATE
from mentis.values.trust import Trust
from mentis.values.value import Value

from .aside import Aside, unsayable
from .chores import ChoreAgent, ChorePlan, Chores
from .folder import RefusedSense, SenseFolder
from .given import poses_as_ours, stops_unvouched
from .idle import IdleGate
from .pause import Pause, RealPause
from .queue import SenseQueue
from .report import RunReport
from .socket import SenseSocket
from .suspected import SuspectsFile
from .suspects import SenseTrial, Suspects
from .timers import Timers

_BUDGET = f"{BudgetReached.code}: "
_OWN = (SenseFolder, SenseSocket, Timers)


class LoopAgent(ChoreAgent, Protocol):
    """What the loop drives: an `Agent`."""

    async def backlog(self) -> Backlog: ...

    def taken_deliveries(self) -> tuple[str, ...]: ...

    def set_sense_aside(self, sense: Sense, *, failures: int, reason: str) -> Aside: ...

    async def tick_trusted(
        self,
        senses: Sequence[Sense],
        *,
        taken: Sequence[str],
        only: Collection[str] | None,
        emit: Emit,
    ) -> TickResult: ...


@runtime_checkable
class Serving(Protocol):
    """A source that has something to do beside being asked."""

    async def serve(self, *, task_status: TaskStatus[None]) -> None: ...


@dataclass(frozen=True, slots=True)
class LoopPlan(Value):
    """`interval`, `poll`, `retry` and `grace` in seconds, as in the settings; `ticks` is when it
    is over, 0 is never.
    """

    interval: float = 10.0
    ticks: int = 0
    senses: int = 32
    idle_gate: bool = True
    proactive: int = 60
    poll: float = 1.0
    retry: float = 300.0
    grace: float = 10.0
    tries: int = 3
    chores: ChorePlan = field(default_factory=ChorePlan)


class Loop:
    """`run` it once. `stop` lets the tick that is going on end, for as long as the plan has it;
    said again it ends at once. `alone` is held while it runs; `suspected` outlives it.
    """

    def __init__(
        self,
        thinker: LoopAgent,
        sources: Sequence[SenseSource] = (),
        plan: LoopPlan | None = None,
        *,
        emit: Emit = silent,
        pause: Pause | None = None,
        alone: AbstractContextManager[object] | None = None,
        suspected: SuspectsFile | None = None,
    ) -> None:
        self.plan = plan or LoopPlan()
        self.report = RunReport()
        self._thinker, self._sources, self._emit = thinker, tuple(sources), emit
        self._pause = pause or RealPause()
        self._alone = alone or nullcontext()
        self._gate = IdleGate(self.plan.idle_gate, self.plan.proactive)
        self._scope = CancelScope()
        self._asked = False  # to stop
        self._doing = ""  # what is lost if it ends now, in words
        self._known: dict[str, None] = {}  # what was taken lately
        self._start = self._due = 0.0
        self._asleep = self._woke = False
        self._failures = 0
        self._suspects, self._suspected = Suspects(self.plan.tries), suspected
        self._chores = Chores(thinker, self.plan.chores, self.report, self._tell)
        for source in self._sources:
            self._listen(source)

    def _listen(self, source: SenseSource) -> None:
        if isinstance(source, SenseFolder):
            source.refuse = self._refused
        elif isinstance(source, SenseQueue):
            source.ring = self._pause.ring
        elif isinstance(source, SenseSocket):
            source.queue.ring = self._pause.ring

    async def run(self) -> RunReport:
        failure: MentisError | None = None
        async with entered(self._alone), create_task_group() as beside:
            try:
                await self._serve(beside)
                await beside.start(self._chores.serve)
                await self._live()
            except MentisError as error:  # as it is, not as one of a group
                failure = error
            beside.cancel_scope.cancel()
        if failure is not None:
            raise failure
        self._tell("loop_stopped", reason=self.report.stopped, ticks=self.report.ticks)
        return self.report

    async def _serve(self, beside: TaskGroup) -> None:
        for source in self._sources:
            if isinstance(source, Serving):
                await beside.start(source.serve)

    def stop(self) -> None:
        if self._asked:
            self._scope.cancel()
            return
        self._asked = True
        self.report.stopped = self.report.stopped or "asked"
        self._scope.deadline = current_time() + self.plan.grace
        self._pause.ring()

    async def _live(self) -> None:
        self._remember(self._thinker.taken_deliveries())
        await self._recall_suspects()
        self._start = self._due = self._thinker.clock.monotonic()
        self._tell("loop_started", interval=self.plan.interval)
        with self._scope:
            while not self.report.stopped:
                await self._until_due()
                if not self.report.stopped:
                    await self._moment()
            self._doing = "an update of the memory files was cut short"
            await self._chores.end()
        if self._scope.cancelled_caught:
            self.report.told = "; ".join(filter(None, (self.report.told, self._doing)))

    async def _until_due(self) -> None:
        """Until the next tick; asleep also until something comes."""
        while not self.report.stopped:
            left = self._due - self._thinker.clock.monotonic()
            if left <= 0:
                self._woke, self._asleep = self._asleep, False
                return
            if self._asleep and await self._roused():
                self._asleep = False
                self._tell("loop_woke", seconds_left=left)
                return
            await self._pause.wait(min(left, self.plan.poll) if self._asleep else left)

    async def _roused(self) -> bool:
        try:
            if await self._take():
                return True
            waiting = await self._thinker.backlog()
        except (StoreLocked, LeaseHeld):  # it is looked again soon
            return False
        return bool(waiting.news) or self._chores.rouse(waiting)

    async def _moment(self) -> None:
        """One tick; while somebody else is at the store for long, later is soon enough."""
        report, rest = self.report, None
        try:
            rest = await self._once()
        except (StoreLocked, LeaseHeld) as error:
            self._failed(error.message)
        self._doing = ""
        if self.plan.ticks and report.ticks >= self.plan.ticks:
            report.stopped = report.stopped or "ticks"
        self._plan_next(rest)

    async def _once(self) -> float | None:
        """One tick, whether it comes to thinking or not; how long it wants to rest then, if so."""
        report = self.report
        senses = await self._take()
        if any(one.kind == HIBERNATE for one in senses):
            await self._done([one for one in senses if one.kind == HIBERNATE])
            report.stopped = "hibernate"
            return None
        report.ticks += 1
        waiting = await self._thinker.backlog()
        woke, self._woke = self._woke, False
        rest = None
        reason = self._gate.why(waiting, senses=len(senses), woke=woke)
        if reason:
            rest = await self._think(self._suspects.trial(senses, waiting.carried))
            await self._found_out({*waiting.carried, *(one.id for one in senses)})
            await self._keep_suspects()
        else:
            report.idle += 1
        if not report.stopped:
            self._doing = "what it saw to between ticks was cut short"
            await self._chores.run(waiting, still=not reason)
        return rest

    async def _think(self, trial: SenseTrial) -> float | None:
        """How long it wants to rest afterwards, if it does."""
        senses, only = trial.senses, trial.only
        ids = [one.id for one in senses]
        self._doing = "the last tick was cut short; its senses are still where they were"
        try:
            ticked = await self._thinker.tick_trusted(senses, taken=ids, only=only, emit=self._emit)
        except (StoreLocked, LeaseHeld) as error:  # somebody else is at it: later is soon enough
            self._failed(error.message)
            return None
        heard = ticked.tick.report.noop not in UNHEARD
        self.report.add(ticked, senses=len(senses) if heard else 0)
        if not heard:
            failed, blame = why_unheard(ticked.tick.report)
            self._failed(failed.reason)
            if blame == "nothing":
                self._suspects.note_other_failure()
            else:
                told, unsure = (*ticked.carried, *senses), blame == "perhaps"
                self._suspects.note_failure(told, failed.reason, unsure=unsure)
            return None
        self._failures = 0
        self._suspects.note_success([*ids, *(one.id for one in ticked.carried)])
        self._remember(ids)
        await self._done(senses)
        return asked_rest(ticked.outcomes)

    async def _found_out(self, present: Collection[str]) -> None:
        """Set aside what no tick could take so many times."""
        with suppress(StoreLocked, LeaseHeld):  # somebody ticks: the next moment is soon enough
            for sense, one in self._suspects.found_out(present):
                await self._set_aside(sense, failures=one.failures, reason=one.reason)

    async def _recall_suspects(self) -> None:
        """What an earlier loop knew; without it, all are tried as if they were new."""
        if self._suspected is not None:
            try:
                self._suspects.restore(await to_thread.run_sync(self._suspected.read))
            except MentisError as error:
                self._tell("stage_failed", stage="suspects", reason=error.message)

    async def _keep_suspects(self) -> None:
        """The loop goes on where that fails: only a restart would have to try them anew."""
        if self._suspected is not None:
            try:
                await to_thread.run_sync(self._suspected.keep, self._suspects.counts())
            except MentisError as error:
                self._tell("stage_failed", stage="suspects", reason=error.message)

    async def _set_aside(self, sense: Sense, *, failures: int, reason: str) -> None:
        put = partial(self._thinker.set_sense_aside, sense, failures=failures, reason=reason)
        made = await to_thread.run_sync(put)
        self._remember([sense.id])
        await self._done([sense])
        self.report.aside += 1
        self._tell("sense_set_aside", id=made.id, kind=made.kind, failures=failures, reason=reason)

    def _remember(self, ids: Iterable[str]) -> None:
        known = dict.fromkeys(ids)
        self._known.update(known)
        self._suspects.forget(known)
        for name in list(self._known)[:-MOST_TAKEN]:
            del self._known[name]

    def _failed(self, reason: str) -> None:
        """Nobody heard the senses: they come again, later each time."""
        self._failures += 1
        self.report.failed += 1
        if reason.startswith(_BUDGET):
            self.report.stopped, self.report.told = "budget", reason.removeprefix(_BUDGET)

    def _plan_next(self, rest: float | None) -> None:
        now, plan = self._thinker.clock.monotonic(), self.plan
        if rest is not None:
            self._asleep, self._due = True, now + rest
            self.report.slept += 1
            self._tell("loop_slept", seconds=rest)
            return
        if not plan.interval:
            self._due = now + (self._backoff() if self._failures else 0.0)
            return
        self._skip(now)
        if self._failures:
            self._due = max(self._due, now + self._backoff())

    def _skip(self, now: float) -> None:
        """The first moment of the interval that is still to come; those that passed are gone."""
        passed = floor((now - self._start) / self.plan.interval)
        due = self._start + (passed + 1) * self.plan.interval
        skipped = round((due - self._due) / self.plan.interval) - 1
        if skipped > 0 and not self._failures:
            self.report.skipped += skipped
            self._tell("ticks_skipped", ticks=skipped)
        self._due = due

    def _backoff(self) -> float:
        base = self.plan.interval or 1.0
        return min(base * 2.0 ** min(self._failures - 1, 30), self.plan.retry)

    async def _take(self) -> tuple[Sense, ...]:
        """As many as a tick takes; each source comes first in its turn."""
        found: list[Sense] = []
        count = len(self._sources)
        for place in range(count):
            source = self._sources[(self.report.ticks + place) % count]
            found += await self._from(source, self.plan.senses - len(found))
        return tuple(found)

    async def _from(self, source: SenseSource, most: int) -> list[Sense]:
        """Without what a recorded tick took before it could be let go of."""
        fresh: list[Sense] = []
        while most > 0:
            given = await source.take(most)
            for one in given:
                if one.id not in self._known:
                    await self._refuse_unfit(one, source)
            over = [one.id for one in given if one.id in self._known or self._unheard(one)]
            fresh = [one for one in given if one.id not in over]
            if not over:
                break
            await source.done(over)
        return fresh

    async def _refuse_unfit(self, sense: Sense, source: SenseSource) -> None:
        """Set aside what no tick may be told. Our own sources look at names themselves, or make
        them; nobody vouches any more for what another one hands over under a name of ours.
        """
        if reason := unsayable(sense):
            await self._set_aside(sense, failures=0, reason=reason)
        elif not isinstance(source, _OWN) and (reason := poses_as_ours(sense)):
            unvouched = replace(sense, trust=Trust.UNTRUSTED)
            await self._set_aside(unvouched, failures=0, reason=reason)

    def _unheard(self, sense: Sense) -> bool:
        """Our own sources refuse it at the door; this is for what others hand over."""
        if reason := stops_unvouched(sense):
            self._refused(RefusedSense(sense.id, reason))
        return bool(reason)

    async def _done(self, senses: Sequence[Sense]) -> None:
        ids = [one.id for one in senses]
        for source in self._sources if ids else ():
            await source.done(ids)

    def _refused(self, refused: RefusedSense) -> None:
        self.report.refuse(refused)
        self._tell("sense_refused", name=refused.name, reason=refused.reason)

    def _tell(self, event: EventName, **facts: object) -> None:
        self._emit(TickEvent(event, facts=facts))
