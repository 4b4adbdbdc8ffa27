"""Keeps the record of agents. The double is `mentis.stores.memory.LedgerInMemory`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from .checkpoints import Checkpoints
from .entries import Entries
from .leases import Leases
from .marks import Marks
from .turns import Turns


class LedgerStore(Entries, Marks, Turns, Leases, Checkpoints, Protocol):
    """One store and one unit of work: what an entry brings with it is written with it, or nothing
    is. Who opens and closes it has all of it; whoever uses it takes the part it needs.
    """

    def together(self) -> AbstractContextManager[None]:
        """A few reads after another, which cost less in it than one by one. It blocks, and others
        may wait for it: nothing else belongs into the block.
        """
        ...

    def snapshot(self) -> AbstractContextManager[LedgerStore]:
        """The store as it is now, as long as the block lasts: what others do meanwhile is not seen.

        It is for reading, and Defect for whoever writes to it. Nobody waits for it. What is erased
        meanwhile may stay until it ends in files of the store, which `remains` says.
        """
        ...

    def damage(self) -> tuple[str, ...]:
        """What is wrong between tables and indexes, of all agents; reading entries shows it not.

        A row that its index does not know is not found again, and its delivery taken twice.
        """
        ...

    def close(self) -> None:
        """Let go of connections of its own, if it has any."""
        ...
