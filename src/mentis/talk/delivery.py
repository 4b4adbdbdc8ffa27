"""A delivery: what an act brought after its turn is told to whoever asked, in one message.

It is offered nothing but acts that send messages, sees no history, no thoughts and nothing the
persona keeps for itself. What a message came to is never delivered, so that no
delivery leads to another.
"""

from __future__ import annotations

from anyio import CancelScope, to_thread

from mentis.ask.ask import OnDelta
from mentis.compose.requests import outputs_text
from mentis.errors import UsageError
from mentis.turn.agent_parts import AgentParts
from mentis.turn.deliveries import why_undeliverable
from mentis.turn.turn import TurnResult, run_turn
from mentis.values.action import Outcome
from mentis.values.recalled import Stimulus
from mentis.values.trust import Trust

INNER = "delivery"


async def make_delivery(
    parts: AgentParts, outcome: Outcome, *, session: str, on_delta: OnDelta, reading: CancelScope
) -> TurnResult:
    """Tell it in that session, or by a message, if an act for that is offered."""
    present = await to_thread.run_sync(parts.look)
    chosen = present.settings.model.delivery
    reason = await to_thread.run_sync(
        why_undeliverable, parts.record, parts.acting.registry, outcome, chosen.attempts
    )
    if reason:
        raise UsageError(
            f"this cannot be delivered: {reason}",
            hint="`mentis acts log` shows what became of it",
            key=outcome.key,
        )
    stimulus = Stimulus(
        outputs_text([_told(outcome)]),
        author=outcome.action.type,
        trust=Trust.UNTRUSTED,
        inner=INNER,
        mode="delivery",
        delivers=outcome.key,
    )
    small = parts.limited(chosen.tokens)
    return await run_turn(small, stimulus, session=session, on_delta=on_delta, reading=reading)


def _told(outcome: Outcome) -> dict[str, object]:
    told: dict[str, object] = {"type": outcome.action.type, "state": outcome.state}
    told["asked"] = dict(outcome.action.payload)
    told |= {"output": outcome.text} if outcome.text else {}
    told |= {"reason": outcome.reason} if outcome.reason else {}
    return told | ({"size": outcome.size} if outcome.blob else {})
