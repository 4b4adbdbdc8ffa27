"""The compatibility form of what a reply wants done."""

from __future__ import annotations

from mentis.values.reply import Reply


def to_actions(reply: Reply) -> dict[str, list[dict[str, object]]]:
    """`{"actions": [{"type", "payload"}]}`, in the order the model asked for them."""
    return {
        "actions": [
            {"type": action.type, "payload": dict(action.payload)} for action in reply.actions
        ]
    }
