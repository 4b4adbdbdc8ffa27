"""Names and ids that every format takes, and the way back to our own."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from hashlib import sha256
from itertools import pairwise
from operator import attrgetter

from mentis.errors import RenderError
from mentis.values.tool import ToolDeclaration

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")
_OTHER = re.compile(r"[^a-zA-Z0-9_-]")


class Names:
    """Own name to wire name. What fits stays as it is; what does not gets a name of its own.

    A changed name ends in a digest of the original, so it depends on no other name: adding a tool
    never renames another, and two names that look alike after the change stay apart.
    """

    __slots__ = ("_made", "_taken")

    def __init__(self, declared: Iterable[str]) -> None:
        self._made: dict[str, str] = {}
        self._taken = frozenset(filter(_NAME.fullmatch, declared))

    def wire(self, name: str) -> str:
        if name in self._taken:
            return name
        made = self._made.get(name)
        if made is None:
            made = name if _NAME.fullmatch(name) else _fit(name, 64, self._taken)
            self._made[name] = made
        return made

    def issue(self, names: Iterable[str]) -> None:
        """Those that do not fit get their name now, in this order."""
        for name in names:
            if name not in self._taken:
                self.wire(name)

    def wire_names(self) -> dict[str, str]:
        """Own name to wire name, for those that differ."""
        return {own: wire for own, wire in self._made.items() if wire != own}


class CallIds:
    """Call ids: a call's id is unique in the payload, and its result names the same one."""

    __slots__ = ("_back", "_used")

    def __init__(self, used: Iterable[str] = ()) -> None:
        self._used: set[str] = set(used)
        self._back: dict[str, str] = {}

    def issue(self, own: str, place: tuple[int, int]) -> str:
        """The wire id of a call; `place` makes one where there is none or it is taken."""
        wire = own
        if not _ID.fullmatch(own) or own in self._used:
            wire = self._made(own, f"call_{place[0]}_{place[1]}")
        self._used.add(wire)
        if wire != own:
            self._back[wire] = own
        return wire

    def _made(self, own: str, place: str) -> str:
        wire = own if _ID.fullmatch(own) else _fit(own or place, 40, ())
        return _fit(f"{own}_{place}", 40, self._used) if wire in self._used else wire

    @property
    def used(self) -> frozenset[str]:
        return frozenset(self._used)

    def back(self) -> dict[str, str]:
        return dict(self._back)


def unique_tools(tools: tuple[ToolDeclaration, ...]) -> tuple[ToolDeclaration, ...]:
    """In the order of their names, so that the order of registration changes no byte."""
    ordered = sorted(tools, key=attrgetter("name"))
    if len({tool.name for tool in ordered}) == len(ordered):
        return tuple(ordered)
    for first, second in pairwise(ordered):
        if first.name == second.name:
            raise RenderError(
                f"two tools are called {first.name!r}",
                hint="a call of it could mean either: rename one",
                tool=first.name,
            )
    return tuple(ordered)


def _fit(name: str, length: int, taken: Container[str]) -> str:
    mark = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    stem = _OTHER.sub("_", name)
    if not stem or not (stem[0].isalpha() or stem[0] == "_"):
        stem = f"_{stem}"
    digits = 6
    while (made := f"{stem[: length - digits - 1]}_{mark[:digits]}") in taken:
        digits += 1
    return made
