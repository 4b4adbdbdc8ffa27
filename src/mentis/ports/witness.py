"""Somebody outside the home who remembers how long the ledger was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

# The consistency proof (RFC 6962) from a size that the witness has seen to that of the checkpoint.
Growth: TypeAlias = Callable[[int], tuple[bytes, ...]]


def no_growth(_old: int) -> tuple[bytes, ...]:
    """For a first checkpoint, and for whoever asks for no proof."""
    return ()


class Witness(Protocol):
    def tell(self, checkpoint: str, growth: Growth = no_growth) -> str:
        """The checkpoint as the witness leaves it: some sign below it."""
        ...

    def last(self) -> str | None:
        """The newest checkpoint it was told, or None."""
        ...


class ListWitness:
    """A witness for tests: it keeps everything it was told."""

    def __init__(self) -> None:
        self.checkpoints: list[str] = []

    def tell(self, checkpoint: str, growth: Growth = no_growth) -> str:  # noqa: ARG002  # it believes
        self.checkpoints.append(checkpoint)
        return checkpoint

    def last(self) -> str | None:
        return self.checkpoints[-1] if self.checkpoints else None
