"""The outcome of an act after its turn, as a sense of the agent: a result, or a failure."""

from __future__ import annotations

from mentis.values.action import Outcome
from mentis.values.cognition import Sense

FAILED, RESULT = "act.failed", "act.result"


def sense_of(outcome: Outcome) -> Sense:
    """Results are what somebody else said; why something failed may repeat it."""
    failed = outcome.state != "done"
    payload: dict[str, object] = {
        "key": outcome.key,
        "type": outcome.action.type,
        "state": outcome.state,
        "source": outcome.source,
    }
    payload |= {"reason": outcome.reason} if outcome.reason else {}
    payload |= {"text": outcome.text} if outcome.text else {}
    if outcome.blob:
        payload |= {"blob": outcome.blob, "size": outcome.size}
    kind = FAILED if failed else RESULT
    return Sense(f"{kind}:{outcome.key or outcome.action.call_id}", kind, payload, outcome.trust)
