"""Rules about a window that was kept: its hash, its predecessor, its time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from mentis.values.window import TIME_PREFIX

from .case import Case, Check, Fault, Kind, Rule
from .reading import text_at

_HASH = re.compile(r"[0-9a-f]{64}")


def _final(case: Case) -> Iterator[Fault]:
    given = text_at(case.window, "window_hash")
    if not _HASH.fullmatch(given):
        yield Fault("/window_hash", "it is not 64 lower-case hex digits")
    elif given != case.commit.hash:
        yield Fault("/window_hash", "it is not the hash of the entry")


def _recompute(case: Case) -> Iterator[Fault]:
    if case.commit.recomputed != case.commit.hash:
        yield Fault("/window_hash", "the hash computed anew is another one")


def _link(case: Case) -> Iterator[Fault]:
    given = case.window.get("prev_window_hash")
    if given != case.commit.prev:
        words = "the first window has null" if case.commit.prev is None else "it is another hash"
        yield Fault("/prev_window_hash", f"it is not the predecessor's: {words}")


def _form(case: Case) -> Iterator[Fault]:
    given = text_at(case.window, "time_source")
    moment = _moment(given.removeprefix(TIME_PREFIX))
    if not given.startswith(TIME_PREFIX) or moment is None:
        yield Fault("/time_source", f"it is not `{TIME_PREFIX}` and a UTC time")
    elif moment != _moment(case.commit.time):
        yield Fault("/time_source", "it is not the time of the entry")


def _fresh(case: Case) -> Iterator[Fault]:
    stamped, now = _moment(case.commit.time), _moment(case.commit.now)
    seconds = case.profile.limits.fresh_seconds
    if stamped is None or now is None or abs((now - stamped).total_seconds()) > seconds:
        yield Fault("/time_source", f"it is not within {seconds} seconds of the ledger's clock")
    before = case.commit.head_time
    if stamped is not None and before is not None and _earlier(stamped, before):
        yield Fault("/time_source", "it is before the time of the predecessor")


def _earlier(stamped: datetime, before: str) -> bool:
    moment = _moment(before)
    return moment is not None and stamped < moment


def _moment(text: str) -> datetime | None:
    """A time with a zone, or nothing."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def _row(number: int, name: str, what: str, check: Check, *, kind: Kind = "program") -> Rule:
    fix = "run `mentis status verify`; a record is never edited to make it fit"
    why = "this is what makes the record one nobody can quietly rewrite"
    return Rule(f"S2-{name}", str(number), "block", "commit", kind, what, why, fix, check)


RULES = (
    _row(28, "HASH-FINAL", "a kept hash is 64 lower-case hex digits and the entry's", _final),
    _row(29, "HASH-RECOMPUTE", "the hash computed anew is the stored one", _recompute),
    _row(30, "CHAIN-LINK", "each window names its predecessor's hash, the first null", _link),
    _row(31, "CHRONOS-FORM", "`time_source` is the entry's time in its fixed form", _form),
    _row(
        32,
        "CHRONOS-FRESH",
        "the time is within 300 s of the ledger's clock and not before the head's",
        _fresh,
        kind="state",
    ),
)
