"""Findings: what costs, what to change, and what the change would have saved in this very log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mentis.record.foreign_calls import loss_fix

from .calls import BreakCause, Evidence
from .carried import CarriedCost
from .claude_code import CLAUDE_CODE
from .codex import CODEX
from .examination import COMPACT_AT, Examination
from .growth import LONG_RESULT, result_of
from .report import BreakGroup, LogFinding, SettingPatch
from .tally import LogTally

_CLAUDE_PAGE = "code.claude.com/docs/en/env-vars"
_CODEX_PAGE = "developers.openai.com/codex/config-reference"
_CHARACTERS = 4
_LARGE, _SMALL = 0.2, 0.005  # shares of the money
_MOST_TOOLS = 3
_TITLES: Mapping[BreakCause, str] = {
    "compacted": "The conversation was compacted: its summary is a new prompt",
    "idle": "Pauses were longer than the cache lives",
    "model": "Another model was chosen in mid-session: each has a cache of its own",
    "tools": "The tools changed in mid-session",
    "reordered": "The same tools were declared in another order",
    "changed": "A part of the prompt before the end changed",
    "clock": "A clock stands in the prefix",
    "nonce": "An id that is another one each time stands in the prefix",
    "headers": "A header changed from request to request",
    "rewritten": "Older messages were replaced or taken out",
    "upgrade": "The program was upgraded in mid-session",
    "effort": "The effort of thinking was changed in mid-session",
    "unmarked": "No cache was asked for",
    "unknown": "The cache did not hold, and this log does not say why",
}
_CHANGES: Mapping[BreakCause, str] = {
    "compacted": "begin a new session where a new task begins (/clear), instead of carrying on",
    "model": "choose the model before the session begins, or give the other one a session of its"
    " own (a sub-agent)",
    "tools": "connect servers and plugins before the session begins, and leave them connected",
    "rewritten": "go back (/rewind) seldom; a program that trims results should trim many at once",
    "upgrade": "upgrade between sessions",
    "effort": "choose the effort before the session begins",
    "headers": "send the same beta headers in each request",
    "unknown": "record the program once, so that the bytes are seen: mentis record -- PROGRAM",
}
# These break whatever one does, or cost less than what they save.
_NO_SAVING = ("compacted", "rewritten", "upgrade", "unknown")


def find_findings(exam: Examination) -> tuple[LogFinding, ...]:
    """By what they save, then by what they cost."""
    found = [*_context(exam), *_results(exam), *_breaks(exam), *_life(exam), *_other(exam)]
    return tuple(sorted(found, key=lambda one: (-(one.saving or 0.0), -one.usd, -one.tokens)))


def _context(exam: Examination) -> Iterator[LogFinding]:
    total = exam.total
    saved = exam.compact.saved
    if total.read < _LARGE * _paid(total) and saved <= 0:
        return
    if not total.cache_read:
        return
    program = _program(exam)
    worth = saved > _SMALL * _paid(total)
    yield LogFinding(
        "context",
        "The growing context is read again in every call",
        "usage",
        total.read,
        saved if worth else None,
        total.cache_read,
        f"keep prompts below {COMPACT_AT:,} tokens: a new session for each task (/clear), and"
        " earlier compaction"
        if worth
        else "nothing large: prompts stay short enough; a new session for each task keeps it so",
        f"each session summed up at {COMPACT_AT:,} tokens; mentis doctor --what-if compact=50k"
        " counts another limit",
        _context_patch(program) if worth else None,
    )


def _context_patch(program: str) -> SettingPatch | None:
    if program == CLAUDE_CODE:
        return _claude("CLAUDE_CODE_AUTO_COMPACT_WINDOW", str(COMPACT_AT))
    if program == CODEX:
        return _codex("model_auto_compact_token_limit", COMPACT_AT)
    return None


def _results(exam: Examination) -> Iterator[LogFinding]:
    dearest = sorted(exam.excess.items(), key=lambda one: (-one[1].usd, -one[1].tokens))
    for source, cost in dearest[:_MOST_TOOLS]:
        if cost.usd <= _SMALL * _paid(exam.total) or not cost.tokens:
            continue
        tool = source.removeprefix(result_of(""))
        whole = exam.carried.get(source, CarriedCost())
        yield LogFinding(
            f"results:{tool}",
            f"Long results of {tool} are carried through the whole session",
            "usage",
            whole.usd,
            cost.usd,
            round(whole.tokens),
            f"have {tool} give less: a part of a file, the last lines, a search instead of a list;"
            f" at most {LONG_RESULT:,} tokens of each",
            f"what each result has beyond {LONG_RESULT:,} tokens, read again until it was dropped;"
            " tokens by length",
            _result_patch(_program(exam), tool),
        )


def _result_patch(program: str, tool: str) -> SettingPatch | None:
    if program == CODEX:
        return _codex("tool_output_token_limit", LONG_RESULT)
    if program != CLAUDE_CODE:
        return None
    if tool == "Bash":
        return _claude("BASH_MAX_OUTPUT_LENGTH", str(LONG_RESULT * _CHARACTERS))
    if tool == "Read":
        return _claude("CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS", str(LONG_RESULT))
    return _claude("MAX_MCP_OUTPUT_TOKENS", str(LONG_RESULT)) if tool.startswith("mcp__") else None


def _breaks(exam: Examination) -> Iterator[LogFinding]:
    for group in exam.breaks():
        if group.cause == "idle" and exam.hour.result().usd is not None:
            yield _idle(exam, group)
            continue
        repair = next((one.repair for one in group.dearest if one.repair), "")
        where = next((one.where for one in group.dearest if one.where), "")
        nonce = _claude("CLAUDE_CODE_ATTRIBUTION_HEADER", "0") if repair == "nonce" else None
        yield LogFinding(
            f"break:{group.cause}",
            _TITLES[group.cause],
            _evidence(group),
            group.usd,
            None if group.cause in _NO_SAVING else group.usd,
            group.tokens,
            _change(group.cause, where or "what changes", repair),
            "what the lost tokens cost more than finding them",
            nonce,
            group.dearest,
        )


def _change(cause: BreakCause, where: str, repair: str) -> str:
    if cause in _CHANGES:
        return _CHANGES[cause]
    match cause:
        case "unmarked":
            return loss_fix("unmarked", where)
        case "reordered":
            return loss_fix("reordered", where, repair)
        case "clock" | "nonce":
            return f"take it out of {where}, or put it behind everything else" + (
                f"; or have it done: mentis record --repair={repair}" if repair else ""
            )
        case _:
            return loss_fix("changed", where, repair)


def _idle(exam: Examination, group: BreakGroup) -> LogFinding:
    hour = exam.hour.result()
    saving = hour.before - (hour.usd or 0.0)
    worth = saving > 0
    return LogFinding(
        "break:idle",
        _TITLES["idle"],
        _evidence(group),
        group.usd,
        saving if worth else None,
        group.tokens,
        "have the cache kept for an hour (ttl 1h)"
        if worth
        else "ask sooner, or begin anew after a long pause (/clear): a life of an hour would cost"
        " more than it saves here",
        "pauses of up to an hour find everything, and every write costs the price of an hour",
        _claude("ENABLE_PROMPT_CACHING_1H", "1")
        if worth and _program(exam) == CLAUDE_CODE
        else None,
        group.dearest,
    )


def _life(exam: Examination) -> Iterator[LogFinding]:
    if not exam.total.long_writes:
        return
    minutes = exam.minutes.result()
    saving = minutes.before - (minutes.usd or 0.0)
    if saving <= _SMALL * _paid(exam.total):
        return
    yield LogFinding(
        "life",
        "The cache is kept for an hour, and pauses are short",
        "usage",
        exam.total.written,
        saving,
        exam.total.long_writes,
        "have it kept for five minutes: to write it costs 1.25 of plain input instead of 2",
        "pauses of more than five minutes would find nothing, which is counted against it",
        _claude("FORCE_PROMPT_CACHING_5M", "1") if _program(exam) == CLAUDE_CODE else None,
    )


def _other(exam: Examination) -> Iterator[LogFinding]:
    total = exam.total
    if total.answered > _LARGE * _paid(total):
        yield LogFinding(
            "output",
            "What the models wrote",
            "usage",
            total.answered,
            None,
            total.output,
            "ask for shorter answers, for edits instead of whole files, and for less thinking where"
            " it does not help",
        )
    side = exam.side
    if _paid(side) > _LARGE * _paid(total):
        yield LogFinding(
            "agents",
            "Sub-agents",
            "usage",
            _paid(side),
            None,
            side.input,
            "each reads its own prompt from the beginning: fewer, with a smaller model where it is"
            " enough",
        )


def _paid(tally: LogTally) -> float:
    return tally.fresh + tally.read + tally.written + tally.answered + tally.other


def _program(exam: Examination) -> str:
    """The one that most was paid for."""
    programs = exam.programs
    return max(programs, key=lambda name: (_paid(programs[name]), programs[name].input), default="")


def _evidence(group: BreakGroup) -> Evidence:
    return max(group.evidence, key=lambda one: group.evidence[one])


def _claude(name: str, value: str) -> SettingPatch:
    return SettingPatch(CLAUDE_CODE, "settings.json", ("env", name), value, _CLAUDE_PAGE)


def _codex(name: str, value: int) -> SettingPatch:
    return SettingPatch(CODEX, "config.toml", (name,), value, _CODEX_PAGE)
