"""Decides whether an action may become an act in this mode."""

from __future__ import annotations

from mentis.values.action import Action
from mentis.values.block import Mode

_MESSAGE = "message_"


def refusal(action: Action, mode: Mode) -> str | None:
    """Why the action may not run, or None when it may."""
    messages = action.type.startswith(_MESSAGE)
    if mode == "delivery" and not messages:
        return "a delivery may only send messages"
    if mode == "beat" and messages:
        return "a beat may not send messages"
    return None
