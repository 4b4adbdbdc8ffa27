"""One loop for one agent: a second one is told who runs it already."""

from __future__ import annotations

from contextlib import AbstractContextManager

from mentis.home.identity import Identity
from mentis.record.agent_record import AgentRecord
from mentis.turn.lock import named_lock


def loop_lock(record: AgentRecord, who: Identity) -> AbstractContextManager[AgentRecord]:
    """Be the one that runs it, for the length of the block. It blocks."""
    return named_lock(
        record,
        who,
        "run",
        taken=f"{who.persona.id} is run already by",
        hint="stop that one first: it ends cleanly on SIGTERM",
    )
