"""Is what an agent keeps beside its record what its entries of kind `inventory` say?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from mentis.errors import MentisError
from mentis.library.memory.folder import MemoryFolder
from mentis.library.memory.text import NAMES, is_empty
from mentis.ports.ledger_store import LedgerStore
from mentis.stores.sql_inventory import SqlInventory
from mentis.stores.sql_ledger import SqlLedger
from mentis.values.entry import Attack, Entry, Finding
from mentis.values.inventory import (
    FILE,
    KIND,
    MEMORY,
    BoundItem,
    HeldItem,
    read_items,
    revision_name,
)
from mentis.values.words import quantity

from .verify_files import FileCheck

COLUMN = "inventory"
_NAMED = 3
_OLDER = "what is kept beside the record is bound from its next entry on"
_FIRST = "not yet recorded: {} kept beside the record, for the next turn to record"
_UNREAD = "what is kept beside the record was not compared: only what is new was read"


@dataclass(slots=True)
class InventoryCheck:
    """The entries come from a chain that verified, so each is what its hash says. `store` is read
    as it was when they were; `home` is where the files of the persona lie, where that is known.
    `odd` are the items that a finding names, by its message.
    """

    agent: str
    store: LedgerStore
    home: Path | None = None
    folder: Path | None = None
    partial: bool = False  # not all entries were read
    findings: list[Finding] = field(default_factory=list[Finding])
    notes: list[str] = field(default_factory=list[str])
    odd: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    _bound: dict[tuple[str, str], tuple[BoundItem, int]] = field(
        default_factory=dict[tuple[str, str], tuple[BoundItem, int]]
    )
    _said: dict[str, int] = field(default_factory=dict[str, int])  # the entry that binds an item
    _entries: int = 0
    _fresh: list[str] = field(default_factory=list[str])  # changed, and in no entry yet

    def take(self, entry: Entry) -> None:
        if entry.kind != KIND:
            return
        self._entries += 1
        items = self._items(entry)
        if items is None:
            message = "what this entry lists cannot be read: the list that it names was changed"
            self.findings.append(Finding(entry.index, COLUMN, message, "edited"))
            return
        for one in items:
            known = self._bound.get((one.kind, one.name))
            if known is None or one.number >= known[0].number:
                self._bound[one.kind, one.name] = one, entry.index

    def _items(self, entry: Entry) -> tuple[BoundItem, ...] | None:
        told = entry.body.get(KIND)
        said = cast("dict[str, object]", told) if isinstance(told, dict) else {}
        if "list" in said:
            named = str(said["list"])
            found = (one.listed(named) for one in self._inventories())
            return next((items for items in found if items is not None), None)
        try:
            return read_items(said.get("items"))
        except ValueError:
            return None

    def compare(self) -> None:
        """Adds to `findings` and `notes`; nothing is compared after a list that cannot be read."""
        if self.findings or not self._inventories():
            return
        if self.partial:
            self.notes += [_UNREAD] if self._is_kept() else []
            return
        if not self._entries and any(one.is_older() for one in self._inventories()):
            self.notes.append(_OLDER)
            return
        for item in self._held():
            self._look_at(item)
        files = FileCheck(self.agent, self._inventories(), self.folder, self._take_files())
        self.notes += files.notes()
        for (index, item), message in files.odd():
            self._find(index, item, message, "edited")
        for one, index in self._bound.values():
            if one.leaf is not None:
                self._find(index, (one.kind, one.name), "is gone", "deleted")
        self.notes += [*self._not_yet(), *self._edited_files()]

    def _take_files(self) -> dict[str, tuple[BoundItem, int]]:
        """Those that entries speak of: they are held against what lies in the home."""
        ids = [name for kind, name in self._bound if kind == FILE]
        return {name: self._bound.pop((FILE, name)) for name in ids}

    def _held(self) -> Iterator[HeldItem]:
        for inventory in self._inventories():
            yield from inventory.held(self.agent)

    def _is_kept(self) -> bool:
        return self._entries > 0 or next(self._held(), None) is not None

    def _look_at(self, item: HeldItem) -> None:
        place = item.kind, item.name
        known, index = self._bound.pop(place, (None, -1))
        if index >= 0:
            self._said[item.name] = index
        if known is not None and known.leaf == item.leaf and known.leaf is not None:
            return
        noted = item.number is not None and item.leaf == item.noted
        later = known is None or (item.number or 0) > known.number
        if noted and later and item.bound != self.agent:
            told = name_item(item.kind, item.name)
            if index >= 0:
                told += f" changed since entry {index}, not yet recorded"
            elif item.leaf is not None:
                told += " is new, not yet recorded"
            else:
                return  # it came and went between two entries
            self._fresh.append(told)
        elif item.leaf is None:
            if known is not None and known.leaf is not None:
                self._find(index, place, "is gone", "deleted")
        elif known is None or known.leaf is None:
            message = "stands here, and no entry says that it was kept"
            self._find(max(index, 0), place, message, "inserted")
        else:
            self._find(index, place, f"is not as entry {index} has it", "edited")

    def _find(self, index: int, item: tuple[str, str], message: str, attack: Attack) -> None:
        told = f"{name_item(*item)} {message}"
        self.odd[told] = item
        self.findings.append(Finding(index, COLUMN, told, attack))

    def _not_yet(self) -> Iterator[str]:
        if self._fresh and not self._entries:
            yield _FIRST.format(quantity(len(self._fresh), "item"))
            return
        yield from self._fresh[:_NAMED]
        if (more := len(self._fresh) - _NAMED) > 0:
            yield f"{quantity(more, 'more change')} of what is kept, not yet recorded"

    def _edited_files(self) -> Iterator[str]:
        """A file that was changed in an editor is a revision from the next turn on."""
        persona = self.agent.rpartition("/")[2]
        if self.home is None or self.agent.startswith("recorded/"):
            return
        folder = MemoryFolder(self.home / "personas" / persona / "memory")
        for name in NAMES:
            key = f"memory:{persona}/{name}.md"
            newest = self._newest(key)
            try:
                text = folder.read(name)
            except MentisError as fault:
                yield fault.message
                continue
            told = "" if newest is None else newest[1]
            now = "" if text is None or (newest is None and is_empty(name, text)) else text
            if now == told:
                continue
            entry = self._said.get(revision_name(key, newest[0])) if newest else None
            since = "" if entry is None else f" since entry {entry}"
            yield f"{name}.md of {persona} changed{since}, not yet recorded"

    def _newest(self, key: str) -> tuple[int, str] | None:
        found = (one.newest(key) for one in self._inventories())
        return next((newest for newest in found if newest is not None), None)

    def _inventories(self) -> Sequence[SqlInventory]:
        return inventories_of(self.store)


def inventories_of(store: LedgerStore) -> tuple[SqlInventory, ...]:
    """Of what is kept beside a record; a double has none."""
    return store.inventories if isinstance(store, SqlLedger) else ()


def name_item(kind: str, name: str) -> str:
    """What a person calls it."""
    if kind == FILE:
        return f"what was noted of file {name}"
    if kind == MEMORY:
        return f"memory {name}"
    key, _, number = name.rpartition("#")
    what, _, rest = key.partition(":")
    if what == "state":
        return f"revision {number} of goals and working memory"
    persona, _, file = rest.partition("/")
    return f"revision {number} of {file} of {persona}"
