"""`mentis ledger show FILE`: an export, looked at as a home is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mentis.errors import UsageError
from mentis.values.words import entries_of

from .ledger_parts import entries_table, entry_lines, entry_object
from .options import MAX_INDEX, home_path
from .report import Note, Report, Text

if TYPE_CHECKING:
    from mentis.record.bundle_file import BundleView, ShownEntry
    from mentis.values.checkpoint import Pin


def shown_place(words: tuple[str, ...]) -> tuple[Path | None, int | None]:
    """A file, an index, both in this order, or neither."""
    *first, last = words or ("",)
    if last.isdecimal():
        file, index = first, int(last)
    else:
        file, index = [*first, last] if last else [], None
    if len(file) > 1 or (index is not None and index > MAX_INDEX):
        raise UsageError(f"{' '.join(words)!r}: what is to be shown?", hint="[FILE] [INDEX]")
    if file and not Path(file[0]).is_file():
        raise UsageError(
            f"{file[0]!r} is neither the number of an entry nor a file",
            hint="name an export, as `mentis export` wrote it",
        )
    return (Path(file[0]) if file else None), index


def home_pin() -> Pin | None:
    """Name and key of the home's log, if there is a home here."""
    from mentis.home.signing import open_pin
    from mentis.settings.sources import load_settings

    there = (home_path() / "mentis.toml").is_file()
    return open_pin(load_settings(home_path(), os.environ)) if there else None


def show_bundle(file: Path, index: int | None, last: int) -> Report:
    from mentis.record.bundle_file import view_bundle

    seen = view_bundle(file, home_pin(), index=index, last=last)
    entries = [one.entry for one in seen.entries]
    shown = entries_table(entries) if index is None else _one_lines(seen.entries[0])
    code = 0 if seen.verdict["verdict"] in ("ok", "UNPINNED") else 1
    return Report(_data(seen), (shown, _verdict_lines(seen, file)), code=code)


def _one_lines(one: ShownEntry) -> Iterator[Text]:
    yield from entry_lines(one.entry, one.left_out)
    for row in one.texts:
        if "digest" in row:
            told = row.get("text") or row.get("left_out") or f"base64 {row.get('base64', '')}"
            yield f"\ntext {row['place']}{': left out' if 'left_out' in row else ''}\n{told}"


def _verdict_lines(seen: BundleView, file: Path) -> Iterator[Text]:
    told = seen.verdict
    entries = entries_of(told["entries"] - told["dropped"])
    yield Note(f"{entries} of {seen.agent} in {file}: {told['verdict']}")
    for found in told["findings"][:20]:
        yield Note(f"  entry {found['index']}, {found['column']}: {found['message']}")
    if told["verdict"] == "UNPINNED":
        yield Note(
            "it is not of the home here, or there is none: `mentis ledger audit` takes name and key"
        )


def _data(seen: BundleView) -> dict[str, object]:
    rows = [{**entry_object(one.entry), "texts": list(one.texts)} for one in seen.entries]
    return {"agent": seen.agent, "verdict": seen.verdict["verdict"], "entries": rows}
