"""Are the files of a home what the record of an agent binds? Whoever edits one does no wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mentis.stores.files.home import Home
from mentis.stores.sql_inventory import SqlInventory
from mentis.values.inventory import FILE, FIRST, BoundItem, NotedFile, parts_of
from mentis.values.words import quantity

from .home_files import HomeFile, read_home_files

_NAMED = 3
_ELSEWHERE = "files of the home were not compared: it is not known where they lie"


@dataclass(slots=True)
class FileCheck:
    """`bound` is what the entries say last of each file, by its id, and the entry that says so."""

    agent: str
    inventories: Sequence[SqlInventory]
    home: Path | None
    bound: Mapping[str, tuple[BoundItem, int]]
    noted: Mapping[str, NotedFile] = field(init=False)

    def __post_init__(self) -> None:
        self.noted = {} if self.inventory.is_older() else self.inventory.files(self.agent)

    @property
    def inventory(self) -> SqlInventory:
        return self.inventories[-1]

    @property
    def _is_shared(self) -> bool:
        """Entries that other machines wrote, each with its own notes, speak of other folders."""
        return len(self.inventories) > 1

    def notes(self) -> Iterator[str]:
        if self.home is None:
            if self.bound:
                yield _ELSEWHERE
            return
        if not self.noted and not self.bound:
            return  # no turn since they are bound
        known = {one.id for one in self.noted.values()}
        spoken = self.bound.values()
        lost = [index for item, index in spoken if item.name not in known and item.leaf]
        if lost and not self._is_shared:
            told = f"{quantity(len(lost), 'file')} of the home cannot be compared with entry"
            yield f"{told} {max(lost)}: what was noted of it is gone; the next turn records it"
        files = read_home_files(Home(self.home), self.agent.rpartition("/")[2])
        for path in sorted(self.noted if lost else {*files, *self.noted}):
            if told := self._note(path, files.get(path), self.noted.get(path)):
                yield f"{told}, not yet recorded"

    def _note(self, path: str, file: HomeFile | None, noted: NotedFile | None) -> str:
        """Nothing where it is as it is bound, or as the first turn found it."""
        if noted is None:
            return f"{path} is new"
        item, index = self.bound.get(noted.id, (None, -1))
        since = f" since entry {index}" if index >= 0 else " since it was noted first"
        if file is None:
            gone = noted.leaf is None and (item is None or item.leaf is None)
            return "" if gone else f"{path} is gone{since}"
        if file.is_as(noted, self.inventory.outline):
            recorded = noted.bound == FIRST or (item is not None and item.leaf == noted.leaf)
            return "" if recorded or noted.bound else f"{path} changed{since}"
        return f"{path} changed{since}{self._parts(file, noted)}"

    def _parts(self, file: HomeFile, noted: NotedFile) -> str:
        """Which blocks or placeholders of it, where that was noted and is what was bound."""
        kept = self.inventory.outline(noted.leaf or "")
        if not kept or not noted.is_still(kept):
            return ""
        before, now = parts_of(kept), parts_of(file.outline)
        told = [
            *(f"`{one}` is new" for one in now if one not in before),
            *(f"`{one}` changed" for one in now if before.get(one, now[one]) != now[one]),
            *(f"`{one}` is gone" for one in before if one not in now),
        ]
        more = f", {quantity(len(told) - _NAMED, 'more')}" if len(told) > _NAMED else ""
        return f" ({', '.join(told[:_NAMED])}{more})" if told else ""

    def odd(self) -> Iterator[tuple[tuple[int, tuple[str, str]], str]]:
        """What was noted beside the record is not for an editor: it is as its entry says."""
        for one in () if self._is_shared else self.noted.values():
            item, index = self.bound.get(one.id, (None, -1))
            if one.bound != self.agent or (item is not None and item.leaf == one.leaf):
                continue
            message = f"is not as entry {index} has it" if index >= 0 else "stands in no entry"
            yield (max(index, 0), (FILE, one.id)), f"({one.path}) {message}"
