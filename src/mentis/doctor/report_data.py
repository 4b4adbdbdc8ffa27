"""The doctor's report as JSON: the same for every surface."""

from __future__ import annotations

from datetime import UTC, datetime

from .breaks import LogBreak
from .calls import LogPlace
from .report import (
    BreakGroup,
    DoctorReport,
    FixEffect,
    LogFinding,
    LogGroup,
    LogSession,
    LogSum,
    SettingPatch,
)

_DIGITS = 8


def money_data(usd: float | None) -> str | None:
    """A decimal number as text, as everywhere: JSON's numbers are no money."""
    if usd is None:
        return None
    return f"{round(usd, _DIGITS):.{_DIGITS}f}".rstrip("0").rstrip(".")


def moment_data(seconds: float) -> str | None:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds") if seconds else None


def report_data(report: DoctorReport) -> dict[str, object]:
    return {
        "total": sum_data(report.total),
        "findings": [finding_data(one) for one in report.findings],
        "breaks": [_group_data(one) for one in report.breaks],
        "carried": [
            {"source": one.name, "tokens": one.tokens, "usd": money_data(one.usd)}
            for one in report.carried
        ],
        "programs": [_named(one) for one in report.programs],
        "models": [_named(one) for one in report.models],
        "days": [_named(one) for one in report.days],
        "projects": [_named(one) for one in report.projects],
        "sessions": [_session_data(one) for one in report.sessions],
        "session_count": report.session_count,
        "scenarios": [
            {
                "name": one.name,
                "usd": money_data(one.usd),
                "before": money_data(one.before),
                "assumes": one.told,
            }
            for one in report.scenarios
        ],
        "effect": None if report.effect is None else _effect_data(report.effect),
        "files": report.files,
        "bytes": report.size,
        "repeated": report.repeated,
        "prices": list(report.prices),
        "notes": [{"file": one.file, "why": one.why} for one in report.notes],
    }


def sum_data(told: LogSum) -> dict[str, object]:
    usage = told.usage
    return {
        "calls": told.calls,
        "input": usage.input,
        "cached": usage.cache_read,
        "written": usage.cache_write,
        "written_for_an_hour": told.long_writes,
        "output": usage.output,
        "reasoning": usage.reasoning,
        "usd": money_data(told.usd if told.priced else None),
        "parts": {
            "new": money_data(told.fresh),
            "read_again": money_data(told.read),
            "written": money_data(told.written),
            "output": money_data(told.output),
            "told_by_the_log": money_data(told.other),
        },
        "unpriced": told.unpriced,
        "lost": told.lost,
        "lost_usd": money_data(told.lost_usd),
        "waste": told.waste,
        "waste_usd": money_data(told.waste_usd),
        "waste_share": round(told.waste_share, 6),
    }


def finding_data(one: LogFinding) -> dict[str, object]:
    return {
        "id": one.id,
        "title": one.title,
        "evidence": one.evidence,
        "usd": money_data(one.usd),
        "saving": money_data(one.saving),
        "tokens": one.tokens,
        "change": one.change,
        "basis": one.basis,
        "patch": None if one.patch is None else patch_data(one.patch),
        "examples": [break_data(example) for example in one.examples],
    }


def patch_data(one: SettingPatch) -> dict[str, object]:
    return {
        "program": one.program,
        "file": one.file,
        "key": list(one.key),
        "value": one.value,
        "source": one.source,
    }


def break_data(one: LogBreak) -> dict[str, object]:
    return {
        "cause": one.cause,
        "evidence": one.evidence,
        "tokens": one.tokens,
        "usd": money_data(one.usd),
        "place": _place(one.place),
        "session": one.session,
        "model": one.model,
        "time": moment_data(one.time),
        "idle": one.idle,
        "found": one.kept,
        "where": one.where,
        "pointer": one.pointer,
        "byte": one.byte if one.byte >= 0 else None,
        "before": one.before,
        "after": one.after,
        "repair": one.repair,
        "said": one.said,
    }


def _place(place: LogPlace) -> dict[str, object]:
    return {"file": place.file, "line": place.line}


def _group_data(one: BreakGroup) -> dict[str, object]:
    return {
        "cause": one.cause,
        "count": one.count,
        "tokens": one.tokens,
        "usd": money_data(one.usd),
        "evidence": dict(one.evidence),
        "dearest": [break_data(example) for example in one.dearest],
    }


def _named(one: LogGroup) -> dict[str, object]:
    return {"name": one.name, **sum_data(one.sum)}


def _session_data(one: LogSession) -> dict[str, object]:
    return {
        "name": one.name,
        "label": one.label,
        "program": one.program,
        "project": one.project,
        "file": one.file,
        "first": moment_data(one.first),
        "last": moment_data(one.last),
        "usd": money_data(one.usd),
        "calls": one.calls,
        "tokens": one.tokens,
        "longest_prompt": one.peak,
        "lost": one.lost,
    }


def _effect_data(one: FixEffect) -> dict[str, object]:
    return {
        "time": moment_data(one.time),
        "what": one.what,
        "before": sum_data(one.before),
        "after": sum_data(one.after),
        "saved": money_data(saved_since(one)),
    }


def saved_since(one: FixEffect) -> float | None:
    """What the calls after would have cost more at what a call cost before; None where either has
    no price.
    """
    before, after = one.before, one.after
    if not before.calls or not after.calls or not before.usd or not after.usd:
        return None
    return before.usd / before.calls * after.calls - after.usd
