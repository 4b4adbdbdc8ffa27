"""Sessions of an agent whose calls were recorded, for `mentis sessions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from typing import TYPE_CHECKING, cast

from mentis.values.value import Value

from .options import home_path
from .output import emit_json, printable, say, table

if TYPE_CHECKING:
    from mentis.record.foreign_calls import ForeignCall
    from mentis.recorder.report import CallReport

RECORDED = "recorded/"


def list_recorded(agent: str, *, as_json: bool) -> None:
    from mentis.recorder.report import report_sessions

    found = report_sessions(_calls(agent))
    if as_json:
        emit_json(plain(found))
        return
    names = ("session", "calls", "threads", "in", "from cache", "out", "cost", "read again")
    rows = [
        (
            printable(one.name),
            str(one.sum.calls),
            str(one.threads),
            str(one.sum.input),
            str(one.sum.cache_read),
            str(one.sum.output),
            cost_words(one.sum),
            str(sum(loss.tokens for loss in one.sum.losses)),
        )
        for one in found
    ]
    table(names, rows, right=names[1:])


def show_recorded(agent: str, session: str, *, as_json: bool) -> None:
    from mentis.errors import UsageError

    calls = _calls(agent)
    chosen = [call for call in calls if call.session == session]
    if not chosen:
        known = dict.fromkeys(call.session for call in calls if call.session)
        raise UsageError(
            f"{agent} has no session {session!r}", hint=f"known: {', '.join(known) or 'none'}"
        )
    if as_json:
        emit_json(plain(chosen))
        return
    names = ("entry", "thread", "model", "status", "in", "from cache", "out", "cost", "read again")
    table(
        names, [_row(call) for call in chosen], right=("entry", "in", "from cache", "out", "cost")
    )
    for call in chosen:
        for tool in call.flagged:
            say(printable(f"entry {call.entry}: a result of {tool!r} looks like instructions"))


def _row(call: ForeignCall) -> tuple[str, ...]:
    used = call.usage
    thread = str(call.thread) if call.parent is None else f"{call.thread} below {call.parent}"
    lost = f"{call.lost}: {call.place or call.reason}" if call.lost else ""
    return (
        str(call.entry),
        thread,
        printable(call.model),
        str(call.status) if call.end == "answered" else call.end,
        "" if used is None else str(used.input),
        "" if used is None else str(used.cache_read),
        "" if used is None else str(used.output),
        "" if used is None else dollars(call.usd),
        printable(lost),
    )


def _calls(agent: str) -> list[ForeignCall]:
    """All that are in the record, also those that were moved out of its store."""
    from mentis.home.identity import unknown_recorded
    from mentis.record.foreign_calls import foreign_calls
    from mentis.record.record import open_record

    with open_record(home_path(), agent, readonly=True) as record:
        if not record.store.count(record.agent):
            raise unknown_recorded(agent, record.store.agents())
        with record.snapshot() as source:
            return list(foreign_calls(source.entries()))


def plain(value: object) -> object:
    """For JSON; money stays exact, as a text."""
    match value:
        case Decimal():
            return format(value, "f")
        case Value():
            return {one.name: plain(getattr(value, one.name)) for one in fields(value)}  # pyright: ignore[reportArgumentType]  # every value is a dataclass
        case Mapping():
            members = cast("Mapping[object, object]", value).items()
            return {str(name): plain(part) for name, part in members}
        case list() | tuple():
            return [plain(one) for one in cast("Sequence[object]", value)]
        case _:
            return value


def cost_words(report: CallReport) -> str:
    """Never $0.00 for what nobody knows."""
    if not report.unpriced:
        return dollars(report.usd)
    return "unknown price" if not report.usd else f"{dollars(report.usd)} and more"


def dollars(usd: Decimal | None) -> str:
    if usd is None:
        return "unknown price"
    return f"${usd:.4f}" if usd < 1 else f"${usd:.2f}"
