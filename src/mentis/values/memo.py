"""A memo of what was made of values, for as long as they may come again.

Values are frozen, so the same object is the same content; an entry holds on to its objects, so that
their identities stay theirs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

S = TypeVar("S")
T = TypeVar("T")


class IdentityMemo(Generic[T]):
    """The oldest goes first, used or not: simple, and enough. Threads may share it. What `keeps` is
    False of is made again each time.
    """

    __slots__ = ("_keeps", "_kept", "_size")

    def __init__(self, size: int, keeps: Callable[[T], bool] | None = None) -> None:
        self._kept: OrderedDict[Hashable, tuple[tuple[object, ...], T]] = OrderedDict()
        self._size = size
        self._keeps = keeps

    def remember(self, make: Callable[..., T], *objects: object, key: Hashable = None) -> T:
        """What `make` gives of these very objects; asked for only once while it is kept. The `key`
        tells apart what is made of the same ones.
        """
        place = id(objects[0]) if key is None and len(objects) == 1 else (key, *map(id, objects))
        found = self._kept.get(place)
        if found is not None:
            return found[1]
        made = make(*objects)
        if self._keeps is not None and not self._keeps(made):
            return made
        self._kept[place] = (objects, made)
        while len(self._kept) > self._size:
            try:
                self._kept.popitem(last=False)
            except KeyError:  # another thread was faster
                break
        return made

    def remember_each(self, make: Callable[[S], T], values: Sequence[S]) -> list[T]:
        """What `make` gives of each of them, as `remember` would say one by one."""
        found = map(self._kept.get, map(id, values))
        return [
            self.remember(make, value) if one is None else one[1]
            for one, value in zip(found, values, strict=True)
        ]

    def clear(self) -> None:
        self._kept.clear()
