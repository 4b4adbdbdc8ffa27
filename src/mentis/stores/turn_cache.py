"""Turns read once: an unchanged row is the same object again, and so is what was made of it."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TypeAlias

from mentis.values.part import MediaPart
from mentis.values.turn import Turn

# The text of the row; the number of each part with bytes, and their digest.
Row: TypeAlias = tuple[str, tuple[tuple[int, str], ...]]
_TURNS, _BYTES = 8192, 16_000_000  # of 64 conversations with 128 messages


class TurnCache:
    """By what stands in the row, not by its place: a changed row is another one by itself.

    The longest unused go first, past a number of turns or of bytes.
    """

    def __init__(self, *, turns: int = _TURNS, size: int = _BYTES) -> None:
        self._turns, self._size, self._room = turns, size, size
        self._kept: OrderedDict[Row, tuple[Turn, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, row: Row) -> Turn | None:
        with self._lock:
            found = self._kept.get(row)
            if found is None:
                return None
            self._kept.move_to_end(row)
            return found[0]

    def keep(self, row: Row, turn: Turn) -> Turn:
        """The turn itself, unless another thread has read the same row in the meantime."""
        size = _size(row, turn)
        with self._lock:
            if row in self._kept:
                return self._kept[row][0]
            if size > self._size:
                return turn
            self._kept[row] = turn, size
            self._room -= size
            while self._room < 0 or len(self._kept) > self._turns:
                self._room += self._kept.popitem(last=False)[1][1]
            return turn


def _size(row: Row, turn: Turn) -> int:
    """The text, the turn read from it, and what is attached."""
    media = (part.data for part in turn.parts if isinstance(part, MediaPart))
    return 2 * len(row[0]) + sum(len(data) for data in media if data)
