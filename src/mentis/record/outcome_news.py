"""News of an act, held against its entries: in the store, or in a segment they were moved to."""

from __future__ import annotations

from functools import partial
from itertools import islice

from mentis.act.news import bound_news
from mentis.errors import StoreDamaged
from mentis.home.ground import Ground
from mentis.ledger.segments import is_genuine
from mentis.values.action import Outcome
from mentis.values.entry import Entry
from mentis.values.mark import Mark

from .segments import open_segments


def read_news(ground: Ground, mark: Mark) -> Outcome:
    """StoreDamaged unless the record says the same. It blocks."""
    try:
        return bound_news(mark, partial(_stored, ground))
    except StoreDamaged:
        if next(iter(ground.ledger.dropped_deliveries(ground.agent)), ...) is ...:
            raise  # nothing was moved out
    return bound_news(mark, partial(_anywhere, ground))


def _stored(ground: Ground, delivery: str) -> Entry | None:
    """What was delivered as this, if it is what its own hash says."""
    entry = ground.ledger.find_delivery(ground.agent, delivery)
    if entry is None or not is_genuine(entry, ground.agent, entry.index, entry.hash):
        return None
    return entry


def _anywhere(ground: Ground, delivery: str) -> Entry | None:
    ledger, agent = ground.ledger, ground.agent
    if stored := _stored(ground, delivery):
        return stored
    if (index := ledger.dropped_as(agent, delivery)) is None:
        return None
    (kept,) = islice(ledger.hashes(agent, start=index), 1)
    return open_segments(ground.home, ground.settings, ground.persona.id, agent).find(index, kept)
