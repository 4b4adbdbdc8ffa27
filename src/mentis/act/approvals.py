"""Approvals: acts that wait for a person, and the person's yes or no. The first decision counts.

A yes is to one payload and to one definition: both are bound by their digests, in the entry, in
what is done later, and outside of the home. Times are compared as texts, which sort as the times
do. These methods block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from difflib import get_close_matches
from typing import Any, cast

from mentis.errors import StoreConflict, StoreDamaged, UsageError
from mentis.ports.accepted_acts import AcceptedActs
from mentis.ports.clock import Clock
from mentis.ports.entries import Stamp
from mentis.ports.ids import Ids
from mentis.ports.ledger_store import LedgerStore
from mentis.values.act import WaitingAct
from mentis.values.action import Outcome
from mentis.values.entry import Entry
from mentis.values.mark import Mark

from . import entries
from .entries import APPROVED, DECIDED, WAITING, ApprovalDecision, Stage, moment

_MOST_CLOSE = 3


class Approvals:
    def __init__(
        self,
        ledger: LedgerStore,
        stamp: Stamp,
        accepted: AcceptedActs,
        *,
        agent: str,
        clock: Clock,
        ids: Ids,
        genuine: Callable[[Entry], bool],
    ) -> None:
        """`genuine` says whether an entry is what its own hash says."""
        self._ledger = ledger
        self._stamp = stamp
        self._accepted = accepted
        self._genuine = genuine
        self._agent = agent
        self._clock = clock
        self._ids = ids

    def pending(self) -> tuple[tuple[WaitingAct, ...], tuple[StoreDamaged, ...]]:
        """What waits, oldest first, each as it would be done; and what of it cannot be read, or is
        not what the record says.
        """
        marks = self._ledger.marks(self._agent, WAITING)
        acts, faults = entries.read_all(marks, self._asked)
        return tuple(sorted(acts, key=lambda act: (act.since, act.call.key))), faults

    def find(self, key: str) -> WaitingAct:
        """The one with this key, or with a key that begins like this; UsageError otherwise."""
        return self._asked(self._mark(key, WAITING))

    def _mark(self, key: str, *kinds: str) -> Mark:
        known = {mark.key: mark for kind in kinds for mark in self._ledger.marks(self._agent, kind)}
        if key in known:
            return known[key]
        matching = [one for one in known if key and one.startswith(key)]
        if len(matching) != 1:
            raise self._unknown(key, matching, list(known))
        return known[matching[0]]

    def _asked(self, mark: Mark) -> WaitingAct:
        """As a person is shown it. StoreDamaged if the record says otherwise: the mark beside it is
        bound by nothing.
        """
        waiting = entries.waiting_act(mark)
        name = entries.delivery(mark.key, "waiting")
        entry = self._ledger.find_delivery(self._agent, name)
        told = entry is not None and self._genuine(entry) and entries.says_the_same(entry, waiting)
        if not told or waiting.call.key != mark.key:
            raise _unbound(mark.key, "waiting")
        return waiting

    def approve(
        self, key: str, *, by: str, words: str = "", shown: WaitingAct | None = None
    ) -> WaitingAct:
        """Let it be done, as it was asked for. What is declared otherwise by then is not done.

        `shown` is what whoever says yes was shown of it; if it is something else now, it stays.
        """
        waiting = self.find(key)
        if shown not in (None, waiting):
            raise _unbound(waiting.call.key, "waiting")
        if waiting.expires <= moment(self._clock.now()):
            self._decline(waiting, WAITING, "expired", ApprovalDecision(self._ids.new_id(), ""))
            raise self._late(waiting.call.key)
        decided = ApprovalDecision(self._ids.new_id(), by, words)
        self._decide(waiting, "approved", decided, entries.approved_marks(waiting))
        # Afterwards: only one of two who say yes comes here. What is lost in between is not done.
        self._accepted.accept(self._agent, waiting.call.key, entries.waiting_digest(waiting))
        return waiting

    def deny(self, key: str, *, by: str, words: str = "") -> WaitingAct:
        """Never do it, also when it was approved and nobody has begun it. The next turn is told so,
        with the words.
        """
        mark = self._mark(key, APPROVED, WAITING)
        waiting = entries.waiting_act(mark)
        self._decline(waiting, mark.kind, "denied", ApprovalDecision(self._ids.new_id(), by, words))
        return waiting

    def expire(self, now: datetime) -> tuple[WaitingAct, ...]:
        """Give up what nobody decided in time, or approved and nobody began in time; what somebody
        else decided just now is left out.
        """
        with self._ledger.together():
            marks = [*self._ledger.marks(self._agent, WAITING)]
            marks += self._ledger.marks(self._agent, APPROVED)
        given_up: list[WaitingAct] = []
        for mark in marks:
            with suppress(UsageError, StoreDamaged):
                act = entries.waiting_act(mark)
                if act.expires <= moment(now):
                    self._decline(
                        act, mark.kind, "expired", ApprovalDecision(self._ids.new_id(), "")
                    )
                    given_up.append(act)
        return tuple(given_up)

    def _decline(
        self, waiting: WaitingAct, kind: str, stage: Stage, decided: ApprovalDecision
    ) -> None:
        outcome = _declined(waiting, kind, stage, decided)
        if kind == APPROVED:
            self._accepted.forget(self._agent, waiting.call.key)
        marks = entries.declined_marks(waiting, outcome, kind=kind)
        self._decide(waiting, stage, decided, marks)

    def _decide(
        self, waiting: WaitingAct, stage: Stage, decided: ApprovalDecision, marks: Sequence[Mark]
    ) -> None:
        draft = entries.decided_draft(waiting, stage, decided)
        try:
            self._ledger.append(self._agent, [draft], self._stamp, marks=marks)
        except StoreConflict as conflict:
            raise self._late(waiting.call.key) from conflict

    def _unknown(self, key: str, matching: Sequence[str], keys: Sequence[str]) -> UsageError:
        if len(matching) > 1:
            listed = ", ".join(matching[:_MOST_CLOSE])
            message = f"{len(matching)} acts that wait have a key that begins with {key!r}"
            return UsageError(message, hint=f"give more of the key: {listed}", key=key)
        if key and any(self._decision(key)):
            return self._late(key)
        close = get_close_matches(key, keys, n=_MOST_CLOSE, cutoff=0.5)
        hint = (
            f"did you mean {' or '.join(close)}?" if close else "`mentis acts pending` lists them"
        )
        return UsageError(f"no act that waits has the key {key!r}", hint=hint, key=key)

    def _late(self, key: str) -> UsageError:
        """What happened to it, as the ledger tells it."""
        stage, who, when = self._decision(key)
        told = f"it was {stage}{who and f' by {who}'} at {when}" if stage else "it waits no more"
        hint = f"`mentis acts show {key}` shows all of it"
        return UsageError(f"act {key} is decided already: {told}", hint=hint, key=key, stage=stage)

    def _decision(self, key: str) -> tuple[str, str, str]:
        for stage in DECIDED:
            entry = self._ledger.find_delivery(self._agent, entries.delivery(key, stage))
            if entry is not None:
                decided: dict[str, Any] = cast("Any", entry.body.get("decided", {}))
                return stage, str(decided.get("by", "")), entry.time
        return "", "", ""


def check_bound(ledger: LedgerStore, agent: str, waiting: WaitingAct, stage: Stage) -> None:
    """StoreDamaged unless the record says the same: the mark beside it is bound by nothing."""
    key = waiting.call.key
    entry = ledger.find_delivery(agent, entries.delivery(key, stage))
    told: dict[str, Any] = cast("Any", entry.body.get("act", {})) if entry is not None else {}
    payload = entries.payload_digest(waiting.call.action.payload)
    said = (told.get("type"), told.get("spec"), told.get("payload"), told.get("mode"))
    if said != (waiting.call.action.type, waiting.spec, payload, waiting.call.mode):
        raise _unbound(key, stage)


def _unbound(key: str, stage: Stage) -> StoreDamaged:
    return StoreDamaged(
        f"act {key} as it stands is not what the record says of it at {stage!r}",
        hint=f"deny it (`mentis acts deny {key}`) and have it asked for again",
        key=key,
        stage=stage,
    )


def _declined(waiting: WaitingAct, kind: str, stage: Stage, decided: ApprovalDecision) -> Outcome:
    did = "began" if kind == APPROVED else "approved"
    late = f"nobody {did} it until {waiting.expires}"
    said = f"denied by {decided.by}" if stage == "denied" else late
    reason = f"{said}: {decided.words}" if decided.words else said
    call = waiting.call
    return Outcome(call.action, "refused", reason=reason, key=call.key, source=waiting.source)
