"""Calls a built-in act as the dispatcher would, and reads what it answers."""

from __future__ import annotations

import json
from typing import Any

from mentis.act.payloads import fault_in
from mentis.ports.act_handler import ActHandler
from mentis.values.act import ActCall
from mentis.values.action import Action, Outcome
from mentis.values.trust import Trust


async def do(
    handler: ActHandler,
    payload: dict[str, Any],
    *,
    key: str = "k1",
    lineage: Trust = Trust.SELF,
    attempt: int = 1,
    fits: bool = True,
) -> Outcome:
    """`fits` False: the schema does not let it through, and the act itself must not either."""
    action = Action(handler.spec.name, payload)
    assert bool(fault_in(payload, handler.spec.declaration)) is not fits
    call = ActCall(action, key, "home/ada", "main", lineage=lineage, attempt=attempt)
    outcome = await handler.handle(call)
    assert outcome.action is action
    assert (outcome.key, bool(outcome.source)) == (key, True)
    if not fits:
        assert outcome.state == "invalid", outcome
        assert outcome.reason
    return outcome


def result(outcome: Outcome) -> dict[str, Any]:
    assert outcome.state == "done", outcome.reason
    return json.loads(outcome.text)
