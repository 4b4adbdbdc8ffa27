"""The memo of rendering, so that what did not change is not made again.

Values are frozen, so the same objects are the same content. An entry holds on to the objects it
was made from: their identities stay theirs as long as the entry lives.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar, cast

T = TypeVar("T")
_KEPT = 32
_memo: OrderedDict[Hashable, tuple[tuple[object, ...], object]] = OrderedDict()


def forget() -> None:
    """As if nothing had been rendered yet."""
    _memo.clear()


def seen_before(key: Hashable, objects: tuple[object, ...]) -> bool:
    """Whether this was asked for these very objects already; from now on it was."""
    asked: list[bool] = remember((key, "seen"), objects, list[bool])
    if asked:
        return True
    asked.append(True)
    return False


def remember(key: Hashable, objects: tuple[object, ...], make: Callable[[], T]) -> T:
    """What `make` gave for this key and these very objects, or gives now."""
    place = (key, *map(id, objects))
    found = _memo.get(place)
    if found is not None:
        return cast("T", found[1])  # the oldest goes first, used or not: simple, and enough
    made = make()
    _memo[place] = (objects, made)
    while len(_memo) > _KEPT:
        try:
            _memo.popitem(last=False)
        except KeyError:  # another thread was faster
            break
    return made
