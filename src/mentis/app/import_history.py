"""A history of status windows of the origin: its entries become entries of the record."""

from __future__ import annotations

from typing import cast

from mentis.ledger.origin import import_history

from .import_plan import HomeImportPlan, ImportArrival, ImportedPart, ImportLoss, ImportWish
from .import_source import ImportSource

_FIELDS = {"status_window", "window_hash"}


def history_arrival(source: ImportSource, wish: ImportWish) -> ImportArrival | None:
    """What becomes of a history; None where it is none. Every entry has to verify."""
    if source.is_zip or source.is_folder:
        return None
    document = source.document()
    if not _is_history(document):
        return None
    history, whose = import_history(source.data), wish.personas.pick(wish.persona or None)
    part = f"entries ({len(history.drafts)})"
    note = "verified bit for bit; those that are known already are left out"
    plan = HomeImportPlan(
        file=source.name,
        digest=source.original().digest,
        format="status history",
        version="",
        name=source.stem,
        persona=whose,
        parts=(ImportedPart(part, f"entries of {whose}", "untrusted", note),),
        losses=(ImportLoss("--undo", "what is in a record stays there"),),
    )
    return ImportArrival(plan, windows=source.data)


def _is_history(document: object) -> bool:
    told = document
    if isinstance(document, dict):
        told = cast("dict[str, object]", document).get("entries")
    rows = cast("list[object]", told) if isinstance(told, list) else []
    return bool(rows) and all(
        isinstance(row, dict) and cast("dict[str, object]", row).keys() >= _FIELDS for row in rows
    )
