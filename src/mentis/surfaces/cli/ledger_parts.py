"""Shared by the commands of `mentis ledger`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .options import home_path
from .output import emit, table

if TYPE_CHECKING:
    from mentis.record.record import Record
    from mentis.values.entry import Entry


def open_own(persona: str | None, *, readonly: bool = False) -> Record:
    from mentis.record.record import open_record

    return open_record(home_path(), persona, readonly=readonly)


def entry_object(entry: Entry) -> dict[str, object]:
    from mentis.codec.forms import to_object

    return to_object(entry)


def show_entries(entries: Sequence[Entry]) -> None:
    rows = [
        (str(entry.index), entry.time, entry.kind, entry.source, entry.hash[:16])
        for entry in entries
    ]
    table(("entry", "time", "kind", "source", "hash"), rows, right=("entry",))


def show_entry(entry: Entry) -> None:
    for name in ("agent", "index", "time", "source", "kind", "ruleset", "prev", "hash", "delivery"):
        value = getattr(entry, name)
        if value is not None:
            emit(f"{name:9} {value}")
    for name, commitment in entry.fields.items():
        if name in entry.body:
            told = json.dumps(entry.body[name], ensure_ascii=False, indent=2)
        else:
            told = f"erased; its commitment is {commitment}"
        emit(f"{name}: {told}")
