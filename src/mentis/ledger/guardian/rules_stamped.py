"""Rules about what a draft must leave to the ledger: step, time, hash, predecessor, fillers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from mentis.values.window import AUTO, AUTO_TIME, NO_HASH, UNKNOWN_CYCLE, UNKNOWN_STEP

from .case import Case, Check, Fault, Rule
from .reading import object_at, status_of, text_at
from .words import is_put_off

# The profile lets the ledger overwrite what a draft made up; the attempt is on record.
OVERWRITE = "forged"
_AUTO_TIMES = (AUTO_TIME, "...: AUTO")  # C7: both forms are in use
_NO_PREV = (None, "", "null", AUTO, "PLACEHOLDER", NO_HASH)
_FILLER = re.compile(
    r"(?:\.{2,}|…|AUTO|PLACEHOLDER\w*|TO(?:DO)\b.*|T\.?B\.?[ADC]\.?"
    r"|(?:to be|will be|gets?) (?:added|done|filled|determined|defined|decided)\b.*"
    r"|(?:fill(?:ed)?|add(?:ed)?) (?:in )?later\b.*)",
    re.IGNORECASE,
)
# What the window starts from is told in the words of others.
_QUOTED = ("inputs",)
_STAMPED = ("time_source", "window_hash", "prev_window_hash", "mcp_trigger")


def _unknown_is_red(case: Case) -> Iterator[Fault]:
    step, cycle = text_at(case.window, "step_id"), text_at(case.window, "cycle")
    if (step == UNKNOWN_STEP or cycle == UNKNOWN_CYCLE) and status_of(case.window) != "RED":
        yield Fault("/critical_summary/status", f"step {step}, cycle {cycle}, but not RED")


def forged_time(window: Mapping[str, object]) -> bool:
    time = window.get("time_source")
    return time is not None and time not in (*_AUTO_TIMES, AUTO)


def forged_trigger_time(window: Mapping[str, object]) -> bool:
    time = object_at(window, "mcp_trigger").get("timestamp")
    return time is not None and time != AUTO


def forged_hash(window: Mapping[str, object]) -> bool:
    given = window.get("window_hash")
    return given is not None and given != NO_HASH


def _time(case: Case) -> Iterator[Fault]:
    bare = case.window.get("time_source") == AUTO and "C7" not in case.profile.settles
    if bare or forged_time(case.window):
        yield Fault("/time_source", "the draft brings a time of its own", OVERWRITE)


def _trigger_time(case: Case) -> Iterator[Fault]:
    if forged_trigger_time(case.window):
        yield Fault("/mcp_trigger/timestamp", "the draft brings a trigger time", OVERWRITE)


def _hash(case: Case) -> Iterator[Fault]:
    if case.window.get("window_hash") != NO_HASH:
        given = "no placeholder" if case.window.get("window_hash") is None else "another text"
        yield Fault("/window_hash", f"{given} instead of {NO_HASH}", OVERWRITE)


def _prev(case: Case) -> Iterator[Fault]:
    given = case.window.get("prev_window_hash")
    if given not in (*_NO_PREV, case.state.head):
        yield Fault("/prev_window_hash", "it is neither AUTO nor the head of the chain")


def _placeholders(case: Case) -> Iterator[Fault]:
    for key, value in case.window.items():
        if key not in _STAMPED:
            yield from _fillers(value, f"/{_escaped(key)}", quoted=key in _QUOTED)


def _fillers(value: object, where: str, *, quoted: bool) -> Iterator[Fault]:
    match value:
        case str() if _FILLER.fullmatch(value.strip()) or (not quoted and is_put_off(value)):
            yield Fault(where, f"{value.strip()!r} stands where a value belongs")
        case Mapping():
            for key, inner in cast("Mapping[str, object]", value).items():
                yield from _fillers(inner, f"{where}/{_escaped(key)}", quoted=quoted)
        case list() | tuple():
            for index, inner in enumerate(cast("Sequence[object]", value)):
                yield from _fillers(inner, f"{where}/{index}", quoted=quoted)
        case _:
            pass


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


FORGED_PLACES = ("/time_source", "/mcp_trigger/timestamp", "/window_hash")


def attempts(window: Mapping[str, object]) -> tuple[str, ...]:
    """The places where a draft made up what only the ledger can know."""
    found = (forged_time(window), forged_trigger_time(window), forged_hash(window))
    return tuple(where for where, forged in zip(FORGED_PLACES, found, strict=True) if forged)


def _deceit(case: Case) -> Iterator[Fault]:
    for where in attempts(case.window):
        yield Fault(where, "made up by the draft, overwritten by the ledger, recorded", OVERWRITE)


def _row(number: int, name: str, what: str, check: Check, *, why: str, fix: str) -> Rule:
    return Rule(f"S2-{name}", str(number), "block", "draft", "program", what, why, fix, check)


def _forged(number: int, name: str, what: str, check: Check, *, why: str, fix: str) -> Rule:
    return replace(_row(number, name, what, check, why=why, fix=fix), yields=(OVERWRITE,))


_FAKE = "an agent cannot know it; what it writes there is made up"
RULES = (
    _row(
        22,
        "STATE-UNKNOWN",
        "step `unknown` or cycle `0/5` means status RED",
        _unknown_is_red,
        why="an agent that does not know where it stands must say so loudly",
        fix="set critical_summary.status to RED, or repeat step and cycle of the ledger",
    ),
    _forged(
        23,
        "FAKE-TIME",
        "`time_source` is absent or AUTO, never a time",
        _time,
        why=_FAKE,
        fix=f"write {AUTO_TIME}",
    ),
    _forged(
        24,
        "FAKE-TRIGTIME",
        "`mcp_trigger.timestamp` is absent or AUTO",
        _trigger_time,
        why=_FAKE,
        fix="leave it out",
    ),
    _forged(
        25,
        "HASH-DRAFT",
        f"`window_hash` is `{NO_HASH}`",
        _hash,
        why=_FAKE,
        fix=f"write {NO_HASH}",
    ),
    Rule(
        "S2-PREV-DRAFT",
        "26",
        "block",
        "draft",
        "state",
        "`prev_window_hash` is AUTO, a placeholder or the head of the chain",
        "another hash means that the agent believes in another history",
        "write AUTO, or read the head again",
        _prev,
    ),
    Rule(
        "S2-PLACEHOLDER",
        "27",
        "block",
        "draft",
        "heuristic",
        "no filler (dots, AUTO, a promise) stands where a value belongs",
        "a window of fillers looks complete and says nothing",
        "write the value, or leave the item out",
        _placeholders,
    ),
    _forged(
        67,
        "DECEIT",
        "what a draft made up is recorded even when it was overwritten",
        _deceit,
        why="harmless to the chain, telling about the agent",
        fix="leave time, trigger time and hash to the ledger",
    ),
)
