"""The ground acts stand on, for a record that is open and no agent."""

from __future__ import annotations

from mentis.home.ground import Ground
from mentis.home.parts import Parts
from mentis.home.persona import open_memory, read_persona
from mentis.record.record import Record


def ground_of(record: Record, parts: Parts) -> Ground:
    """What acts stand on, for a record that is open."""
    persona = read_persona(record.home, record.persona)
    memory = open_memory(
        record.home, persona, record.database, settings=record.settings, clock=record.clock
    )
    return Ground(
        home=record.home,
        settings=record.settings,
        environ=record.environ,
        agent=record.agent,
        persona=persona,
        memory=memory,
        database=record.database,
        ledger=record.ledger,
        clock=record.clock,
        ids=record.ids,
        handlers=parts.handlers,
        channels=parts.channels,
        embedder=parts.embedder,
        screener=parts.screener,
    )
