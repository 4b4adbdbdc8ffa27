"""The entries of a record from its end, read as they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from mentis.ports.entries import Entries
from mentis.values.entry import Entry

_FIRST, _LARGEST = 16, 256  # entries that are read at once


def backwards(agent: str, store: Entries, before: int | None = None) -> Iterator[Entry]:
    """Those still in the store, or those before one, the newest first. In pieces that grow: what is
    looked for is mostly near.
    """
    count = store.count(agent)
    end, size = count if before is None else min(before, count), _FIRST
    while end > 0:
        start = max(end - size, 0)
        read = islice(store.entries(agent, start=start), end - start)
        piece = [entry for entry in read if entry.index < end]
        if not piece:
            return
        yield from reversed(piece)
        end, size = start, min(size * 4, _LARGEST)
