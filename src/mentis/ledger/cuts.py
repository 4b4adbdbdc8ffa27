"""Rotations and retentions: entries moved out of the store or let go, as signed entries say it.

An entry that is nowhere to be read is missing, unless a retention names it and the hashes that
stayed lead to the root that was signed with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from mentis.values.entry import Entry, Finding
from mentis.values.json import JsonObject

from .signature import as_object
from .statements import RETENTION, ROTATION, whole_number


@dataclass(frozen=True, slots=True)
class _Cut:
    first: int
    end: int  # the first index after it
    root: str


@dataclass(slots=True)
class Cuts:
    """The cuts that valid statements name: entries that moved, entries that went."""

    moved: list[_Cut] = field(default_factory=list[_Cut])
    gone: list[_Cut] = field(default_factory=list[_Cut])

    def take(
        self,
        entry: Entry,
        told: JsonObject,
        roots: Mapping[int, str | None],
        *,
        read_from: int = 0,
    ) -> Iterator[Finding]:
        """A statement whose signature is ours; each cut must be one of this chain.

        Taken in their order: only what a rotation has moved can be let go. It comes after what it
        moves, so that from `read_from` on, where reading began, none is overlooked.
        """
        named = (told,) if entry.kind == ROTATION else _listed(told)
        for one in named:
            cut = _read(one)
            if cut is None or cut.end > entry.index:
                message = f"the {entry.kind} names no entries before it"
                yield Finding(entry.index, "body", message, "forged")
                continue
            root = roots.get(cut.end)
            if root is not None and root != cut.root:
                message = (
                    f"entries 0 to {cut.end - 1} are not those that the {entry.kind} in entry"
                    f" {entry.index} has seen (root {cut.root})"
                )
                yield Finding(cut.first, "hash", message, "rewritten")
                continue
            if entry.kind == RETENTION and cut.end >= read_from and not self._moved(cut):
                message = (
                    f"the retention lets go of entries up to {cut.end - 1}, and no signed rotation"
                    " before it has moved them"
                )
                yield Finding(entry.index, "body", message, "forged")
                continue
            (self.moved if entry.kind == ROTATION else self.gone).append(cut)

    def _moved(self, gone: _Cut) -> bool:
        """Up to the same end: what several retentions let go is named in one later on."""
        return (gone.end, gone.root) in {(cut.end, cut.root) for cut in self.moved}

    def missing(self, count: int, root: str | None) -> Iterator[Finding]:
        """The first `count` entries were not to be read; their hashes lead to `root`."""
        reach = _reach(self.gone)
        if count and (reach < count or (count, root) not in {(c.end, c.root) for c in self.gone}):
            # Up to where a retention reaches nothing is wrong.
            first = reach if reach < count else 0
            message = (
                f"entries {first} to {count - 1} are neither in the store nor in a segment here,"
                " and no signed retention says that they were let go"
            )
            yield Finding(first, "index", message, "deleted")

    def unexplained_gaps(self, dropped: int, stored: int) -> Iterator[str]:
        """What is between the two was read from segments; the store begins at `stored`."""
        reach = max(dropped, _reach([*self.moved, *self.gone]))
        if reach < stored:
            yield (
                f"entries {reach} to {stored - 1} were read from segments, and no signed rotation"
                " says that they were moved there"
            )


def _reach(cuts: list[_Cut]) -> int:
    """Up to where they cover everything from the beginning."""
    reach = 0
    for cut in sorted(cuts, key=lambda cut: cut.first):
        if cut.first > reach:
            break
        reach = max(reach, cut.end)
    return reach


def _read(told: JsonObject) -> _Cut | None:
    first, last, root = (
        whole_number(told.get("first")),
        whole_number(told.get("last")),
        told.get("root"),
    )
    if first is None or last is None or not isinstance(root, str):
        return None
    return _Cut(first, last + 1, root) if 0 <= first <= last else None


def _listed(told: JsonObject) -> list[JsonObject]:
    segments = told.get("segments")
    if not isinstance(segments, list) or not segments:
        return [{}]
    return [as_object(one) for one in cast("list[object]", segments)]
