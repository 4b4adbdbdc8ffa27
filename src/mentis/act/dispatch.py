"""Runs what passed the gate, and says of everything else why it did not run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mentis.codec.forms import to_json
from mentis.errors import BadInput
from mentis.ports.act_handler import ActHandler
from mentis.values.action import Action, Outcome
from mentis.values.block import Mode

from .gate import refusal
from .payloads import fault_in


async def dispatch(
    actions: Sequence[Action],
    handlers: Mapping[str, ActHandler],
    *,
    mode: Mode,
    outcomes: list[Outcome],
) -> None:
    """Add one outcome for each action, in their order, as soon as there is one.

    The list is the caller's: what was done before a cancellation stays in it, and so does a word
    on what was being done then.
    """
    for action in actions:
        try:
            outcomes.append(await _act(action, handlers, mode))
        except BaseException:
            reason = "cancelled while it ran; how far it came is not known"
            outcomes.append(Outcome(action, "unknown", reason=reason))
            raise


async def _act(action: Action, handlers: Mapping[str, ActHandler], mode: Mode) -> Outcome:
    if action.type not in handlers:
        return Outcome(action, "not_found", reason=f"nothing here does {action.type!r}")
    if reason := refusal(action, mode):
        return Outcome(action, "refused", reason=reason)
    try:
        if fault := fault_in(action.payload, handlers[action.type].declaration):
            return Outcome(action, "invalid", reason=fault)
    except BadInput as error:
        return Outcome(action, "unavailable", reason=error.message)
    try:
        return _checked(await handlers[action.type].handle(action))
    except Exception as error:  # noqa: BLE001  # a handler is foreign code: its failure is an outcome
        said = f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace").decode()
        return Outcome(action, "crashed", reason=said)


def _checked(outcome: Outcome) -> Outcome:
    """A handler's answer must be an outcome that can be recorded."""
    if not isinstance(outcome, Outcome):  # pyright: ignore[reportUnnecessaryIsInstance]  # foreign code
        raise TypeError(f"the handler returned {type(outcome).__name__}, not an Outcome")
    to_json(outcome)
    return outcome
