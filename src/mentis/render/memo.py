"""The memo of rendering, so that what did not change is not made again.

Values are frozen, so the same objects are the same content. An entry holds on to the objects it
was made from: their identities stay theirs as long as the entry lives.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar, cast

from mentis.values.memo import IdentityMemo

A = TypeVar("A")
T = TypeVar("T")
_memo = IdentityMemo[object](32)
# One by one, the messages of conversations: those only grow.
_messages = IdentityMemo[object](16384)
_runs = IdentityMemo[object](512)
RUN = 64  # so many of them, when they are remembered together


def forget() -> None:
    """As if nothing had been rendered yet."""
    _memo.clear()
    _messages.clear()
    _runs.clear()


def seen_before(key: Hashable, objects: tuple[object, ...]) -> bool:
    """Whether this was asked for these very objects already; from now on it was."""
    asked: list[bool] = remember((key, "seen"), objects, list[bool])
    if asked:
        return True
    asked.append(True)
    return False


def remember_message(make: Callable[[A], T], key: Hashable, of: A) -> T:
    """What `make` gives of this very turn or message."""
    return cast("T", _messages.remember(make, of, key=key))


def runs_of(told: Sequence[A]) -> Iterator[tuple[int, Sequence[A]]]:
    """All of them in pieces, with the place of the first: in a conversation that grew all but the
    last are as they were.
    """
    return ((first, told[first : first + RUN]) for first in range(0, len(told), RUN))


def remember_run(make: Callable[..., T], key: Hashable, run: Sequence[object]) -> T:
    """What `make` gives of these very turns or messages."""
    return cast("T", _runs.remember(make, *run, key=key))


def remember(key: Hashable, objects: tuple[object, ...], make: Callable[[], T]) -> T:
    """What `make` gave for this key and these very objects, or gives now."""
    return cast("T", _memo.remember(lambda *_: make(), *objects, key=key))
