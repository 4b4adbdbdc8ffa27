"""Somebody outside the home who remembers how long the ledger was."""

from __future__ import annotations

from typing import Protocol


class Witness(Protocol):
    def tell(self, checkpoint: str) -> None: ...

    def last(self) -> str | None:
        """The newest checkpoint it was told, or None."""
        ...


class ListWitness:
    """A witness for tests: it keeps everything it was told."""

    def __init__(self) -> None:
        self.checkpoints: list[str] = []

    def tell(self, checkpoint: str) -> None:
        self.checkpoints.append(checkpoint)

    def last(self) -> str | None:
        return self.checkpoints[-1] if self.checkpoints else None
