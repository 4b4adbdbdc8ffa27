"""Keeps signed checkpoints. The double is `mentis.stores.memory.LedgerInMemory`."""

from __future__ import annotations

from typing import Protocol


class Checkpoints(Protocol):
    def keep_checkpoint(self, agent: str, size: int, note: str) -> None: ...

    def checkpoints(self, agent: str) -> tuple[tuple[int, str], ...]:
        """Size and note of every checkpoint, in the order they were kept."""
        ...
