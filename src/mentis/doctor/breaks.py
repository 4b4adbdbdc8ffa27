"""Breaks of a cache that only counts of tokens tell of: how much, and why as far as one can say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mentis.values.reply import CacheDiagnosis

from .calls import BreakCause, Evidence, LoggedCall, LogPlace

SHORT_LIFE, LONG_LIFE = 300, 3600  # seconds that a cache is kept where nothing else is said
_LEAST, _SHARE = 256, 20  # tokens, and one part in so many: less is what providers round away
_SHRUNK = 0.9
# How providers name what changed: platform.claude.com/docs/en/build-with-claude/prompt-caching and
# the diagnostics of OpenAI's Responses.
_SAID: Mapping[str, BreakCause] = {
    "model": "model",
    "tool": "tools",
    "system": "changed",
    "instruction": "changed",
    "message": "rewritten",
    "input": "rewritten",
}


@dataclass(frozen=True, slots=True)
class LogBreak:
    """`tokens` were in a cache and had to be read again, which cost `usd` more than finding them.
    `where` and `byte` say where two prompts part, as far as their bytes were seen; `changed` is
    about how many tokens are really others. `before` and `after` stand around the byte.
    """

    cause: BreakCause
    tokens: int
    evidence: Evidence
    place: LogPlace
    session: str = ""
    model: str = ""
    time: float = 0.0
    usd: float = 0.0
    idle: int = 0
    kept: int = 0
    where: str = ""
    pointer: str = ""
    byte: int = -1
    before: str = ""
    after: str = ""
    changed: int = 0
    repair: str = ""
    said: str = ""  # by the provider


@dataclass(slots=True)
class LastCall:
    """The call before, of a thread. `cached` tokens of it a cache could hold."""

    time: float
    model: str
    input: int
    cached: int
    life: int


def last_call(call: LoggedCall, before: LastCall | None) -> LastCall:
    usage = call.usage
    marked = usage.cache_read + usage.cache_write
    # Anthropic keeps what was marked; others keep what they find, and do not count writing.
    cached = marked if call.backend == "anthropic" else usage.input
    life = SHORT_LIFE
    if call.long_writes or (before and before.life == LONG_LIFE and not usage.cache_write):
        life = LONG_LIFE
    return LastCall(call.time, call.model, usage.input, cached, life)


def lost_tokens(could: int, read: int) -> int:
    """Of those that a cache could have given."""
    lost = could - read
    return lost if lost > max(_LEAST, could // _SHARE) else 0


def usage_break(before: LastCall, call: LoggedCall) -> LogBreak | None:
    if not call.tells_cache:
        return None
    usage, idle = call.usage, round(max(0.0, call.time - before.time)) if before.time else 0
    lost = lost_tokens(min(before.cached, usage.input), usage.cache_read)
    if not lost:
        return None
    cause, evidence = _cause(before, call, idle), "usage"
    said = call.diagnosis
    named = _said(said)
    if said is not None and named is not None:
        cause, evidence = named, "provider"
        lost = min(said.missed, usage.input) or lost
    return LogBreak(
        cause,
        lost,
        evidence,
        call.place,
        call.session,
        call.model,
        call.time,
        idle=idle,
        kept=usage.cache_read,
        said=said.reason if said and named else "",
    )


def _cause(before: LastCall, call: LoggedCall, idle: int) -> BreakCause:
    """What the log itself says comes first, then what the counts and the clock tell."""
    if "compacted" in call.events:
        return "compacted"
    if call.model != before.model:
        return "model"
    if idle > before.life:
        return "idle"
    for event in ("tools", "effort", "upgrade"):
        if event in call.events:
            return event
    if call.usage.input < before.input * _SHRUNK:
        return "rewritten"
    return "unknown"


def _said(diagnosis: CacheDiagnosis | None) -> BreakCause | None:
    if diagnosis is None or diagnosis.state != "changed":
        return None
    reason = diagnosis.reason.lower()
    return next((cause for word, cause in _SAID.items() if word in reason), None)
