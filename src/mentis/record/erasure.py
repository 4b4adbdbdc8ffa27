"""Copies of what an entry holds: marks beside the ledger, blobs, the inputs of a turn.

Erasing the entry alone would leave the copies. What still waits or runs needs its payload, so its
entries are not erased from before it has ended.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import cast

from mentis.act import entries
from mentis.act.news import blank, ends
from mentis.errors import StoreDamaged, UsageError
from mentis.ledger.statements import erasable
from mentis.ports.blob_store import BlobStore
from mentis.ports.marks import Marks
from mentis.values.entry import Entry
from mentis.values.json import JsonObject
from mentis.values.mark import Mark

from .call_bodies import BODIES, call_blobs
from .input_rows import ROW, TOLD

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_CLAIMS = "claims"
_OPEN = {
    entries.WAITING: "it waits for a person: `mentis acts deny {key}` ends that",
    entries.APPROVED: "it was approved and has not begun: `mentis acts run` does it",
    entries.OPEN: "it has begun and not ended: the next turn or `mentis acts run` finds out more",
}


def blanked_marks(ledger: Marks, entry: Entry, fields: Collection[str]) -> tuple[Mark, ...]:
    """What the next turn is told of the act, without what it asked for and what came of it.

    Nothing, where nobody could say any more that it came to this, or nothing of that is left.
    UsageError while the act still waits or runs.
    """
    key = _key(entry)
    if not key:
        return ()
    for kind, hint in _OPEN.items():
        if ledger.mark(entry.agent, kind, key) is not None:
            raise UsageError(
                f"entry {entry.index} is of act {key}, which has not ended",
                hint=hint.format(key=key),
                index=entry.index,
                key=key,
            )
    news = ledger.mark(entry.agent, entries.NEWS, key)
    if news is None:
        return ()
    gone = "delivery" in fields or set(erasable(entry)) <= set(fields)
    return (entries.told_mark(key) if gone and ends(entry) else _blank(news),)


def dropped_inputs(ledger: Marks, entry: Entry, fields: Collection[str]) -> tuple[Mark, ...]:
    """What turns keep of it: a turn its own inputs, and others what they were told of the act."""
    if entry.kind == "turn":
        rows = kept_row(entry) if "inputs" in fields else ()
        return (
            *rows,
            *(_told_of(ledger, entry, f"window {entry.index}") if _CLAIMS in fields else ()),
        )
    key = _key(entry)
    return _told_of(ledger, entry, key) if key else ()


def _told_of(ledger: Marks, entry: Entry, key: str) -> tuple[Mark, ...]:
    told = ledger.marks(entry.agent, TOLD)
    return tuple(Mark(TOLD, one.key) for one in told if one.key.startswith(f"{key}/"))


def kept_row(entry: Entry) -> tuple[Mark, ...]:
    """What takes away the inputs that a turn has kept, if it has."""
    key = entry.body.get("inputs") if entry.kind == "turn" else None
    return (Mark(ROW, key),) if isinstance(key, str) else ()


def forget_blobs(
    blobs: BlobStore, entry: Entry, fields: Collection[str], others: Iterable[Entry]
) -> None:
    """The blobs that these fields name, but for those that another entry names too: the result of
    an act, the bodies of a call.
    """
    named = _named(entry) if "result" in fields else frozenset[str]()
    named |= call_blobs(blobs, entry, fields)
    if not named:
        return
    with blobs.held():
        for other in others:
            if (other.agent, other.index) != (entry.agent, entry.index):
                named -= _named(other) | call_blobs(blobs, other, BODIES)
            else:
                named -= call_blobs(blobs, entry, set(BODIES) - set(fields))
        for digest in sorted(named):
            blobs.forget(digest)


def release_blobs(blobs: BlobStore, gone: Collection[Entry], others: Iterable[Entry]) -> None:
    """The blobs that entries name which are let go of, but for those that others name too."""
    named = frozenset[str]().union(*(_named(one) | call_blobs(blobs, one, BODIES) for one in gone))
    places = {(one.agent, one.index) for one in gone}
    if not named:
        return
    with blobs.held():
        for other in others:
            if (other.agent, other.index) not in places:
                named -= _named(other) | call_blobs(blobs, other, BODIES)
        for digest in sorted(named):
            blobs.forget(digest)


def _key(entry: Entry) -> str:
    """Also of an entry that lost its head before."""
    if entry.kind != entries.KIND:
        return ""
    head = entry.body.get("act")
    told = cast("JsonObject", head).get("key") if isinstance(head, Mapping) else None
    return str(told or (entry.delivery or "//").split("/")[1])


def _blank(news: Mark) -> Mark:
    try:
        outcome = entries.news(news)
    except StoreDamaged:
        return entries.told_mark(news.key)  # nobody can tell it, and it may hold anything
    return entries.news_mark(news.key, blank(outcome))


def _named(entry: Entry) -> frozenset[str]:
    # Of an act what it brought; of a tick the senses that it left to the next one.
    result = entry.body.get("result" if entry.kind == entries.KIND else "next")
    if entry.kind not in (entries.KIND, "turn") or not isinstance(result, Mapping):
        return frozenset()
    told = cast("JsonObject", result)
    return frozenset(_DIGEST.findall(f"{told.get('blob', '')} {told.get('text', '')}"))
