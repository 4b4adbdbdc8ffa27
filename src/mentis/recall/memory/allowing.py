"""Who may be found by one filter: worked out once, and brought up to date with what changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from mentis.values.cognition import Memory
from mentis.values.memories import MemoryFilter

from .choosing import why_not
from .matrix import load_numpy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class MemoryPlaces(Protocol):
    """Something that has a place for each memory. Places are only added."""

    @property
    def ids(self) -> Sequence[str]: ...

    def place(self, name: str) -> int | None: ...


class AllowedMemories:
    """`refused` has the reason of each that may not be found; `ids` are all the others."""

    def __init__(self, wanted: MemoryFilter, now: str, memories: Iterable[Memory]) -> None:
        self.refused: dict[str, str] = {}
        self.ids: set[str] = set()
        self._wanted = wanted
        self._now = now
        self._timed: dict[str, Memory] = {}
        self._masks: dict[MemoryPlaces, _Mask] = {}
        for memory in memories:
            self.put(memory)

    @property
    def everything(self) -> bool:
        return not self.refused

    def put(self, memory: Memory) -> None:
        """A memory that is new, or that changed."""
        if memory.valid_from or memory.valid_until:
            self._timed[memory.id] = memory
        else:
            self._timed.pop(memory.id, None)
        self._decide(memory)

    def at(self, now: str) -> AllowedMemories:
        """Those that hold only for a while are looked at again when time has passed."""
        if now != self._now:
            self._now = now
            for memory in self._timed.values():
                self._decide(memory)
        return self

    def mask(self, of: MemoryPlaces) -> NDArray[np.bool_] | None:
        """One truth value for each of its places; None when all may be found."""
        if self.everything:
            return None
        known = self._masks.get(of)
        if known is None:
            if len(self._masks) > 1:
                self._masks.clear()  # of a matrix that is no more
            known = self._masks[of] = _Mask(of)
        return known.of(self.ids)

    def _decide(self, memory: Memory) -> None:
        before = memory.id in self.ids
        if reason := why_not(memory, self._wanted, now=self._now):
            self.refused[memory.id] = reason
            self.ids.discard(memory.id)
        else:
            self.refused.pop(memory.id, None)
            self.ids.add(memory.id)
        if before != (memory.id in self.ids):
            for mask in self._masks.values():
                mask.changed.append(memory.id)


class _Mask:
    def __init__(self, of: MemoryPlaces) -> None:
        self.changed: list[str] = []
        self._of = of
        self._told: NDArray[np.bool_] = load_numpy().empty(0, dtype=bool)

    def of(self, allowed: set[str]) -> NDArray[np.bool_]:
        np, known, ids = load_numpy(), len(self._told), self._of.ids
        if known < len(ids):
            inside = (name in allowed for name in ids[known:])
            fresh = np.fromiter(inside, dtype=bool, count=len(ids) - known)
            self._told = np.concatenate([self._told, fresh])
        for name in self.changed:
            place = self._of.place(name)
            if place is not None:
                self._told[place] = name in allowed
        self.changed.clear()
        return self._told
