"""The only place fresh ids and salts come from."""

from __future__ import annotations

from typing import Protocol


class Ids(Protocol):
    def new_id(self) -> str:
        """A name nothing else has."""
        ...

    def salt(self) -> bytes:
        """16 bytes nobody can guess."""
        ...


class CountingIds:
    """Ids for tests and replay: they count up from 1."""

    def __init__(self) -> None:
        self._ids = 0
        self._salts = 0

    def new_id(self) -> str:
        """The next number, as an id."""
        self._ids += 1
        return f"id-{self._ids:06d}"

    def salt(self) -> bytes:
        """The next number, as 16 bytes."""
        self._salts += 1
        return self._salts.to_bytes(16, "big")
