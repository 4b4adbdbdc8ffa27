"""Tables beside the entries, which nobody signs: looked at before anything rests on them.

`dropped` holds the hashes of the entries before the first one that is kept: exactly those. `marks`
holds what stands open, each row a JSON object.
"""

from __future__ import annotations

import re
from typing import cast

from mentis.codec.forms import parse
from mentis.errors import BadInput, StoreDamaged
from mentis.values.json import JsonObject
from mentis.values.mark import Mark

from .rows import damaged_cell

_HASH = re.compile(r"[0-9a-f]{64}")
_HINT = "somebody changed the database; put a backup in its place"


def check_layout(count: int, low: object, high: object, first: object) -> None:
    """StoreDamaged unless `dropped` is 0..k-1 and the entries begin at k: no gap, no overlap.

    `count`, `low` and `high` are of `dropped`, `first` is of the entries; None where none are.
    """
    for index in (low, high, first):
        if index is not None and type(index) is not int:
            raise damaged_cell(index, "idx", f"it holds {type(index).__name__}")
    if count and (low, high) != (0, count - 1):
        raise _torn(f"{count} dropped entries are numbered {low} to {high}", 0, "inserted")
    if first is None:
        if count:
            raise _torn(f"{count} entries were dropped, and none are kept", count, "emptied")
    elif first != count:
        attack = "deleted" if isinstance(first, int) and first > count else "inserted"
        raise _torn(f"{count} entries were dropped, and those kept begin at {first}", count, attack)


def is_name(agent: object) -> bool:
    """Whether an agent can be called so: text that can be shown, and asked for again."""
    return isinstance(agent, str) and agent.isprintable()


def read_hash(index: object, digest: object) -> str:
    if type(index) is not int:
        raise damaged_cell(index, "idx", f"it holds {type(index).__name__}")
    if not isinstance(digest, str) or not _HASH.fullmatch(digest):
        raise damaged_cell(index, "hash", "it is no hash")
    return digest


def read_delivery(index: object, delivery: object) -> str | None:
    if delivery is None or isinstance(delivery, str):
        return delivery
    raise damaged_cell(index, "delivery", f"it holds {type(delivery).__name__}")


def read_checkpoint(size: object, note: object) -> tuple[int, str]:
    for cell, expected in ((size, int), (note, str)):
        if type(cell) is not expected:
            raise StoreDamaged(
                f"a checkpoint in the store cannot be read: it holds {type(cell).__name__}",
                hint=_HINT,
                index=0,
                column="checkpoint",
            )
    return size, note  # pyright: ignore[reportReturnType]  # looked at above


def read_mark(kind: str, key: object, value: object) -> Mark:
    """What it asks to be done was never signed, so at least it must be what was written."""
    if not isinstance(key, str) or not isinstance(value, str):
        raise _bad_mark(kind, key, "its cells are of odd types")
    try:
        content = parse(value, what="it")
    except BadInput as error:
        raise _bad_mark(kind, key, error.message) from error
    if not isinstance(content, dict):
        raise _bad_mark(kind, key, "it is not a JSON object")
    return Mark(kind, key, cast("JsonObject", content))


def _bad_mark(kind: str, key: object, reason: str) -> StoreDamaged:
    return StoreDamaged(
        f"mark `{kind}` {key!r} in the store cannot be read: {reason}",
        hint=_HINT,
        column="marks",
        key=str(key),
    )


def _torn(reason: str, index: int, attack: str) -> StoreDamaged:
    return StoreDamaged(
        f"the ledger is torn: {reason}", hint=_HINT, index=index, column="dropped", attack=attack
    )
