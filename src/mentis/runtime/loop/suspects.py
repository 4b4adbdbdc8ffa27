"""Which sense it is that no tick can take: what a failed tick was told is tried by itself.

A sense is found out only by contrast: ticks fail with it, and one without it does not. Where a tick
that is told nothing at all fails too, none of them is to blame. That a tick came too late says
little of what it was told: it counts only right after one that did not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from mentis.values.cognition import Sense
from mentis.values.value import Value


@dataclass(frozen=True, slots=True)
class Trial(Value):
    """What the next tick is told: of what is given these, and `only` those that are carried over;
    all of them where that is None.
    """

    senses: tuple[Sense, ...]
    only: tuple[str, ...] | None = None


@dataclass(slots=True)
class Suspect:
    """`failures`: ticks in a row that failed with it. `alone`: one without it did not since."""

    sense: Sense
    failures: int = 0
    reason: str = ""
    alone: bool = False


class Suspects:
    """`tries` is how many ticks may fail with a sense; 0 suspects none."""

    def __init__(self, tries: int) -> None:
        self._tries = tries
        self._all: dict[str, Suspect] = {}
        self._steady = self._late = False  # how the last tick went

    def trial(self, given: Sequence[Sense], carried: Iterable[str]) -> Trial:
        """One suspect by itself, the least tried first; all but the suspects, once each was tried
        often enough; everything, where nothing is suspected.
        """
        own, left = {one.id: one for one in given}, tuple(carried)
        found = [self._all[name] for name in (*own, *left) if name in self._all]
        if not found:
            return Trial(tuple(given))
        first = min(found, key=lambda one: one.failures)
        if self._late or first.failures >= self._tries:
            others = tuple([one for one in given if one.id not in self._all])
            return Trial(others, tuple([name for name in left if name not in self._all]))
        name = first.sense.id
        return Trial((own[name],), ()) if name in own else Trial((), (name,))

    def failed(self, told: Sequence[Sense], reason: str, *, late: bool = False) -> None:
        """A tick that was told this; if that was nothing, what it was told is not why they fail."""
        if not told:
            self._all.clear()
        for one in told if self._tries else ():
            suspect = self._all.setdefault(one.id, Suspect(one))
            suspect.failures += self._steady or not late
            suspect.reason = reason
        self._steady, self._late = False, late

    def lost(self) -> None:
        """A tick that failed whatever it was told."""
        self._steady = self._late = False

    def heard(self, told: Iterable[str]) -> None:
        self._steady, self._late = True, False
        self.forget(told)
        for one in self._all.values():
            one.alone = True

    def forget(self, ids: Iterable[str]) -> None:
        for name in ids:
            self._all.pop(name, None)

    def found_out(self, present: Collection[str]) -> tuple[Suspect, ...]:
        """Those that are still there and that no tick could take."""
        often = [one for one in self._all.values() if one.alone and one.failures >= self._tries]
        return tuple([one for one in often if one.sense.id in present])
