"""Erases fields from the body of an entry; the rest is left as it was."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TypeVar

from mentis.errors import UsageError
from mentis.values.entry import Entry

T = TypeVar("T")


def without_fields(entry: Entry | None, index: int, fields: Collection[str]) -> Entry:
    """The entry without value and salt of these fields; the commitments stay."""
    if entry is None:
        raise UsageError(
            f"there is no entry {index} to erase from",
            hint="it may be in a sealed segment; erase it there",
            index=index,
        )
    unknown = sorted(name for name in fields if name not in entry.body)
    if unknown or not fields:
        raise UsageError(
            f"entry {index} has no value of `{unknown[0]}`" if unknown else "no field is named",
            hint=f"it has values of: {', '.join(entry.body) or 'nothing'}",
            index=index,
            fields=unknown,
        )
    return replace(
        entry,
        body=_without(entry.body, fields),
        salts=_without(entry.salts, fields),
        delivery=None if "delivery" in fields else entry.delivery,
    )


def _without(members: Mapping[str, T], names: Collection[str]) -> dict[str, T]:
    return {name: member for name, member in members.items() if name not in names}
