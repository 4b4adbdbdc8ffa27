"""Acting for one agent: the registry, the gate, the journal and the dispatcher, put together.

Nothing is locked, started or made in the home before something is to be done.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from threading import Lock as ThreadLock

from anyio import CancelScope, Event, Lock, to_thread
from anyio.lowlevel import checkpoint_if_cancelled

from mentis.act import entries
from mentis.act.approvals import Approvals
from mentis.act.budget import ActTally, begun_in
from mentis.act.dispatch import NO_HOOKS, Dispatcher, DispatchHooks, DispatchLimits
from mentis.act.gate import Gate, GateRules, depends_on_origin, judge_again, not_offered
from mentis.act.journal import Journal, Sizes
from mentis.act.registry import Registry
from mentis.act.seen import SeenRequest
from mentis.compose.modes import writes_to_people
from mentis.errors import StoreDamaged
from mentis.facts.abilities import abilities
from mentis.home.ground import Ground
from mentis.ledger.chain import format_time
from mentis.ledger.recipes import holds
from mentis.memories.parts import HomeScreener
from mentis.ports.blob_store import BlobStore
from mentis.ports.clock import read_clock
from mentis.record.act_owners import ActOwner, open_owners
from mentis.record.outcome_news import read_news
from mentis.recovery.acts import Recovery, RecoveryResult
from mentis.settings.acts import CHOSEN, ActSettings
from mentis.values.act import ActCall, ActSpec, Decision, WaitingAct
from mentis.values.action import Action, Outcome
from mentis.values.block import Mode
from mentis.values.entry import Entry
from mentis.values.mark import Mark
from mentis.values.measured import age_of, reading_of
from mentis.values.route import Route
from mentis.values.tool import ToolDeclaration
from mentis.values.trace import Degradation

from .registry import AgentTools, ToolProblem, open_tools

_LOOK_BACK = 256
_MOST_NOTES = 20
_LATER = "it is connected when a turn begins, so what it can do is not known here"


def open_act_runner(ground: Ground) -> ActRunner:
    """Nothing is started. Use `begin` before a turn, `aclose` at the end."""
    return ActRunner(ground, open_tools(ground))


@dataclass(frozen=True, slots=True)
class DispatchParts:
    """What acts are done with, once there is something to do."""

    owner: ActOwner
    journal: Journal
    dispatcher: Dispatcher
    recovery: Recovery
    tally: ActTally


class ActRunner:
    def __init__(self, ground: Ground, tools: AgentTools) -> None:
        self.ground = ground
        self.tools = tools
        self.registry: Registry = tools.registry
        self.blobs: BlobStore = ground.blobs
        self.owners = open_owners(ground.home, ground.ledger, ground.clock, ground.agent)
        self.approvals = Approvals(
            ground.ledger,
            ground.stamp,
            ground.accepted_file,
            agent=ground.agent,
            clock=ground.clock,
            ids=ground.ids,
            genuine=holds,
        )
        self._bench: DispatchParts | None = None
        self._begun = False
        self._counted = 0  # entries, from the first on, that the tally knows of
        self._beginning: list[tuple[str, CancelScope]] = []  # each with its session
        self._making = Lock()  # of the bench
        # Of the tally: turns judge in threads, and no two may both be let through as the last one.
        self._judging = ThreadLock()
        self._approved: list[Event] = []  # set when what was approved is done
        self._faults: list[str] = []

    # Before a turn

    async def begin(self, session: str = "", due: Collection[str] | None = None) -> RecoveryResult:
        """Start the tools, and look after what is open: the first time also what a process that is
        gone left behind, each time what waited too long and what a person has approved. `session`
        says where the turn is that begins, if one does; `due` is what `look_for_due` found.
        """
        left = done = RecoveryResult()
        with self._interruptible(session):
            await self.tools.start()
            if self._bench is not None and self._bench.journal.is_owing:
                await self._bench.dispatcher.record(self._bench.journal.catch_up)
            if not self._begun:
                left = await self._recover()
                self._begun = True
            if due is None:
                await to_thread.run_sync(self.approvals.expire, self.ground.clock.now())
                done = await self.run_approved()
            elif due:
                done = await self.run_approved(due)
        self._faults = [*left.faults, *done.faults]
        return RecoveryResult((*left.outcomes, *done.outcomes), tuple(self._faults))

    @property
    def is_idle(self) -> bool:
        """Whether `begin` would do nothing but what is due: so nothing changes by it."""
        owing = self._bench is not None and self._bench.journal.is_owing
        return self._begun and not self.tools.has_servers and not owing

    def interrupt(self, session: str | None = None) -> None:
        """End what `begin` is at, in one session or in all; what came of it is recorded, and the
        rest is done by the next.
        """
        for place, beginning in self._beginning:
            if session in (None, place):
                beginning.cancel()

    @contextmanager
    def _interruptible(self, session: str) -> Generator[None]:
        beginning = (session, CancelScope())
        self._beginning.append(beginning)
        try:
            with beginning[1]:
                yield
        finally:
            self._beginning.remove(beginning)

    async def _recover(self) -> RecoveryResult:
        if not await to_thread.run_sync(self.marks, entries.OPEN):
            return RecoveryResult()
        return await (await self.bench()).recovery.recover()

    def look_for_due(self) -> frozenset[str] | None:
        """Give up what waited too long; what was approved and can be done here. None where some of
        it may be, once the tools are started. It blocks.
        """
        with self.ground.ledger.together():
            if not (self.marks(entries.WAITING) or self.marks(entries.APPROVED)):
                return frozenset()
        self.approvals.expire(self.ground.clock.now())
        here, elsewhere = self.doable()
        return None if elsewhere else here

    async def run_approved(self, keys: Collection[str] | None = None) -> RecoveryResult:
        """Do what a person has said yes to and can be done here: all of it, or only these keys."""
        here, _ = await to_thread.run_sync(self.doable, keys)
        if not here:
            return RecoveryResult()
        over = Event()
        self._approved.append(over)
        try:
            return await (await self.bench()).recovery.run_approved(here)
        finally:
            self._approved.remove(over)
            over.set()

    async def wait_for_approved(self) -> None:
        """Until what turns beside this one do of what was approved is done."""
        for over in [*self._approved]:
            await over.wait()

    def doable(
        self, keys: Collection[str] | None = None
    ) -> tuple[frozenset[str], tuple[WaitingAct, ...]]:
        """Which approved acts can be begun here, and which only where their handler is.

        What nobody who has it came to begin in time is begun here too, and so found missing. What
        cannot be read is begun as well: whoever begins it says so.
        """
        here, elsewhere = set[str](), list[WaitingAct]()
        now = format_time(self.ground.clock.now())
        for mark in self.marks(entries.APPROVED):
            if keys is not None and mark.key not in keys:
                continue
            act = _read(mark)
            if act is None or act.expires <= now or self.registry.handler(act.call.action.type):
                here.add(mark.key)
            else:
                elsewhere.append(act)
        return frozenset(here), tuple(elsewhere)

    def marks(self, kind: str) -> tuple[Mark, ...]:
        return self.ground.ledger.marks(self.ground.agent, kind)

    # In a turn

    def rules(self, chosen: ActSettings) -> GateRules:
        """As the settings say, as far as they count."""
        return self.tools.granted_settings(chosen).rules()

    async def gate(self, rules: GateRules) -> Gate:
        """For one turn; the hour is counted over all of them."""
        return Gate(rules, (await self.bench()).tally)

    async def dispatch(  # noqa: PLR0913  # each input has its own name
        self,
        actions: Sequence[Action],
        *,
        gate: Gate,
        see: Callable[[], SeenRequest],
        mode: Mode,
        session: str,
        outcomes: list[Outcome],
        offered: Collection[str] | None = None,
        places: Sequence[str] = (),
        hooks: DispatchHooks = NO_HOOKS,
    ) -> None:
        """One outcome for each action; `see` says what the model was shown before it asked. It is
        asked only for acts that depend on it, in the thread that judges and writes down: each way
        to one and back costs a turn as much as a read of the record.

        `offered` are the acts it was told of: no other is done. None where a person calls.
        `places`: where each is to be done, if that was said.
        """
        bench, shown = await self.bench(), list[SeenRequest]()

        def judge(call: ActCall, spec: ActSpec) -> Decision:
            if offered is not None and spec.name not in offered:
                return not_offered(spec)
            if not shown and depends_on_origin(spec):
                shown.append(see())
            seen = shown[0] if shown else None  # which lets nothing through that depends on it
            with self._judging:
                return gate.judge(call, spec, seen)

        recount = partial(self._recount, bench.tally)
        await checkpoint_if_cancelled()  # it is not heard again before all is written down
        await bench.dispatcher.dispatch(
            actions,
            judge=judge,
            mode=mode,
            session=session,
            outcomes=outcomes,
            places=places,
            hooks=replace(hooks, before_judging=recount) if gate.rules.budget.by_hour else hooks,
        )

    async def receive(self, outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
        """Results of calls that the caller executed, as they may be told."""
        bench = await self.bench()
        return await bench.dispatcher.record(partial(bench.journal.receive, outcomes))

    def offered_tools(self, route: Route, *, asked: bool = True) -> tuple[ToolDeclaration, ...]:
        """What a model is told of on that route. A small one is not told of the acts every agent
        has, unless the settings name them; one that nobody asked only of what `acts.unasked` says.
        """
        told = self._asked(asked=asked)
        if self.ground.act_settings.builtin is not None or _takes_tools(route):
            return told
        return tuple(one for one in told if not self._is_plain(one.name))

    def offered_tools_in_tick(self, route: Route) -> tuple[ToolDeclaration, ...]:
        """What may be done unasked. An answer of a tick needs no tools, so only where the prompts
        are short it is not told of the acts every agent has, unless the settings name them.
        """
        told = self._asked(asked=False)
        if self.ground.act_settings.builtin is not None or not _is_short(route):
            return told
        return tuple(one for one in told if not self._is_plain(one.name))

    def allowed_tools(self, mode: Mode, *, asked: bool = True) -> tuple[ToolDeclaration, ...]:
        """What there is to choose from, on whatever route: a beat writes to nobody."""
        told = self._asked(asked=asked)
        return told if mode != "beat" else tuple(t for t in told if not writes_to_people(t.name))

    def _asked(self, *, asked: bool) -> tuple[ToolDeclaration, ...]:
        told, unasked = self.registry.declarations(), self.ground.act_settings.unasked
        if asked or unasked is None:
            return told
        return tuple(one for one in told if one.name in unasked)

    def _is_plain(self, name: str) -> bool:
        spec = self.registry.spec(name)
        return spec is not None and spec.source == "builtin" and name in CHOSEN

    def news(self) -> tuple[Outcome, ...]:
        """What came of acts outside of a turn, and was not told yet. It blocks.

        What the record does not say of them is left out, and a note says so.
        """
        told: list[Outcome] = []
        for mark in self.marks(entries.NEWS):
            try:
                told.append(read_news(self.ground, mark))
            except StoreDamaged as fault:
                if fault.message not in self._faults:
                    self._faults.append(fault.message)
        return tuple(told)

    def notes(self) -> tuple[Degradation, ...]:
        """What cannot be done, or could not be looked after, for the trace of a turn."""
        problems = [Degradation("tools", _told(one)) for one in self.tools.problems]
        missing = [
            Degradation("tools", f"{name}: {_LATER}") for name in self.tools.unstarted_servers
        ]
        faults = [Degradation("acts", fault) for fault in self._faults]
        return (*problems, *missing, *faults, *self.tools.notes.degraded)[:_MOST_NOTES]

    # What acts are done with

    async def bench(self) -> DispatchParts:
        """Made the first time: from then on this process is the owner of what it begins. Made anew
        once another one took it for gone.
        """
        if self._bench is not None and not await self._is_lost(self._bench):
            return self._bench
        async with self._making:  # of several turns that act for the first time
            if self._bench is None or await self._is_lost(self._bench):
                if self._bench is not None:
                    await to_thread.run_sync(self._leave)
                ground = self.ground
                owner = await to_thread.run_sync(self.owners.enter, ground.ids.new_id())
                tally = ActTally(ground.clock)
                await to_thread.run_sync(self._recount, tally)
                self._bench = self._made(owner, tally)
            return self._bench

    @staticmethod
    async def _is_lost(bench: DispatchParts) -> bool:
        return bench.owner.lease is not None and await to_thread.run_sync(bench.owner.is_lost)

    def _made(self, owner: ActOwner, tally: ActTally) -> DispatchParts:
        ground, chosen = self.ground, self.ground.act_settings
        journal = Journal(
            ground.ledger,
            ground.stamp,
            self.blobs,
            agent=ground.agent,
            owner=owner.name,
            sizes=Sizes(chosen.inline_bytes, chosen.result_bytes),
            accepted=ground.accepted_file,
            screener=ground.screener or HomeScreener(ground.home.path),
        )
        journal.lease = owner.lease
        limits = DispatchLimits(
            at_once=chosen.concurrency,
            seconds=chosen.seconds,
            waiting_seconds=chosen.approval_hours * 3600,
        )
        dispatcher = Dispatcher(
            self.registry, journal, clock=ground.clock, ids=ground.ids, limits=limits
        )

        def judge(call: ActCall, spec: ActSpec) -> Decision:
            rules = self.rules(chosen)
            with self._judging:
                spent = tally.spent(0, rules.budget, without=call.key)
            return judge_again(rules, call, spec, spent=spent)

        recovery = Recovery(dispatcher, self.owners.alive, retries=chosen.retries, judge=judge)
        return DispatchParts(owner, journal, dispatcher, recovery, tally)

    def _recount(self, tally: ActTally) -> None:
        """Other processes act too: the hour is what the ledger says. It blocks."""
        latest = self._since_counted()
        with self._judging:
            tally.learn(begun_in(latest))
            if latest:
                self._counted = max(self._counted, latest[-1].index + 1)

    def _since_counted(self) -> tuple[Entry, ...]:
        """What is new since; the first time what was lately, backwards until it is an hour old."""
        ledger, agent = self.ground.ledger, self.ground.agent
        if self._counted:
            return tuple(ledger.entries(agent, start=self._counted))
        now, hour, count = read_clock(self.ground.clock), timedelta(hours=1), _LOOK_BACK
        while True:
            latest = ledger.latest(agent, count)
            if len(latest) < count:
                return latest
            age = age_of(reading_of(latest[0]), now)
            if datetime.fromisoformat(latest[0].time) < now.shown - hour and age > hour:
                return latest
            count *= 2

    # The end

    async def aclose(self) -> None:
        try:
            await self.tools.aclose()
        finally:
            with CancelScope(shield=True):
                await to_thread.run_sync(self._leave)

    def close(self) -> None:
        try:
            self.tools.close()
        finally:
            self._leave()

    def _leave(self) -> None:
        bench, self._bench = self._bench, None
        if bench is not None:
            self._counted = 0
            try:
                bench.journal.catch_up()  # what still cannot be recorded is found open later
            finally:
                bench.owner.close()


def _read(mark: Mark) -> WaitingAct | None:
    try:
        return entries.waiting_act(mark)
    except StoreDamaged:
        return None


def _told(problem: ToolProblem) -> str:
    return "; ".join(filter(None, (f"{problem.name}: {problem.why}", problem.hint)))


def _takes_tools(route: Route) -> bool:
    return not _is_short(route) and abilities(route).calls != "text"


def _is_short(route: Route) -> bool:
    return route.variant == "compact"
