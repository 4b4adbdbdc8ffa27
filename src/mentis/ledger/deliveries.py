"""Deliveries seen so far, in bounded memory.

The first ones are kept by name. Beyond that a Bloom filter takes over, and what it suspects is
looked up in a second reading.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable

from mentis.values.entry import Entry, Finding

_BY_NAME = 20_000
_BITS = 1 << 27  # 16 MiB; about one false suspicion in 10,000 runs over a million entries
_POSITIONS = struct.Struct("<8I")
_MOST = 1000


class Deliveries:
    def __init__(self) -> None:
        self._names: set[str] = set()
        self._filter: bytearray | None = None
        self._suspects: dict[str, int] = {}

    def take(self, entry: Entry) -> Finding | None:
        """The finding, when it is certain already that this delivery was there before."""
        delivery = entry.delivery
        if delivery is None:
            return None
        if self._filter is not None:
            if not _mark(self._filter, delivery) and len(self._suspects) < _MOST:
                self._suspects.setdefault(delivery, entry.index)
        elif delivery not in self._names:
            self._names.add(delivery)
            if len(self._names) == _BY_NAME:
                self._grow()
        else:
            return _replayed(entry.index, delivery)
        return None

    def findings(self, again: Iterable[Entry] | None) -> list[Finding]:
        """What else stands there twice. Without a second reading a suspicion counts."""
        if again is None or not self._suspects:
            return [_replayed(index, name) for name, index in self._suspects.items()]
        first: set[str] = set()
        found: list[Finding] = []
        for entry in again:
            if entry.delivery in self._suspects:
                if entry.delivery in first:
                    found.append(_replayed(entry.index, entry.delivery))
                first.add(entry.delivery)
        return found

    def _grow(self) -> None:
        self._filter = bytearray(_BITS >> 3)
        for name in self._names:
            _mark(self._filter, name)
        self._names.clear()


def _mark(bits: bytearray, delivery: str) -> bool:
    """Whether it was certainly not there before."""
    new = False
    digest = hashlib.sha256(delivery.encode(errors="surrogatepass")).digest()
    for position in _POSITIONS.unpack(digest):
        place, bit = (position % _BITS) >> 3, 1 << (position & 7)
        if not bits[place] & bit:
            bits[place] |= bit
            new = True
    return new


def _replayed(index: int, delivery: str) -> Finding:
    message = f"delivery {delivery!r} is an entry already; a draft was replayed"
    return Finding(index, "delivery", message, "replayed")
