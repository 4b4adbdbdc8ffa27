"""Reserves what turns and ticks under way may use, before any record knows of it.

A budget that lasts is for all processes of an agent together: each says on the disk what its turn
may come to at most, looks at what the others say, and only then asks. It is let go when the turn is
recorded, or when the process ends.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from pathlib import Path
from threading import Lock
from typing import TypeVar

from mentis.disk.atomic import unwritable
from mentis.disk.held import HeldText, held_in
from mentis.disk.inside import inside
from mentis.disk.lock import folder_lock
from mentis.home.identity import Identity

_FOLDER = "budget"
_LOCKS: dict[Path, Lock] = {}
T = TypeVar("T")


class BudgetReservation:
    """That of one turn or tick; nothing is on the disk before `keep`. Its methods block."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held = HeldText(folder)

    @classmethod
    def of(cls, who: Identity) -> BudgetReservation:
        return cls(who.home.owners / _FOLDER / who.persona.id)

    @contextmanager
    def alone(self, seconds: float) -> Generator[None]:
        """What is looked at has to hold until it is kept: nobody else looks meanwhile."""
        home = self._folder.parents[2]
        inside(home, str(self._folder.relative_to(home)))
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(self._folder, error) from error
        # Turns of this process wait for each other as long as it takes, for another one no longer
        # than `seconds`.
        with _LOCKS.setdefault(self._folder, Lock()), folder_lock(self._folder, seconds=seconds):
            yield

    def others(self) -> tuple[int, Decimal]:
        """Tokens and US dollars that others may come to."""
        tokens, usd = 0, Decimal(0)
        for text in held_in(self._folder, without=self._held):
            one, paid = _read(text)
            tokens, usd = tokens + one, usd + paid
        return tokens, usd

    def keep(self, tokens: int, usd: Decimal) -> None:
        self._held.put(json.dumps({"tokens": tokens, "usd": str(usd)}))

    def release(self) -> None:
        self._held.release()


def release_after(reserve: BudgetReservation, keep: Callable[[], T]) -> T:
    """From then on the record says what was used; where that fails, nobody else waits for it."""
    try:
        return keep()
    finally:
        reserve.release()


def _read(text: str) -> tuple[int, Decimal]:
    """Nothing, where it is none of ours."""
    try:
        told = json.loads(text)
        return int(told["tokens"]), Decimal(told["usd"])
    except (ValueError, KeyError, TypeError, InvalidOperation):
        return 0, Decimal(0)
