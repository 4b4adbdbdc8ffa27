"""Keeps chains of entries. The double is `mentis.stores.memory.LedgerInMemory`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Protocol, TypeAlias

from mentis.values.entry import Before, Draft, Entry, Head
from mentis.values.lease import Lease
from mentis.values.mark import Mark
from mentis.values.tally import Tally
from mentis.values.turn_writes import TurnWrites

Stamp: TypeAlias = Callable[[str, Before | None, Draft], Entry]
LOOKED_BACK = 10_000  # entries that are looked through for the last of a kind


class Entries(Protocol):
    def append(
        self,
        agent: str,
        drafts: Sequence[Draft],
        stamp: Stamp,
        *,
        lease: Lease | None = None,
        marks: Sequence[Mark] = (),
        turns: TurnWrites | None = None,
    ) -> tuple[Entry, ...]:
        """Add all drafts or none. `stamp(agent, head, draft)` runs inside the write transaction.

        A draft whose delivery is known already yields the entry that was made of it then. With a
        lease it is LeaseHeld once somebody else has taken the lease. `marks` are set and taken
        away in the same transaction, or StoreConflict and nothing happens at all, and `turns` are
        written in it; when every draft was known already, that was done then, and stays as it is.
        """
        ...

    def erase(
        self,
        agent: str,
        index: int,
        fields: Collection[str],
        *,
        draft: Draft,
        stamp: Stamp,
        marks: Sequence[Mark] = (),
        turns: TurnWrites | None = None,
    ) -> Entry:
        """Remove value and salt of these body fields and append `draft`, the tombstone, as one.

        The commitments stay. With the field `delivery` goes the column that repeats it. `marks`
        are set and taken away and `turns` written in the same transaction.
        """
        ...

    def remains(self) -> tuple[str, ...]:
        """Where what was last erased or dropped may still be read; what the store cleans is not.

        Copies that somebody else made, like backups, are named where the store's own kind of
        database makes them by itself.
        """
        ...

    def drop_before(self, agent: str, index: int) -> int:
        """Remove the entries before `index` (never the last one) and return how many went.

        Their hashes stay, for proofs, and their deliveries, which are never taken again unless
        they are forgotten.
        """
        ...

    def entries(self, agent: str, *, start: int = 0) -> Iterator[Entry]:
        """The entries still kept, from index `start` on, read as they are asked for.

        What is erased or dropped while they are read may be seen by halves, but in a `snapshot`.
        """
        ...

    def hashes(self, agent: str, *, start: int = 0) -> Iterator[str]:
        """The hash of every entry from index `start` on, also of those that were dropped.

        StoreDamaged unless what was dropped ends exactly where what is kept begins.
        """
        ...

    def dropped_as(self, agent: str, delivery: str) -> int | None:
        """The index of the entry that was delivered as this and dropped; None if there is none."""
        ...

    def forget_delivery(self, agent: str, index: int) -> None:
        """Remove what an entry that was dropped was delivered as; then it may be taken again."""
        ...

    def dropped_deliveries(self, agent: str, *, start: int = 0) -> Iterator[str | None]:
        """What each entry that was dropped was delivered as, from index `start` on."""
        ...

    def latest(self, agent: str, count: int, *, kind: str = "") -> tuple[Entry, ...]:
        """The last `count` entries that are kept, oldest first.

        With `kind` the last of that kind, as far as they are among the last LOOKED_BACK.
        """
        ...

    def last_of(
        self, agent: str, kinds: Collection[str], fields: Collection[str], *, before: int
    ) -> Iterator[Entry]:
        """The kept entries before an index that are of one of these kinds, or have a body field of
        one of these names; the newest first, read as they are asked for, and no other is.
        """
        ...

    def find(self, agent: str, index: int) -> Entry | None: ...

    def find_delivery(self, agent: str, delivery: str) -> Entry | None: ...

    def head(self, agent: str) -> Head | None: ...

    def count(self, agent: str) -> int:
        """How long the chain is, with the entries that were dropped from its beginning."""
        ...

    def tally(self, agent: str) -> Tally:
        """How many entries are kept, by source and by kind, counted without reading their bodies.

        Names sort by their code points.
        """
        ...

    def gaps(self, agent: str) -> tuple[tuple[int, int], ...]:
        """First and last index of every run that is missing between two entries that are kept."""
        ...

    def agents(self) -> tuple[str, ...]:
        """Those with entries, in the order of their names."""
        ...

    def misnamed_agents(self) -> tuple[str, ...]:
        """What entries call their agent and no agent can be called; in a form to be shown."""
        ...
