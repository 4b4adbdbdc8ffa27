"""Where entries stand: numbers, links and times; and a name for what was done to them.

That something was done is certain. What it was is read from the traces, and a careful forger can
make one thing look like another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from mentis.errors import NotCanonical
from mentis.values.entry import Attack, Entry, Finding

from .chain import hash_entry

_NEAR = 8
_MOST = 1000


class ChainOrder:
    """Follows the order of a chain from a given point on."""

    def __init__(self, agent: str, size: int, head: str | None, time: str) -> None:
        self.agent = agent
        self.size = size
        self.head = head
        self.time = time
        self._highest = size - 1
        self._missing: set[int] = set()
        self._returned: set[int] = set()
        self._moved: dict[int, int] = {}

    def take(self, entry: Entry) -> Iterable[Finding]:
        follows = (
            entry.index == self.size
            and entry.prev == self.head
            and entry.agent == self.agent
            and entry.time >= self.time
        )
        findings = () if follows else tuple(self._check(entry))
        self._highest = max(self._highest, entry.index)
        self.size, self.head, self.time = entry.index + 1, entry.hash, entry.time
        return findings

    def _check(self, entry: Entry) -> Iterator[Finding]:
        if entry.agent != self.agent:
            message = f"expected {self.agent!r}, got {entry.agent!r}"
            yield Finding(entry.index, "agent", message, "identity")
        yield from self._check_index(entry)
        if entry.prev != self.head:
            message = f"expected {self.head!r}, got {entry.prev!r}"
            yield Finding(entry.index, "prev", message)
        if entry.time < self.time:
            message = f"{entry.time!r} is earlier than {self.time!r} of the entry before"
            yield Finding(entry.index, "time", message)

    def find_origin(self, entry: Entry) -> None:
        """An entry whose hash does not fit: does it fit another place nearby?"""
        if len(self._moved) >= _MOST:
            return
        for distance in range(1, _NEAR + 1):
            for index in (entry.index + distance, entry.index - distance):
                if _fits(entry, index):
                    self._moved[entry.index] = index
                    return

    def name_attack(self, finding: Finding) -> Finding:
        """The finding with what was done, as far as the whole chain tells."""
        if finding.attack == "deleted" and finding.index in self._returned:
            return replace(finding, attack="reordered")
        origin = self._moved.get(finding.index)
        if finding.attack != "edited" or finding.column not in ("hash", "prev") or origin is None:
            return finding
        return replace(
            finding,
            attack=self._shift(finding.index, origin),
            message=f"{finding.message}; this was entry {origin}",
        )

    def _shift(self, place: int, origin: int) -> Attack:
        if set(self._moved) == set(self._moved.values()):
            return "reordered"
        return "deleted" if origin > place else "inserted"

    def _check_index(self, entry: Entry) -> Iterator[Finding]:
        expected, index = self.size, entry.index
        if index != expected:
            message = f"expected entry {expected} here, got entry {index}"
            yield Finding(expected, "index", message, self._jump(expected, index))

    def _jump(self, expected: int, index: int) -> Attack:
        if index in self._missing:
            self._missing.discard(index)
            self._returned.add(index)
            return "reordered"
        if index > self._highest:
            gap = range(self._highest + 1, min(index, self._highest + _MOST))
            self._missing.update(gap)
            return "deleted" if expected > self._highest else "reordered"
        return "inserted"


def _fits(entry: Entry, index: int) -> bool:
    try:
        return index >= 0 and hash_entry(replace(entry, index=index)) == entry.hash
    except NotCanonical:
        return False
