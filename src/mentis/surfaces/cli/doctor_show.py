"""The doctor's report as a person reads it: what costs most first."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

from mentis.values.words import quantity

from .cost_show import money
from .report import Note, Text
from .shown import safe
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.doctor.breaks import LogBreak
    from mentis.doctor.report import DoctorReport, FixEffect, LogFinding, LogSum

_EVIDENCE = {"bytes": "bytes seen", "usage": "usage only", "provider": "provider said"}
_TOP = 5
_MOST_NOTES = 10


def usd_text(usd: float | None, *, unpriced: int = 0) -> str:
    return money(None if usd is None else Decimal(str(round(usd, 8))), unpriced=unpriced)


def report_lines(report: DoctorReport, *, top: int, max_waste: float | None) -> Iterator[Text]:
    total = report.total
    if not total.calls:
        yield Note("no call to a model is in these logs")
    else:
        yield _head(report)
        yield ""
        yield from _parts(total)
        if report.findings and top:
            yield ""
            yield "what to change, what saves most first"
            for number, one in enumerate(report.findings[:top], 1):
                yield "\n".join(_finding(number, one))
        yield from _carried(report)
        yield from _sessions(report)
        yield from _scenarios(report)
        if report.effect is not None:
            yield from _effect(report.effect)
        if max_waste is not None:
            yield ""
            yield _budget(total, max_waste)
    yield from _notes(report)


def _head(report: DoctorReport) -> str:
    total = report.total
    programs = ", ".join(safe(one.name) for one in report.programs)
    cost = usd_text(total.usd if total.priced else None, unpriced=total.unpriced)
    days = [one.name for one in report.days if one.name[:1].isdigit()]
    span = f", {days[0]} to {days[-1]}" if len(days) > 1 else f", {days[0]}" if days else ""
    return (
        f"{quantity(total.calls, 'call')} in {quantity(report.session_count, 'session')}"
        f" of {programs}{span}: {cost}, {total.usage.input:,} tokens in"
        f" ({total.usage.cache_read:,} found in the cache), {total.usage.output:,} out"
    )


def _parts(total: LogSum) -> Iterator[Text]:
    usage = total.usage
    fresh = usage.input - usage.cache_read - usage.cache_write
    rows = [
        ("the context, read again", usage.cache_read, total.read),
        ("written into the cache", usage.cache_write, total.written),
        ("new, read in full", fresh, total.fresh),
        ("what the models wrote", usage.output, total.output),
        ("priced by the log itself", 0, total.other),
    ]
    told = [row for row in rows if row[1] or row[2]]
    told.sort(key=lambda row: (-row[2], -row[1]))
    lines = [
        (name, f"{tokens:,}" if tokens else "-", usd_text(usd or None), _share(usd, total.usd))
        for name, tokens, usd in told
    ]
    yield TextTable(
        ("where it went", "tokens", "cost", "share"), lines, right=("tokens", "cost", "share")
    )
    if total.lost:
        lost = f", {usd_text(total.lost_usd)}" if total.lost_usd else ""
        yield (
            f"of it lost by breaks of the cache: {total.lost:,} tokens read again{lost} more than"
            f" finding them ({total.waste_share:.1%} is waste; what compaction costs is not"
            " counted as such)"
        )


def _share(usd: float, whole: float) -> str:
    return f"{usd / whole:.0%}" if whole else "-"


def _finding(number: int, one: LogFinding) -> Iterator[str]:
    cost = f"{usd_text(one.usd)}, " if one.usd else ""
    saving = f"; saves {usd_text(one.saving)}" if one.saving else ""
    head = f"{one.title}: {cost}{one.tokens:,} tokens ({_EVIDENCE[one.evidence]}){saving}"
    yield from _folded(safe(head), f"  {number}. ", "     ")
    yield from _folded(safe(f"change: {one.change}"), "     ", "       ")
    if one.saving and one.basis:
        yield from _folded(safe(f"counted so: {one.basis}"), "     ", "       ")
    if one.patch is not None:
        patch = one.patch
        yield from _folded(
            f"patch: {patch.file} of {patch.program}: {'.'.join(patch.key)} = {patch.value!r}"
            f" ({patch.source})",
            "     ",
            "       ",
        )
    for example in one.examples[:1]:
        yield from _example(example)


def _example(one: LogBreak) -> Iterator[str]:
    where = f" at byte {one.byte} ({one.pointer})" if one.byte >= 0 else ""
    where += f", in {one.where}" if one.where else ""
    idle = f", {one.idle:,} seconds after the call before" if one.cause == "idle" else ""
    said = f", the provider says {one.said}" if one.said else ""
    text = f"for example {one.place}{where}{idle}{said}: {one.tokens:,} tokens"
    yield from _folded(safe(text), "     ", "       ")
    if one.byte >= 0 and one.before != one.after:
        yield f"       before: ...{safe(_flat(one.before))}..."
        yield f"       now:    ...{safe(_flat(one.after))}..."


def _flat(text: str) -> str:
    return text.replace("\n", "\\n")


def _carried(report: DoctorReport) -> Iterator[Text]:
    if not report.carried:
        return
    yield ""
    rows = [
        (safe(one.name), f"{one.tokens:,}", usd_text(one.usd or None))
        for one in report.carried[:_TOP]
    ]
    yield TextTable(
        ("read again, by where it came from", "tokens", "cost"), rows, right=("tokens", "cost")
    )


def _sessions(report: DoctorReport) -> Iterator[Text]:
    if len(report.sessions) < 2:
        return
    yield ""
    rows = [
        (
            safe(one.label or one.name),
            safe(one.project),
            f"{one.calls:,}",
            f"{one.peak:,}",
            f"{one.lost:,}",
            usd_text(one.usd or None),
        )
        for one in report.sessions[:_TOP]
    ]
    heads = ("the dearest sessions", "project", "calls", "longest prompt", "lost", "cost")
    yield TextTable(heads, rows, right=heads[2:])


def _scenarios(report: DoctorReport) -> Iterator[Text]:
    if not report.scenarios:
        return
    yield ""
    rows = [
        (
            one.name,
            usd_text(one.usd),
            "-" if one.usd is None else _signed(one.usd - one.before),
            one.told,
        )
        for one in report.scenarios
    ]
    yield TextTable(("what if", "cost", "change", "assumes"), rows, right=("cost", "change"))


def _signed(usd: float) -> str:
    return f"{'+' if usd > 0 else '-'}{usd_text(abs(usd))}" if round(usd, 8) else "none"


def _effect(one: FixEffect) -> Iterator[Text]:
    from mentis.doctor.report_data import moment_data, saved_since

    yield ""
    yield f"since {moment_data(one.time)}: {safe(one.what)}"
    rows = [
        (
            name,
            f"{told.calls:,}",
            usd_text(told.usd / told.calls if told.calls and told.usd else None),
            f"{told.usage.input // told.calls:,}" if told.calls else "-",
            f"{told.waste_share:.1%}",
        )
        for name, told in (("before", one.before), ("after", one.after))
    ]
    heads = ("", "calls", "cost of a call", "tokens in of a call", "waste")
    yield TextTable(heads, rows, right=heads[1:])
    saved = saved_since(one)
    if saved is None:
        yield Note("there are not calls enough on both sides to compare")
    else:
        word = "saved" if saved >= 0 else "cost more"
        yield f"the calls after it {word} {usd_text(abs(saved))}, at what a call cost before"


def _budget(total: LogSum, max_waste: float) -> str:
    share = total.waste_share
    if share > max_waste:
        return f"over the budget: {share:.1%} is waste, and {max_waste:.1%} may be"
    return f"within the budget: {share:.1%} is waste, and {max_waste:.1%} may be"


def _notes(report: DoctorReport) -> Iterator[Text]:
    if report.repeated:
        yield Note(f"{quantity(report.repeated, 'call')} stood in the logs twice, and count once")
    for one in report.notes[:_MOST_NOTES]:
        yield Note(f"{one.file}: {one.why}")
    if len(report.notes) > _MOST_NOTES:
        yield Note(f"and {len(report.notes) - _MOST_NOTES} more such notes: --json has them all")
    if report.total.unpriced:
        told = [one for one in report.prices if not one.startswith("list price")]
        yield Note(
            f"{quantity(report.total.unpriced, 'call')} have no known price and add nothing:"
            f" {'; '.join(told[:3])}"
        )


def _folded(text: str, first: str, rest: str) -> Iterator[str]:
    width = max(40, shutil.get_terminal_size().columns)
    yield from textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=False,
    )
