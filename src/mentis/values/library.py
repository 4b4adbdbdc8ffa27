"""The frozen snapshot of every block and placeholder that compose works from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .block import Block
from .placeholder import Placeholder
from .value import Value


@dataclass(frozen=True, slots=True)
class Library(Value):
    """All blocks and placeholders that prompts are made of, frozen.

    `revision` is the digest of everything in it: equal revisions mean equal prompts."""

    revision: str
    blocks: tuple[Block, ...]
    placeholders: Mapping[str, Placeholder]
    words: Mapping[str, Mapping[str, tuple[str, ...]]]

    def block(self, block_id: str) -> Block | None:
        """The block with that id, if there is one."""
        return next((block for block in self.blocks if block.id == block_id), None)
