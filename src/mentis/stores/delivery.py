"""One delivery seen twice is one entry, provided that it says the same both times."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any, cast

import rfc8785

from mentis.errors import StoreConflict
from mentis.values.entry import LEDGER_FIELDS, Entry


def check_same_delivery(known: Entry, again: Entry) -> None:
    """Raise StoreConflict unless `again`, the same delivery stamped anew, says what `known` says.

    What the ledger adds on its own is not compared, and of an erased field only the name is left.
    """
    if known.kind == again.kind and _names(known) == _names(again) and _same_values(known, again):
        return
    raise StoreConflict(
        f"delivery `{known.delivery}` of agent `{known.agent}` is entry {known.index} already,"
        " with another content",
        hint="give a changed draft a delivery of its own",
        agent=known.agent,
        delivery=known.delivery,
        index=known.index,
    )


def _names(entry: Entry) -> AbstractSet[str]:
    return entry.fields.keys() - LEDGER_FIELDS


def _same_values(known: Entry, again: Entry) -> bool:
    names = _names(known) & known.body.keys()
    return all(_bytes(known.body[name]) == _bytes(again.body[name]) for name in names)


def _bytes(value: object) -> bytes:
    # Not `==`: Python takes True for 1, JSON does not.
    return rfc8785.dumps(cast("Any", value))


def refuse_dropped_delivery(agent: str, delivery: str, index: int) -> StoreConflict:
    """What it said then is in a sealed segment, so nobody here can tell whether it is the same."""
    return StoreConflict(
        f"delivery `{delivery}` of agent `{agent}` was entry {index}, which is rotated away",
        hint="look for it in the sealed segment; give a new draft a delivery of its own",
        agent=agent,
        delivery=delivery,
        index=index,
    )
