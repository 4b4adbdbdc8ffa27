"""Which sense it is that no tick can take: what a failed tick was told is tried by itself.

A sense is found out only by contrast: ticks fail with it, and one without it does not. Where a tick
that is told nothing at all fails too, none of them is to blame. That a tick came too late, or its
answer broke off, says little of what it was told: it counts only right after one that went well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from mentis.values.cognition import Sense
from mentis.values.json import JsonObject
from mentis.values.value import Value

_MOST_KEPT = 256
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class SenseTrial(Value):
    """What the next tick is told: of what is given these, and `only` those that are carried over;
    all of them where that is None.
    """

    senses: tuple[Sense, ...]
    only: tuple[str, ...] | None = None


@dataclass(slots=True)
class Suspect:
    """`failures`: ticks in a row that failed with it. `alone`: one without it did not since. What
    is known of it from an earlier loop has no `sense` until a tick was told it again.
    """

    sense: Sense | None = None
    failures: int = 0
    reason: str = ""
    alone: bool = False


class Suspects:
    """`tries` is how many ticks may fail with a sense; 0 suspects none."""

    def __init__(self, tries: int) -> None:
        self._tries = tries
        self._all: dict[str, Suspect] = {}
        self._steady = self._unsure = False  # how the last tick went

    def trial(self, given: Sequence[Sense], carried: Iterable[str]) -> SenseTrial:
        """One suspect by itself, the least tried first; all but the suspects, once each was tried
        often enough; everything, where nothing is suspected.
        """
        own, left = {one.id: one for one in given}, tuple(carried)
        found = [name for name in (*own, *left) if name in self._all]
        if not found:
            return SenseTrial(tuple(given))
        untried = [one for one in found if not self._often(self._all[one])]
        if self._unsure or not untried:
            others = tuple([one for one in given if one.id not in self._all])
            return SenseTrial(others, tuple([name for name in left if name not in self._all]))
        name = min(untried, key=lambda one: self._all[one].failures)
        return SenseTrial((own[name],), ()) if name in own else SenseTrial((), (name,))

    def note_failure(self, told: Sequence[Sense], reason: str, *, unsure: bool = False) -> None:
        """A tick that was told this; if that was nothing, what it was told is not why they fail."""
        if not told:
            self._all.clear()
        for one in told if self._tries else ():
            suspect = self._all.setdefault(one.id, Suspect())
            suspect.sense = one
            suspect.failures += self._steady or not unsure
            suspect.reason = reason
        self._steady, self._unsure = False, unsure

    def note_other_failure(self) -> None:
        """A tick that failed whatever it was told."""
        self._steady = self._unsure = False

    def note_success(self, told: Iterable[str]) -> None:
        self._steady, self._unsure = True, False
        self.forget(told)
        for one in self._all.values():
            one.alone = True

    def forget(self, ids: Iterable[str]) -> None:
        for name in ids:
            self._all.pop(name, None)

    def found_out(self, present: Collection[str]) -> tuple[tuple[Sense, Suspect], ...]:
        """Those that are still there and that no tick could take."""
        often = [one for one in self._all.values() if one.alone and self._often(one)]
        return tuple([(one.sense, one) for one in often if one.sense and one.sense.id in present])

    def _often(self, one: Suspect) -> bool:
        return one.sense is not None and one.failures >= self._tries

    def counts(self) -> dict[str, JsonObject]:
        """What the next loop has to know, by id: the newest of them, without what they say."""
        newest = list(self._all.items())[-_MOST_KEPT:]
        return {
            name: {"failures": one.failures, "reason": one.reason[:_LONGEST], "alone": one.alone}
            for name, one in newest
        }

    def restore(self, kept: Mapping[str, object]) -> None:
        """What an earlier loop knew: each of them gets one more try, not all of them again."""
        for name, told in kept.items() if self._tries else ():
            if not isinstance(told, Mapping):
                continue
            facts = cast("Mapping[str, object]", told)
            failures, alone = facts.get("failures"), facts.get("alone") is True
            if isinstance(failures, int) and failures >= 0:
                self._all[name] = Suspect(None, failures, str(facts.get("reason", "")), alone)
