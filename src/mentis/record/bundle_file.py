"""An export, or the page out of it, opened for looking: entries, with the texts beside them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mentis.errors import StoreDamaged, UsageError
from mentis.ledger import auditor
from mentis.ledger.records import read_entry
from mentis.values.checkpoint import Pin
from mentis.values.entry import Entry
from mentis.values.words import entries_of

from .audit import audit_file


@dataclass(frozen=True, slots=True)
class ShownEntry:
    """An entry of an export, and the lines that its texts have there."""

    entry: Entry
    texts: Sequence[Mapping[str, Any]] = ()

    @property
    def left_out(self) -> dict[str, str]:
        """Fields that are not in the export, with the reason."""
        rows = (one for one in self.texts if "digest" not in one)
        return {str(one["place"])[1:]: str(one["left_out"]) for one in rows}


@dataclass(frozen=True, slots=True)
class BundleView:
    """Entries of an export, and the verdict on all of it as the auditor gives it."""

    agent: str
    entries: tuple[ShownEntry, ...]
    verdict: Mapping[str, Any]


def view_bundle(
    path: Path, pin: Pin | None, *, index: int | None = None, last: int = 10
) -> BundleView:
    """One entry, or the last ones; BadInput where the file is no export.

    Of one that was changed, as far as it can be read: the verdict says where that ends.
    """
    verdict = audit_file(path, pin)
    with auditor.opened_bundle(str(path)) as (parts, _):
        found = deque(_entries(parts, index), maxlen=1 if index is not None else last)
        agent = str(parts.about["agent"])
    if index is not None and not found:
        raise UsageError(
            f"there is no entry {index} in {path}",
            hint=f"it holds {entries_of(verdict['entries'] - verdict['dropped'])}",
        )
    return BundleView(agent, tuple(found), verdict)


def _entries(parts: auditor.BundleMembers, index: int | None) -> Iterator[ShownEntry]:
    texts = auditor.TextLines(parts.texts or (), whole=False)
    try:
        for number, line in enumerate(parts.entries):
            entry = read_entry(line, number=number)
            beside = texts.of(entry.index)
            if index in (None, entry.index):
                yield ShownEntry(entry, beside)
    except (auditor.Unreadable, StoreDamaged, ValueError):
        return
