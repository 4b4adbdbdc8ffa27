"""Recovers acts at start: those that another process left open, and those approved since.

An act whose process is gone may have been done, and nobody can say. It becomes `unknown` and is
never silently repeated; one that is declared to be idempotent is tried again with the same key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

from anyio import Lock

from mentis.act.batch import Batch, Slot
from mentis.act.dispatch import Dispatcher, Judge, judge_safely
from mentis.act.entries import OpenAct, moment
from mentis.act.journal import ActIntent, SettledAct
from mentis.errors import MentisError, StoreConflict, StoreDamaged
from mentis.values.act import ActSpec, WaitingAct
from mentis.values.action import Outcome, OutcomeState
from mentis.values.digest import Digest
from mentis.values.value import Value

_CHANGED = "what was approved is not what can be done now: it is gone, blocked or changed"
GONE = "the process that did it ended before it could say what came of it"


@dataclass(frozen=True, slots=True)
class RecoveryResult(Value):
    """What came of it, and what could not be looked after, in words."""

    outcomes: tuple[Outcome, ...] = ()
    faults: tuple[str, ...] = ()


class Recovery:
    """`alive` says of an owner whether its process may still be there. `judge` says whether an act
    may be tried again; without one none is.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        alive: Callable[[str], bool],
        *,
        retries: int = 1,
        judge: Judge | None = None,
    ) -> None:
        self._dispatcher = dispatcher
        self._journal = dispatcher.journal
        self._registry = dispatcher.registry
        self._alive = alive
        self._retries = retries
        self._judge = judge
        self._one_at_a_time = Lock()

    async def recover(self) -> RecoveryResult:
        """Every open act of a process that is gone gets its outcome, or one more attempt."""
        slots: list[tuple[Slot, ActIntent]] = []
        outcomes, faults = list[Outcome](), list[str]()
        async with self._one_at_a_time:
            abandoned, damaged = await self._dispatcher.record(self._abandoned)
            faults += [fault.message for fault in damaged]
            for act, bound in abandoned:
                again = self._again(act) if bound else ""
                fault = await self._settle(act, again, outcomes)
                if fault is None and isinstance(again, ActIntent):
                    slots.append((Slot(again.call), again))
                elif fault is not None:
                    faults += _told(fault)
        await self._run(slots, outcomes)
        return RecoveryResult(tuple(outcomes), tuple(faults))

    async def run_approved(self, keys: Collection[str] | None = None) -> RecoveryResult:
        """Begin what a person has said yes to, each exactly once, whoever else looks as well.

        With `keys` only those: the others go on waiting for somebody to begin them.
        """
        slots: list[tuple[Slot, ActIntent]] = []
        outcomes, faults = list[Outcome](), list[str]()
        async with self._one_at_a_time:
            approved, damaged = await self._dispatcher.record(self._journal.approved_acts)
            faults += [fault.message for fault in damaged]
            for act in approved:
                if keys is not None and act.call.key not in keys:
                    continue
                asked = self._asked(act)
                # One append each: that somebody else was faster with one must not stop the others.
                begin = partial(self._journal.begin, [asked])
                (fault,) = await self._dispatcher.record(begin)
                if fault is not None:
                    faults += _told(fault)
                elif isinstance(asked, ActIntent):
                    slots.append((Slot(asked.call), asked))
                else:
                    outcomes.append(asked.outcome)
        await self._run(slots, outcomes)
        return RecoveryResult(tuple(outcomes), tuple(faults))

    async def _run(self, slots: Sequence[tuple[Slot, ActIntent]], outcomes: list[Outcome]) -> None:
        batch = Batch([slot for slot, _ in slots], outcomes)
        with batch.ensure_outcomes():
            await self._dispatcher.run(batch, slots, news=True)

    def _abandoned(self) -> tuple[list[tuple[OpenAct, bool]], tuple[StoreDamaged, ...]]:
        """Acts of processes that are gone, and whether the record says the same of them."""
        acts, faults = self._journal.open()
        gone = {owner: not self._alive(owner) for owner in {act.owner for act in acts}}
        return [(act, self._journal.is_bound(act)) for act in acts if gone[act.owner]], faults

    async def _settle(
        self, act: OpenAct, again: ActIntent | str, outcomes: list[Outcome]
    ) -> MentisError | None:
        """Write down that it is tried again, or that nobody knows."""
        if isinstance(again, ActIntent):
            begin = partial(self._journal.begin, [again])
            (fault,) = await self._dispatcher.record(begin)
            return fault
        outcome = _unknown(act, again)
        fault = await self._dispatcher.record(partial(self._journal.give_up, act, outcome))
        if fault is None:
            outcomes.append(outcome)
        return fault

    def _again(self, act: OpenAct) -> ActIntent | str:
        """One more attempt; or why there is none, if that is not plain."""
        spec = self._unchanged(act.call.action.type, act.spec)
        if spec is None or not spec.declaration.idempotent or act.call.attempt > self._retries:
            return ""
        if self._judge is None:
            return ""
        decision = judge_safely(self._judge, act.call, spec)
        if decision.verdict != "allow":
            return decision.reason or decision.rule
        return ActIntent(replace(act.call, attempt=act.call.attempt + 1), spec, act.spec)

    def _asked(self, act: WaitingAct) -> ActIntent | SettledAct:
        call, late = act.call, act.expires <= moment(self._dispatcher.clock.now())
        spec = self._unchanged(call.action.type, act.spec)
        if spec is not None and not late:
            return ActIntent(call, spec, act.spec, act.decision, approved=True)
        state: OutcomeState = "refused" if late else "unavailable"
        reason = f"nobody began it until {act.expires}" if late else _CHANGED
        outcome = Outcome(call.action, state, reason=reason, key=call.key, source=act.source)
        return SettledAct(call, outcome, act.decision, act.spec, approved=True)

    def _unchanged(self, name: str, digest: Digest) -> ActSpec | None:
        """What is declared now, if that is what was declared then and may still be done."""
        if self._registry.handler(name) is None or self._registry.block_reason(name):
            return None
        return self._registry.spec(name) if self._registry.digest(name) == digest else None


def _unknown(act: OpenAct, why: str) -> Outcome:
    call = act.call
    reason = f"{GONE}; it is not repeated" + (f": {why}" if why else "")
    return Outcome(call.action, "unknown", reason=reason, key=call.key, source=act.source)


def _told(fault: MentisError) -> list[str]:
    """That somebody else was faster is no fault."""
    return [] if isinstance(fault, StoreConflict) else [fault.message]
