"""Runs what passed the gate, and says of everything else why it did not run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mentis.ports.act_handler import ActHandler
from mentis.values.action import Action, Outcome
from mentis.values.block import Mode

from .gate import refusal


async def dispatch(
    actions: Sequence[Action], handlers: Mapping[str, ActHandler], *, mode: Mode
) -> tuple[Outcome, ...]:
    """One outcome for each action, in their order."""
    return tuple([await _act(action, handlers, mode) for action in actions])


async def _act(action: Action, handlers: Mapping[str, ActHandler], mode: Mode) -> Outcome:
    if action.type not in handlers:
        return Outcome(action, "not_found", reason=f"nothing here does {action.type!r}")
    if reason := refusal(action, mode):
        return Outcome(action, "refused", reason=reason)
    try:
        return await handlers[action.type].handle(action)
    except Exception as error:  # noqa: BLE001  # a handler is foreign code: its failure is an outcome
        return Outcome(action, "crashed", reason=f"{type(error).__name__}: {error}")
