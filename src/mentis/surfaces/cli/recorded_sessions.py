"""Sessions of an agent whose calls were recorded, for `mentis sessions`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from .options import home_path
from .output import printable
from .report import Note, Report, Text
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.record.foreign_calls import CallOrigin, ForeignCall
    from mentis.recorder.report import CallReport, SessionReport

RECORDED = "recorded/"


_NAMES = ("session", "calls", "in", "cached", "out", "cost", "read again")


def list_recorded(agent: str) -> Report:
    """Sessions below the one that asked for them, and their threads below each other."""
    from mentis.recorder.report import report_sessions
    from mentis.recorder.report_data import plain, recorded_calls

    found = report_sessions(recorded_calls(home_path(), agent))
    rows = [(label, *_cells(total)) for label, total in session_tree(found)]
    return Report(plain(found), TextTable(_NAMES, rows, right=_NAMES[1:]))


def session_tree(found: Sequence[SessionReport]) -> list[tuple[str, CallReport]]:
    """A line for each session and thread, indented below what asked for it."""
    known = {one.name: one for one in found}
    inner: dict[str, list[SessionReport]] = {}
    for one in found:
        if one.parent is not None:
            inner.setdefault(one.parent, []).append(one)
    lines: list[tuple[str, CallReport]] = []

    def tell(one: SessionReport, depth: int) -> None:
        why = f" <- {_asker(one.main.origin)}" if one.parent is not None else ""
        lines.append((f"{'  ' * depth}{printable(one.name)}{why}", one.sum))
        lines.extend((f"{'  ' * depth}{text}", total) for text, total in _thread_lines(one))
        for child in inner.get(one.name, ()):
            tell(child, depth + 1)

    for one in known.values():
        if one.parent is None:
            tell(one, 0)
    return lines


def _thread_lines(session: SessionReport) -> Iterator[tuple[str, CallReport]]:
    """Its threads but for the one that it is about; those beside conversations come last."""
    depths = {session.main.number: 0}
    rest = [one for one in session.tree if one is not session.main]
    for one in rest:
        if not one.what:
            above = depths.get(one.parent, 0) if one.parent is not None else 0
            depths[one.number] = above + 1
            why = f": {_asker(one.origin)}" if one.origin is not None else ""
            yield f"{'  ' * (above + 1)}thread {one.number}{why}", one.sum
    yield from ((f"  beside it: {side_name(one.what)}", one.sum) for one in rest if one.what)


def _asker(origin: CallOrigin | None) -> str:
    if origin is None:
        return "?"
    how = origin.tool or origin.by
    said = f"handed over by {how}" if origin.kind == "handoff" else f"asked for by {how}"
    return printable(said if origin.entry is None else f"{said} in entry {origin.entry}")


def side_name(what: str) -> str:
    """`side_follow_ups` in words."""
    return printable(what.removeprefix("side_").replace("_", " "))


def _cells(total: CallReport) -> tuple[str, ...]:
    return (
        str(total.calls),
        str(total.input),
        str(total.cache_read),
        str(total.output),
        cost_words(total),
        str(sum(loss.tokens for loss in total.losses)),
    )


def show_recorded(agent: str, session: str) -> Report:
    from mentis.errors import UsageError
    from mentis.recorder.report_data import plain, recorded_calls

    calls = recorded_calls(home_path(), agent)
    chosen = [call for call in calls if call.session == session]
    if not chosen:
        known = dict.fromkeys(call.session for call in calls if call.session)
        raise UsageError(
            f"{agent} has no session {session!r}", hint=f"known: {', '.join(known) or 'none'}"
        )

    def text() -> Iterator[Text]:
        names = ("entry", "thread", "what", "model", "status", "in", "cached", "out", "cost",
                 "read again")  # fmt: skip
        yield TextTable(
            names,
            [_row(call) for call in chosen],
            right=("entry", "in", "cached", "out", "cost"),
        )
        for call in chosen:
            for tool in call.flagged:
                yield Note(
                    printable(f"entry {call.entry}: a result of {tool!r} looks like instructions")
                )

    return Report(plain(chosen), text())


def _row(call: ForeignCall) -> tuple[str, ...]:
    used = call.usage
    thread = str(call.thread) if call.parent is None else f"{call.thread} below {call.parent}"
    lost = f"{call.lost}: {call.place or call.reason}" if call.lost else ""
    return (
        str(call.entry),
        thread,
        side_name(call.what),
        printable(call.model),
        str(call.status) if call.end == "answered" else call.end,
        "" if used is None else str(used.input),
        "" if used is None else str(used.cache_read),
        "" if used is None else str(used.output),
        "" if used is None else dollars(call.usd),
        printable(lost),
    )


def replay_recorded(agent: str, index: int, *, original: bool, body: bool) -> Report:
    """The bytes that were kept of a call; 1 where they are not those that went by."""
    from mentis.errors import UsageError
    from mentis.home.server import open_blobs
    from mentis.record.foreign_calls import foreign_call
    from mentis.recorder.prompt_parts import RecordedPrompts
    from mentis.recorder.report_data import opened_recorded
    from mentis.values.digest import digest

    with opened_recorded(home_path(), agent) as record:
        entry = record.entry(index)
        call = foreign_call(entry)
        if call is None:
            erased = "call" in entry.fields and "call" not in entry.body
            why = "what went by in it was erased" if erased else "no call went by in it"
            raise UsageError(
                f"entry {index} is a `{entry.kind}`: {why}",
                hint=f"`mentis sessions list --persona {agent}` lists what did",
            )
        field = "original" if original and call.repairs else "request"
        content, same = RecordedPrompts(open_blobs(record.home, record.database)).body(entry, field)
    told = {"entry": index, "session": call.session, "route": call.route, "model": call.model}
    told |= {"identical": same, "bytes": len(content), "digest": digest(content)}
    what = "byte-identical" if same else "not the same: secrets were taken out of what was kept"
    line = f"entry {index}, session {call.session}: {what}, {len(content)} bytes, {digest(content)}"
    data = {**told, "repairs": list(call.repairs)}
    text = (content, () if same else Note(line)) if body else line
    return Report(data, text, code=0 if same else 1)


def cost_words(report: CallReport) -> str:
    """Never $0.00 for what nobody knows, or what was not answered."""
    if not report.unpriced and not report.unmeasured:
        return dollars(report.usd) if report.usd or report.input or report.output else "-"
    return "unknown price" if not report.usd else f"{dollars(report.usd)} and more"


def dollars(usd: Decimal | None) -> str:
    if usd is None:
        return "unknown price"
    return f"${usd:.4f}" if usd < 1 else f"${usd:.2f}"
