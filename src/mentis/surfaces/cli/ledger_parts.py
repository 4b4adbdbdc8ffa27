"""Shared by the commands of `mentis ledger`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from .options import home_path
from .report import Text
from .shown import json_block
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.record.record import Record
    from mentis.values.entry import Entry


def open_own(persona: str | None, *, readonly: bool = False) -> Record:
    from mentis.record.record import open_record

    return open_record(home_path(), persona, readonly=readonly)


def entry_object(entry: Entry) -> dict[str, object]:
    from mentis.codec.forms import to_object

    return to_object(entry)


def entries_table(entries: Sequence[Entry]) -> Iterator[Text]:
    rows = [
        (str(entry.index), entry.time, entry.kind, entry.source, entry.hash[:16])
        for entry in entries
    ]
    yield TextTable(("entry", "time", "kind", "source", "hash"), rows, right=("entry",))


def entry_lines(entry: Entry, left_out: Mapping[str, str] | None = None) -> Iterator[Text]:
    """`left_out`: fields that are not in this export, with the reason."""
    reasons = left_out or {}
    for name in ("agent", "index", "time", "source", "kind", "ruleset", "prev", "hash", "delivery"):
        value = getattr(entry, name)
        if value is not None:
            yield f"{name:9} {value}"
    for name, commitment in entry.fields.items():
        if name in entry.body:
            told = json_block(entry.body[name], before=len(name) + 2)
        elif name in reasons:
            told = f"left out of this file ({reasons[name]}); its commitment is {commitment}"
        else:
            told = f"erased; its commitment is {commitment}"
        yield f"{name}: {told}"
