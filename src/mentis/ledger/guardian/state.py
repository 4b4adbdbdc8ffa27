"""How the ledger's state goes on from window to window. Reducers: a state in, a new one out."""

from __future__ import annotations

from dataclasses import replace

from mentis.values.guardian import CYCLE_LENGTH, GuardianState, Receipt, Routes
from mentis.values.json import JsonObject

from .reading import array_at, does, object_at, plans, status_of


def next_state(
    state: GuardianState, window: JsonObject, *, head: str | None = None, time: str | None = None
) -> GuardianState:
    """The state after a window was kept; `head` and `time` are those of its entry."""
    ended = state.cycle >= CYCLE_LENGTH
    return replace(
        state,
        step=state.step + 1 if ended else state.step,
        cycle=1 if ended else state.cycle + 1,
        since_audit=0 if audits(window) else state.since_audit + 1,
        after_breach=state.after_breach and not recovers(window),
        head=head if head is not None else state.head,
        head_time=time if time is not None else state.head_time,
        previous=_remembered(window, state),
        receipt=None,
    )


def after_breach(state: GuardianState) -> GuardianState:
    """A rule was broken in a way that must be answered: the next window is a recovery."""
    return replace(state, after_breach=True)


def with_routes(state: GuardianState, routes: Routes) -> GuardianState:
    return replace(state, routes=routes)


def with_receipt(state: GuardianState, receipt: Receipt) -> GuardianState:
    """What is known of whether the last window was kept."""
    return replace(state, receipt=receipt)


def audits(window: JsonObject) -> bool:
    """Whether a window is an audit: an action names it and a rule was checked."""
    checked = array_at(object_at(window, "rule_tangency"), "checked_rules")
    return does(window, "audit") and bool(checked)


def recovers(window: JsonObject) -> bool:
    """Whether a window answers a breach as the protocol asks."""
    return status_of(window) == "RED" and does(window, "recovery") and plans(window, "repair")


def _remembered(window: JsonObject, state: GuardianState) -> JsonObject:
    """The window as the ledger counts it: step and cycle are its own, whatever the draft says."""
    if not state.known:
        return dict(window)
    return {**window, "step_id": state.step_id, "cycle": state.cycle_text}
