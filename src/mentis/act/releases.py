"""Releases: a result that screening withheld, told after all because the owner has looked at it.

It is told as what it is, the words of somebody else: between marks, trusted by nobody, and with a
note that it was released. These functions block.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from mentis.errors import StoreConflict, UsageError
from mentis.ports.blob_store import BlobStore
from mentis.ports.entries import Stamp
from mentis.ports.ledger_store import LedgerStore
from mentis.values.action import Action, Outcome
from mentis.values.entry import Entry
from mentis.values.trust import Trust

from . import entries
from .briefs import brief
from .entries import ApprovalDecision
from .news import Find, find_act
from .screening import is_withheld


def withheld_result(key: str, find: Find) -> tuple[Entry, Outcome]:
    """The entry of what an act came to, and that, whose words were withheld; UsageError where none
    were, or they were released.
    """
    act = find_act(key, find)
    if act is None:
        raise _refusal(key, f"act {key} has no result")
    if act.erased:
        raise _refusal(key, f"what is known of act {key} was erased, at least in part")
    if act.stage == "released":
        raise _refusal(key, f"the result of act {key} is released already{_by(act.ended)}")
    outcome = entries.recorded_outcome(act.ended, Action(act.type, act.payload))
    if outcome is None or not is_withheld(outcome):
        raise _refusal(key, f"the result of act {key} was not withheld")
    return act.ended, outcome


def release_result(
    ledger: LedgerStore,
    stamp: Stamp,
    blobs: BlobStore,
    withheld: tuple[Entry, Outcome],
    *,
    decided: ApprovalDecision,
    limit: int,
) -> Outcome:
    """Record that the owner lets it be told, and have the next turn told at most `limit` bytes of
    it: what is read on from there is looked at as everything is.
    """
    ended, outcome = withheld
    content = blobs.read(outcome.blob) if outcome.blob else None
    if content is None:
        raise _refusal(outcome.key, f"the result of act {outcome.key} is not kept any more")
    words, size = content.decode(errors="replace"), len(content)
    text = words if size <= limit else brief(words, limit=limit, size=size, blob=outcome.blob)
    said = f"released by {decided.by}"
    reason = f"{said}: {decided.words}" if decided.words else said
    released = replace(outcome, text=text, reason=reason, size=size, trust=Trust.UNTRUSTED)
    draft = entries.released_draft(ended, released, decided)
    try:
        ledger.append(ended.agent, [draft], stamp, marks=[entries.news_mark(outcome.key, released)])
    except StoreConflict as conflict:
        message = f"somebody else released the result of act {outcome.key} just now"
        raise _refusal(outcome.key, message) from conflict
    return released


def _by(entry: Entry) -> str:
    decided: dict[str, Any] = cast("Any", entry.body.get("decided", {}))
    return f", by {decided['by']} at {entry.time}" if decided.get("by") else ""


def _refusal(key: str, message: str) -> UsageError:
    return UsageError(message, hint=f"`mentis acts show {key}` tells all of it", key=key)
