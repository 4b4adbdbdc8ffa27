"""Does what was asked for: judged, written down, done, and what came of it written down.

Everything that is asked for ends in exactly one outcome. Acts of one endpoint are done one after
the other, all others at once, as far as the limits allow. Being cancelled ends what runs and keeps
the rest from beginning; what came of each is recorded all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Protocol, TypeAlias, TypeVar

from anyio import (
    CancelScope,
    CapacityLimiter,
    Lock,
    WouldBlock,
    create_task_group,
    current_time,
    get_cancelled_exc_class,
    to_thread,
)
from anyio.lowlevel import checkpoint_if_cancelled

from mentis.errors import BadInput, Defect, MentisError, NotCanonical
from mentis.ports.act_handler import ActHandler
from mentis.ports.clock import Clock
from mentis.ports.ids import Ids
from mentis.telemetry.spans import tool_span
from mentis.values.act import ActCall, ActSpec, Decision, WaitingAct, asks_agent
from mentis.values.action import Action, Outcome, OutcomeState
from mentis.values.block import Mode
from mentis.values.digest import Digest
from mentis.values.lease import Lease
from mentis.values.mark import Mark
from mentis.values.trust import Trust
from mentis.values.value import Value

from .batch import Batch, Slot
from .doing import do, failed_outcome
from .entries import moment
from .gate import state_of
from .journal import ActIntent, Asked, Journal, OnMedia, SettledAct, note_unrecorded
from .registry import spec_digest
from .threads import HERE, AbandonedWork

Judge: TypeAlias = Callable[[ActCall, ActSpec], Decision]
# Marks to be set as these calls are written down.
OnBegin: TypeAlias = Callable[[Sequence[ActCall]], Sequence[Mark]]
T = TypeVar("T")
# Rules whose reasons are words of ours alone: they quote neither a payload nor who wrote it.
_OWN_WORDS = frozenset({"ask", "mode", "budget", "offered"})
_UNSURE = "how far it came is not known"
_DEFERRED = "the caller executes it and brings the result"


class ActLookup(Protocol):
    """What the dispatcher asks the registry."""

    def handler(self, name: str) -> ActHandler | None: ...
    def spec(self, name: str) -> ActSpec | None: ...
    def digest(self, name: str) -> Digest | None: ...
    def block_reason(self, name: str) -> str: ...
    def away(self, name: str) -> str: ...


@dataclass(frozen=True, slots=True)
class DispatchLimits(Value):
    """`seconds` is for all acts of one dispatch together. `writers` is how many threads record."""

    at_once: int = 64
    seconds: float = 600.0
    waiting_seconds: float = 7 * 24 * 3600.0
    writers: int = 32


@dataclass(frozen=True, slots=True)
class DispatchHooks:
    """How a dispatch is tied to whoever makes it. Once somebody else has the `lease` nothing is
    begun; what was begun before is ended in the record. The marks that `on_begin` makes of the
    calls are set in the transaction that writes them down; `on_outcome` is told each as it comes.
    Those that `on_media` makes of a result with media are set in the transaction of its outcome.
    `before_judging` is done first, in the thread that judges the calls and writes them down.
    `declared` are acts that the caller executes, by name, in the place of any of the registry.
    """

    lease: Lease | None = None
    on_begin: OnBegin | None = None
    on_outcome: Callable[[Outcome], None] | None = None
    on_media: OnMedia | None = None
    before_judging: Callable[[], object] = lambda: None
    declared: Mapping[str, ActSpec] = field(default_factory=dict[str, ActSpec])


NO_HOOKS = DispatchHooks()


@dataclass(eq=False, slots=True)
class _Endpoint:
    """One act at a time; `left` counts what was cut off there and goes on by itself."""

    lock: Lock = field(default_factory=partial(Lock, fast_acquire=True))
    left: AbandonedWork = field(default_factory=AbandonedWork)


class Dispatcher:
    def __init__(
        self,
        registry: ActLookup,
        journal: Journal,
        *,
        clock: Clock,
        ids: Ids,
        limits: DispatchLimits | None = None,
    ) -> None:
        self.registry = registry
        self.journal = journal
        self.clock = self._clock = clock
        self._ids = ids
        self._limits = limits or DispatchLimits()
        self._at_once = CapacityLimiter(self._limits.at_once)
        # Threads of its own: acts that wait in all others must not keep outcomes from the record.
        self._writers = CapacityLimiter(self._limits.writers)
        self._endpoints: dict[str, _Endpoint] = {}
        self._places: dict[str, CapacityLimiter] = {}

    async def dispatch(
        self,
        actions: Sequence[Action],
        *,
        judge: Judge,
        mode: Mode,
        session: str,
        outcomes: list[Outcome],
        places: Sequence[str] = (),
        hooks: DispatchHooks = NO_HOOKS,
    ) -> None:
        """Add one outcome for each action, in their order, as soon as there is one.

        The list is the caller's, and complete also when this is cancelled or fails. With `places`
        each is done there or not at all; without, wherever an act of its name is.
        """
        calls = [
            ActCall(action, self._ids.new_id(), self.journal.agent, session, mode)
            for action in actions
        ]
        slots = [Slot(call) for call in calls]
        batch = Batch(slots, outcomes, hooks.on_outcome, on_media=hooks.on_media)
        with batch.ensure_outcomes():
            pairs = zip(calls, places or [""] * len(calls), strict=True)
            found = [self._found(call, place, hooks.declared) for call, place in pairs]
            judged = partial(map, partial(self._judged, judge), found)
            await self.run(batch, await self._begin(batch.slots, judged, hooks))

    async def run(
        self, batch: Batch, ready: Sequence[tuple[Slot, ActIntent]], *, news: bool = False
    ) -> None:
        """Do what is written down. `news`: the next turn is told what came of it."""
        if not ready:
            return
        whole = CancelScope(deadline=current_time() + self._limits.seconds)
        try:
            with whole:
                async with create_task_group() as group:
                    batch.cancel = group.cancel_scope.cancel
                    for lane in _lanes(ready):
                        group.start_soon(partial(self._lane, batch, lane, whole=whole, news=news))
        finally:
            await self._leave(ready, over=whole.cancelled_caught, news=news)
        if batch.interrupt is not None:
            raise batch.interrupt

    async def record(self, work: Callable[[], T]) -> T:
        """Read or write the record in one of the threads kept for it, also when cancelled."""
        with CancelScope(shield=True):
            return await to_thread.run_sync(work, limiter=self._writers)
        raise Defect("what shields the record from being cancelled was cancelled itself")

    # Before it is done

    def _found(
        self, call: ActCall, place: str, declared: Mapping[str, ActSpec]
    ) -> SettledAct | ActIntent:
        """What it would be, looked up at once: the registry may change while it is judged."""
        name = call.action.type
        if name in declared:
            return ActIntent(call, declared[name], spec_digest(declared[name]))
        handler, spec = self.registry.handler(name), self.registry.spec(name)
        digest = self.registry.digest(name)
        if handler is None or spec is None or digest is None:
            return SettledAct(call, _missing(call, self.registry.away(name)))
        if place and place != spec.place:
            return SettledAct(call, _missing(call, "", f"{place}/{name}"))
        if reason := self.registry.block_reason(name):
            return _settled(ActIntent(call, spec, digest), "unavailable", reason)
        return ActIntent(call, spec, digest)

    def _judged(self, judge: Judge, found: SettledAct | ActIntent) -> Asked:
        if isinstance(found, SettledAct):
            return found
        decision = judge_safely(judge, found.call, found.spec)
        begun = replace(found, decision=decision)
        if decision.verdict == "refuse":
            return _settled(begun, state_of(decision), decision.reason)
        doubtful = decision.tainted or decision.review
        lineage = Trust.UNTRUSTED if doubtful else decision.lineage
        begun = replace(begun, call=replace(begun.call, lineage=lineage))
        if begun.spec.deferred:
            return _settled(begun, "deferred", _DEFERRED)
        return self._waiting(begun, decision) if decision.verdict == "wait" else begun

    def _waiting(self, begun: ActIntent, decision: Decision) -> WaitingAct:
        now, spec = self._clock.now(), begun.spec
        return WaitingAct(
            begun.call,
            begun.digest,
            spec.source,
            spec.declaration.external_effects,
            decision,
            since=moment(now),
            expires=moment(now + timedelta(seconds=self._limits.waiting_seconds)),
            where=spec.where,
        )

    async def _begin(
        self, slots: Sequence[Slot], judged: Callable[[], Iterable[Asked]], hooks: DispatchHooks
    ) -> list[tuple[Slot, ActIntent]]:
        """Judge them and write all of it down at once; what could not be is not done."""
        calls = [slot.call for slot in slots]

        def begin() -> tuple[Sequence[Asked], Sequence[MentisError | None]]:
            hooks.before_judging()
            asked = list(judged())
            marks = () if hooks.on_begin is None else hooks.on_begin(calls)
            return asked, self.journal.begin(asked, marks=marks, lease=hooks.lease)

        asked, faults = await self.record(begin)
        ready: list[tuple[Slot, ActIntent]] = []
        invalid: list[tuple[Slot, SettledAct]] = []
        for slot, one, fault in zip(slots, asked, faults, strict=True):
            if isinstance(fault, BadInput | NotCanonical) and not isinstance(one, SettledAct):
                reason = f"the payload cannot be recorded: {fault.message}"
                invalid.append((slot, _unfit(one, reason)))
            elif fault is None and isinstance(one, ActIntent):
                ready.append((slot, one))
            else:
                slot.settle(_not_begun(one, fault))
        if invalid:
            again = partial(self.journal.begin, [one for _, one in invalid], lease=hooks.lease)
            for (slot, settled), fault in zip(invalid, await self.record(again), strict=True):
                slot.settle(_not_begun(settled, fault))
        return ready

    # While it is done

    async def _lane(
        self,
        batch: Batch,
        lane: Sequence[tuple[Slot, ActIntent]],
        *,
        whole: CancelScope,
        news: bool,
    ) -> None:
        for slot, begun in lane:
            async with AsyncExitStack() as turn:
                outcome, cancelled = await self._act(batch, slot, begun, turn=turn, whole=whole)
                end = partial(self.journal.end, [(begun, outcome)], news=news)
                end = partial(end, on_media=batch.on_media)
                slot.settle(*await self.record(end))
            if cancelled is not None:
                raise cancelled

    async def _act(
        self,
        batch: Batch,
        slot: Slot,
        begun: ActIntent,
        *,
        turn: AsyncExitStack,
        whole: CancelScope,
    ) -> tuple[Outcome, BaseException | None]:
        """What came of it, and what cancelled it. Cancelled before it began, it is not begun."""
        try:
            await self._take_turn(turn, begun.spec)
            slot.running = True
            return await self._do(begun), None
        except get_cancelled_exc_class() as error:
            if not slot.running:
                raise
            return _cut_short(begun, over=whole.cancel_called), error
        except KeyboardInterrupt as error:
            batch.stop(error)
            return failed_outcome(
                begun.call, begun.spec, "unknown", f"interrupted; {_UNSURE}"
            ), None
        except Exception as error:  # noqa: BLE001  # one act must not take the others down
            return _broken(slot, begun, error), None

    async def _do(self, begun: ActIntent) -> Outcome:
        here = HERE.get()
        if here is not None and here.count:
            reason = f"an act of {begun.spec.endpoint!r} was cut off and is still being done"
            return failed_outcome(begun.call, begun.spec, "unavailable", reason)
        handler = self.registry.handler(begun.spec.name)
        if handler is None or self.registry.digest(begun.spec.name) != begun.digest:
            reason = "it was taken away, or changed, before it began"
            return failed_outcome(begun.call, begun.spec, "unavailable", reason)
        with tool_span(begun.call, begun.spec) as span:
            outcome = await do(handler, begun.call, begun.spec)
            span.tell_outcome(outcome)
            return outcome

    async def _leave(
        self, ready: Sequence[tuple[Slot, ActIntent]], *, over: bool, news: bool
    ) -> None:
        """What was written down and never begun will not be: one entry each, one append."""
        rest = [(slot, begun) for slot, begun in ready if slot.outcome is None]
        if not rest:
            return
        ended = [(begun, _never(slot, begun, over=over)) for slot, begun in rest]
        outcomes = await self.record(partial(self.journal.end, ended, news=news))
        for (slot, _), outcome in zip(rest, outcomes, strict=True):
            slot.settle(outcome)

    async def _take_turn(self, turn: AsyncExitStack, spec: ActSpec) -> None:
        """Always in this order, so that no two can wait for each other."""
        HERE.set(None)
        if spec.endpoint:
            endpoint = self._endpoints.setdefault(f"{spec.source} {spec.endpoint}", _Endpoint())
            HERE.set(endpoint.left)
            await turn.enter_async_context(endpoint.lock)
        if spec.concurrency:
            places = self._places.setdefault(spec.name, CapacityLimiter(spec.concurrency))
            places.total_tokens = spec.concurrency
            await _take_place(turn, places)
        if not asks_agent(spec):  # it may come back here for acts of its own
            await _take_place(turn, self._at_once)


async def _take_place(turn: AsyncExitStack, places: CapacityLimiter) -> None:
    """Until `turn` ends. Where one is free the event loop does not go round for it."""
    await checkpoint_if_cancelled()
    try:
        places.acquire_nowait()
    except WouldBlock:
        await places.acquire()
    turn.callback(places.release)


def _lanes(ready: Sequence[tuple[Slot, ActIntent]]) -> list[list[tuple[Slot, ActIntent]]]:
    """Those of one endpoint in the order they were asked for; each other one on its own."""
    lanes: dict[object, list[tuple[Slot, ActIntent]]] = {}
    for slot, begun in ready:
        spec = begun.spec
        lane = (spec.source, spec.endpoint) if spec.endpoint else slot
        lanes.setdefault(lane, []).append((slot, begun))
    return list(lanes.values())


def judge_safely(judge: Judge, call: ActCall, spec: ActSpec) -> Decision:
    """What the judge says; what cannot be judged waits."""
    try:
        return judge(call, spec)
    except Exception as error:  # noqa: BLE001  # whatever it is, it must not open the gate
        reason = f"it cannot be judged: {type(error).__name__}"
        return Decision("wait", "unjudged", reason, lineage=Trust.UNTRUSTED)


def _settled(begun: ActIntent, state: OutcomeState, reason: str) -> SettledAct:
    outcome = failed_outcome(begun.call, begun.spec, state, reason)
    if begun.decision is not None:
        outcome = replace(outcome, trust=_reason_trust(begun.decision))
    return SettledAct(begun.call, outcome, begun.decision, begun.digest, begun.spec.endpoint)


def _reason_trust(decision: Decision) -> Trust:
    return Trust.RUNTIME if decision.rule in _OWN_WORDS else Trust.UNTRUSTED


def _missing(call: ActCall, away: str, wanted: str = "") -> Outcome:
    if away:
        return Outcome(call.action, "unavailable", reason=away, key=call.key)
    reason = f"nothing here does {(wanted or call.action.type)[:200]!r}"
    return Outcome(call.action, "not_found", reason=reason, key=call.key)


def _unfit(asked: ActIntent | WaitingAct, reason: str) -> SettledAct:
    if isinstance(asked, ActIntent):
        return _settled(asked, "invalid", reason)
    call = asked.call
    outcome = Outcome(call.action, "invalid", reason=reason, key=call.key, source=asked.source)
    return SettledAct(call, outcome, digest=asked.spec)


def _not_begun(asked: Asked, fault: MentisError | None) -> Outcome:
    call = asked.call
    match asked:
        case SettledAct():
            return note_unrecorded(asked.outcome, fault) if fault else asked.outcome
        case ActIntent():
            source = asked.spec.source
        case WaitingAct():
            source = asked.source
            if fault is None:
                reason, trust = asked.decision.reason, _reason_trust(asked.decision)
                waits = Outcome(call.action, "waiting", reason=reason, trust=trust)
                return replace(waits, key=call.key, source=source)
    if fault is None:
        raise Defect("an act that is written down is done, not settled", key=call.key)
    reason = f"it was not done, because it could not be recorded before: {fault.message}"
    return Outcome(call.action, "unavailable", reason=reason, key=call.key, source=source)


def _cut_short(begun: ActIntent, *, over: bool) -> Outcome:
    if over:
        reason = f"the time for all acts was over while it ran; {_UNSURE}"
        return failed_outcome(begun.call, begun.spec, "timeout", reason)
    return failed_outcome(begun.call, begun.spec, "unknown", f"cancelled while it ran; {_UNSURE}")


def _broken(slot: Slot, begun: ActIntent, error: Exception) -> Outcome:
    said = f"{type(error).__name__}: {error}"
    if slot.running:
        return failed_outcome(begun.call, begun.spec, "unknown", f"it broke off: {said}; {_UNSURE}")
    return failed_outcome(begun.call, begun.spec, "crashed", f"it could not be begun: {said}")


def _never(slot: Slot, begun: ActIntent, *, over: bool) -> Outcome:
    if slot.running:
        return failed_outcome(begun.call, begun.spec, "unknown", f"cut off while it ran; {_UNSURE}")
    why = "the time for all acts was over" if over else "cancelled"
    return failed_outcome(begun.call, begun.spec, "refused", f"{why} before it began")
