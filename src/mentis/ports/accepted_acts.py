"""Approvals kept beside the keys. The double is `mentis.stores.memory.AcceptedInMemory`."""

from __future__ import annotations

from typing import Protocol

from mentis.values.digest import Digest


class AcceptedActs(Protocol):
    """These methods block."""

    def accept(self, agent: str, key: str, what: Digest) -> None:
        """Safe on the disk when it returns."""
        ...

    def is_accepted(self, agent: str, key: str, what: Digest) -> bool: ...

    def forget(self, agent: str, key: str) -> bool:
        """False when there was nothing."""
        ...

    def seal(self, text: str) -> str:
        """The same for the same text, and nobody can make it who does not have the secret."""
        ...
