"""Costs as a person reads them, as JSON and as CSV. No price is ever shown as nothing."""

from __future__ import annotations

import csv
import io
import shutil
import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from mentis.values.words import quantity

from .report import Note, Text
from .shown import safe
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.values.cost import CacheLoss, Cost, CostGroup, CostReport, TurnCost

UNKNOWN = "unknown price"
_HEADS = ("calls", "in", "cached", "written", "out", "reasoning", "cost")
_LEAST_BAR, _MOST_BAR = 8, 40
_MOST_BARS = 14  # the last days, or the dearest of what else there is
_MOST_NAME = 28


def report_lines(report: CostReport) -> Iterator[Text]:
    if not report.total.calls:
        yield Note("no model was asked in that time")
    else:
        several = len({group.agent for group in report.groups}) > 1
        rows = [(_name(group, several=several), group.cost) for group in report.groups]
        yield _table(report.by, rows, report.total)
        if len(rows) > 1:
            timed = report.by in ("day", "turn")
            drawn = rows[-_MOST_BARS:] if timed else rows[:_MOST_BARS]
            yield "\n".join(["", *_chart(drawn)])
        if report.turns:
            yield "\n".join(["", "the most expensive turns", *_turns(report.turns)])
    for note in report.notes:
        yield Note(note)
    if report.partial:
        yield Note("older turns are not counted here: leave --newest out to count them all")


def money(usd: Decimal | None, *, unpriced: int = 0) -> str:
    """At least two digits that say something; `free` is what really costs nothing."""
    if usd is None or (not usd and unpriced):
        return UNKNOWN
    more = f" + {UNKNOWN}" if unpriced else ""
    if not usd:
        return "free"
    digits = 2 if usd >= 100 else 4 if usd >= Decimal("0.01") else 1 - usd.adjusted()
    return f"${usd:,.{digits}f}{more}"


def cost_text(cost: Cost) -> str:
    return money(cost.usd, unpriced=cost.unpriced)


def _name(group: CostGroup, *, several: bool) -> str:
    return safe(f"{group.agent}: {group.name}" if several and group.agent else group.name)


def _table(by: str, rows: Sequence[tuple[str, Cost]], total: Cost) -> TextTable:
    lines = [(name, *_cells(cost)) for name, cost in rows]
    lines += [("total", *_cells(total))] if len(rows) > 1 else []
    return TextTable((by, *_HEADS), lines, right=_HEADS)


def _cells(cost: Cost) -> tuple[str, ...]:
    usage = cost.usage
    counts = (usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning)
    return (
        f"{cost.calls:,}" if cost.calls else "-",
        *(f"{count:,}" for count in counts),
        cost_text(cost),
    )


def _chart(rows: Sequence[tuple[str, Cost]]) -> Iterator[str]:
    """A bar for each sum: of money, or of tokens where no price is known of any."""
    paid = any(cost.usd for _, cost in rows)
    sizes = [float(cost.usd or 0) if paid else float(cost.tokens) for _, cost in rows]
    ends = [cost_text(cost) if paid else f"{cost.tokens:,} tokens" for _, cost in rows]
    names = [_short(name, _MOST_NAME) for name, _ in rows]
    beside = max(map(len, names)) + max(map(len, ends)) + 2
    room = max(_LEAST_BAR, min(_MOST_BAR, shutil.get_terminal_size().columns - beside - 1))
    mark = "█" if "utf" in (sys.stdout.encoding or "").casefold() else "#"
    most = max(sizes) or 1.0
    for name, size, end in zip(names, sizes, ends, strict=True):
        length = max(1, round(room * size / most)) if size else 0
        yield f"{name.ljust(max(map(len, names)))} {(mark * length).ljust(room)} {end}"


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: max(width - 3, 1)]}..."


def _turns(turns: Sequence[TurnCost], depth: int = 0) -> Iterator[str]:
    before = "  " * (depth + 1)
    for turn in turns:
        yield from _folded(f"{'> ' if depth else ''}{_turn_line(turn)}", before)
        if turn.loss is not None:
            yield from _folded(loss_line(turn.loss), before + "    ")
        if turn.fix:
            yield from _folded(f"cheapest fix: {turn.fix}", before + "    ")
        yield from _turns(turn.inner, depth + 1)


def _turn_line(turn: TurnCost) -> str:
    place = f"{safe(turn.agent)} entry {turn.entry}"
    if turn.elsewhere:
        return f"{place}: its record is not here"
    own, words = turn.cost, [place, turn.kind]
    words += [safe(turn.session)] if turn.session else []
    words += [turn.time[:16].replace("T", " "), quantity(own.calls, "call")]
    said = f"{', '.join(words)}: {cost_text(turn.whole if turn.inner else own)}"
    return f"{said} ({cost_text(own)} of its own)" if turn.inner else said


def loss_line(loss: CacheLoss) -> str:
    step = f" in step {loss.step}" if loss.step > 1 else ""
    match loss.cause:
        case "first":
            return f"cache: {loss.reason}"
        case "off":
            return f"cache: none{step}: {loss.reason}"
        case "changed":
            return f"cache broken{step} {change_text(loss)}: {_lost(loss)}"
        case _:
            return f"cache missed{step}: {loss.reason}: {_lost(loss)}"


def change_text(loss: CacheLoss) -> str:
    """Where two prompts part."""
    if not loss.exact:
        return f"behind byte {loss.byte}, in {loss.where}"
    where = f" ({loss.pointer})" if loss.pointer else ""
    return f"at byte {loss.byte}{where}, in {safe(loss.where)}"


def _lost(loss: CacheLoss) -> str:
    price = "" if loss.usd is None else f", {money(loss.usd)} more than finding them"
    return f"{loss.tokens:,} tokens read again{price}"


def _folded(text: str, before: str) -> Iterator[str]:
    import textwrap

    width = max(40, shutil.get_terminal_size().columns)
    yield from textwrap.wrap(
        text,
        width,
        initial_indent=before,
        subsequent_indent=before + "  ",
        break_on_hyphens=False,
    )


def csv_lines(report: CostReport) -> Iterator[Text]:
    """One line for each sum; an empty `usd` is a price that is not known."""
    from mentis.costs.cost_data import cost_data

    written = io.StringIO()
    fields = [report.by, "agent", *cost_data(report.total)]
    writer = csv.DictWriter(written, fields, lineterminator="\n")
    writer.writeheader()
    for group in report.groups:
        own = {report.by: group.name, "agent": group.agent}
        writer.writerow({**own, **cost_data(group.cost)})
    yield written.getvalue().removesuffix("\n")
    for note in report.notes:
        yield Note(note)
