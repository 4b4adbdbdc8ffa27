"""Changes of what is held in mind, one operation after the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias, assert_never

from mentis.values.cognition import L1Entry
from mentis.values.tick import (
    Append,
    DisplacedEntry,
    Insert,
    MemoryPatchOp,
    OpReport,
    PatchLimits,
    Remove,
)
from mentis.values.trust import Trust, least_trusted

from .goal_patch import UNSEEN, is_owners

SHORTEST_HASH = 6
_NAME = 12  # digits of a hash that a person is told
_Entries: TypeAlias = tuple[L1Entry, ...]


def apply_memory_ops(
    entries: _Entries, ops: Iterable[MemoryPatchOp], limits: PatchLimits
) -> tuple[_Entries, tuple[OpReport, ...]]:
    """Each on what the one before it left."""
    reports: list[OpReport] = []
    for op in ops:
        entries, report = apply_memory_op(entries, op, limits)
        reports.append(report)
    return entries, tuple(reports)


def apply_memory_op(
    entries: _Entries, op: MemoryPatchOp, limits: PatchLimits
) -> tuple[_Entries, OpReport]:
    match op:
        case Append() | Insert():
            return _add(entries, op, limits)
        case Remove():
            at = _place(entries, op, last=len(entries) - 1)
            if isinstance(at, OpReport):
                return entries, at
            if limits.guards_owner and is_owners(entries[at]):
                return entries, OpReport(replace(op, review=True), False, UNSEEN, "review")
            return (*entries[:at], *entries[at + 1 :]), OpReport(op, True)
        case _:
            assert_never(op)


def _add(entries: _Entries, op: Append | Insert, limits: PatchLimits) -> tuple[_Entries, OpReport]:
    refusal = _unfit(op, limits)
    if refusal is not None:
        return entries, refusal
    last = len(entries)
    at = last if isinstance(op, Append) else _place(entries, op, last=last)
    if isinstance(at, OpReport):
        return entries, at
    if len(entries) < limits.entries:
        return (*entries[:at], _made(op), *entries[at:]), OpReport(op, True)
    gone = _oldest_own(entries, op)
    if gone is None:
        reason = f"there are {limits.entries} entries already, all of the owner"
        return entries, OpReport(op, False, reason, "full")
    went = entries[gone]
    rest, at = (*entries[:gone], *entries[gone + 1 :]), at - (gone < at)
    displaced = DisplacedEntry(went.hash[:_NAME], went.text, went.lineage)
    reason = f"{limits.entries} entries were there: {displaced.name}, the oldest of its own, went"
    report = OpReport(op, True, reason, "made-room", displaced)
    return (*rest[:at], _made(op), *rest[at:]), report


def _oldest_own(entries: _Entries, op: Append | Insert) -> int | None:
    """Where the entry stands that goes for a new one. What was made of outside text comes before
    others if the new one was, too: however much comes in, it displaces its like.
    """
    own = [at for at, one in enumerate(entries) if not is_owners(one)]
    tainted = [at for at in own if entries[at].lineage is Trust.UNTRUSTED]
    if op.lineage is Trust.UNTRUSTED and tainted:
        return tainted[0]
    return own[0] if own else None


def _unfit(op: Append | Insert, limits: PatchLimits) -> OpReport | None:
    if not op.text.strip():
        return OpReport(op, False, "an entry needs words", "blank")
    if len(op.text) > limits.entry_chars:
        reason = f"an entry has at most {limits.entry_chars} characters, this one {len(op.text)}"
        return OpReport(op, False, reason, "too-long")
    return None


def _made(op: Append | Insert) -> L1Entry:
    return L1Entry(op.text, least_trusted((Trust.SELF, op.lineage)), op.review)


def _place(entries: _Entries, op: Insert | Remove, *, last: int) -> int | OpReport:
    """Where the named entry stands; a hash names it wherever it went."""
    if op.index is not None and not 0 <= op.index <= last:
        reason = f"index {op.index} is not among 0 to {last}" if last >= 0 else "there is no entry"
        return OpReport(op, False, reason, "out-of-range")
    if op.hash:
        return _by_hash(entries, op)
    if op.index is None:
        return OpReport(op, False, "neither index nor hash names an entry", "no-entry")
    return op.index


def _by_hash(entries: _Entries, op: Insert | Remove) -> int | OpReport:
    wanted = op.hash.lower()
    if len(wanted) < SHORTEST_HASH:
        reason = f"a hash has at least {SHORTEST_HASH} digits to name an entry"
        return OpReport(op, False, reason, "no-entry")
    places = [at for at, entry in enumerate(entries) if entry.hash.startswith(wanted)]
    if not places:
        return OpReport(op, False, f"no entry has the hash {op.hash}", "no-entry")
    if op.index is not None:
        if op.index in places:
            return op.index
        reason = f"index {op.index} does not have the hash {op.hash}"
        return OpReport(op, False, reason, "disagree")
    if len({entries[at].hash for at in places}) > 1:
        return OpReport(op, False, f"more than one entry has the hash {op.hash}", "ambiguous")
    return places[0]
