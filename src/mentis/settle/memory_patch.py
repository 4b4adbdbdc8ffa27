"""Changes of what is held in mind, one operation after the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias, assert_never

from mentis.values.cognition import L1Entry
from mentis.values.tick import Append, Insert, MemoryPatchOp, OpReport, PatchLimits, Remove
from mentis.values.trust import Trust, least_trusted

from .goal_patch import UNSEEN

SHORTEST_HASH = 6
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
        case Append():
            refusal = _unfit(entries, op, limits)
            return (entries, refusal) if refusal else ((*entries, _made(op)), OpReport(op, True))
        case Insert():
            return _insert(entries, op, limits)
        case Remove():
            at = _place(entries, op, last=len(entries) - 1)
            if isinstance(at, OpReport):
                return entries, at
            if limits.only_grows:
                return entries, OpReport(replace(op, review=True), False, UNSEEN, "review")
            return (*entries[:at], *entries[at + 1 :]), OpReport(op, True)
        case _:
            assert_never(op)


def _insert(entries: _Entries, op: Insert, limits: PatchLimits) -> tuple[_Entries, OpReport]:
    refusal = _unfit(entries, op, limits)
    if refusal is not None:
        return entries, refusal
    at = _place(entries, op, last=len(entries))
    if isinstance(at, OpReport):
        return entries, at
    return (*entries[:at], _made(op), *entries[at:]), OpReport(op, True)


def _unfit(entries: _Entries, op: Append | Insert, limits: PatchLimits) -> OpReport | None:
    if not op.text.strip():
        return OpReport(op, False, "an entry needs words", "blank")
    if len(op.text) > limits.entry_chars:
        reason = f"an entry has at most {limits.entry_chars} characters, this one {len(op.text)}"
        return OpReport(op, False, reason, "too-long")
    if len(entries) >= limits.entries:
        reason = f"there are {limits.entries} entries already: remove one first"
        return OpReport(op, False, reason, "full")
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
