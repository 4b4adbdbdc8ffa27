"""The report as one page: no script, nothing loaded, charts drawn in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.resources import files

from .breaks import LogBreak
from .report import DoctorReport, LogFinding, LogGroup, LogSession, LogSum

_PARTS = ("read", "written", "output", "fresh", "other")
_NAMES = {
    "read": "the context, read again",
    "written": "written into the cache",
    "output": "what the models wrote",
    "fresh": "new, read in full",
    "other": "priced by the log itself",
}
EVIDENCE = {"bytes": "bytes seen", "usage": "usage only", "provider": "provider said"}
_WIDTH, _HEIGHT = 720, 130
_MOST_DAYS, _MOST_SESSIONS = 62, 6


def report_page(report: DoctorReport) -> str:
    total = report.total
    style = files(__package__ or "").joinpath("page.css").read_text("utf-8")
    sections = [
        _head(report),
        _section("Where it went", [_stack(total), _parts_table(total)]),
        _section("What to change, what saves most first", map(_finding, report.findings)),
        _section("Day by day", [_days(report.days)]),
        _section("How the prompts grew", map(_session, report.sessions[:_MOST_SESSIONS])),
        _section("Read again, by where it came from", [_carried(report)]),
        _section("Breaks of the cache", [_breaks(report)]),
        _section("The dearest sessions", [_sessions(report.sessions)]),
        _section("Models", [_groups(report.models)]),
        _section("What if", [_scenarios(report)]),
        _section("Left out", [_notes(report)]),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';'
        " style-src 'unsafe-inline'\">\n"
        f"<title>Where the money went</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f"{''.join(sections)}</main>\n</body>\n</html>\n"
    )


def usd(amount: float | None) -> str:
    if amount is None:
        return "unknown price"
    if not amount:
        return "$0"
    return f"${amount:,.2f}" if abs(amount) >= 1 else f"${amount:.4f}"


def _section(title: str, parts: Iterable[str]) -> str:
    inner = "".join(parts)
    return f"<section>\n<h2>{escape(title)}</h2>\n{inner}</section>\n" if inner else ""


def _head(report: DoctorReport) -> str:
    total, usage = report.total, report.total.usage
    found = usage.cache_read / usage.input if usage.input else 0.0
    cards = (
        ("cost", usd(total.usd if total.priced else None), "list prices"),
        ("calls", f"{total.calls:,}", f"{report.session_count:,} sessions"),
        ("tokens in", f"{usage.input:,}", f"{found:.0%} found in the cache"),
        ("tokens out", f"{usage.output:,}", f"{usage.reasoning:,} of them thinking"),
        ("waste", f"{total.waste_share:.1%}", f"{total.waste:,} tokens read again"),
    )
    shown = "".join(
        f"<div><dt>{name}</dt><dd>{escape(value)}</dd><p>{escape(more)}</p></div>"
        for name, value, more in cards
    )
    programs = ", ".join(one.name for one in report.programs)
    return (
        f"<h1>Where the money went</h1>\n"
        f"<p>Logs of {escape(programs)}, {report.files:,} files.</p>\n"
        f'<dl class="cards">{shown}</dl>\n'
    )


def _amounts(total: LogSum) -> list[tuple[str, float]]:
    found = [(name, float(getattr(total, name))) for name in _PARTS]
    return [(name, amount) for name, amount in found if amount > 0]


def _stack(total: LogSum) -> str:
    """One bar, its parts beside each other."""
    parts, whole, at = _amounts(total), total.usd, 0.0
    if not whole:
        return ""
    drawn: list[str] = []
    for name, amount in parts:
        width = amount / whole * _WIDTH
        label = f"{_NAMES[name]}: {usd(amount)}, {amount / whole:.0%}"
        drawn.append(
            f'<rect class="{name}" x="{at:.1f}" y="0" width="{width:.1f}" height="36">'
            f"<title>{escape(label)}</title></rect>"
        )
        at += width
    return _svg("".join(drawn), 36, "Shares of the cost")


def _parts_table(total: LogSum) -> str:
    usage = total.usage
    tokens = {
        "read": usage.cache_read,
        "written": usage.cache_write,
        "output": usage.output,
        "fresh": usage.input - usage.cache_read - usage.cache_write,
        "other": 0,
    }
    rows = [
        (
            f'<i class="key {name}"></i>{escape(_NAMES[name])}',
            f"{tokens[name]:,}",
            usd(amount),
            f"{amount / total.usd:.0%}",
        )
        for name, amount in sorted(_amounts(total), key=lambda one: -one[1])
    ]
    return _table(("", "tokens", "cost", "share"), rows, plain=False)


def _finding(one: LogFinding) -> str:
    saving = f'<b class="saving">saves {usd(one.saving)}</b>' if one.saving else ""
    patch = ""
    if one.patch is not None:
        key = ".".join(one.patch.key)
        patch = (
            f"<p>Patch: <code>{escape(one.patch.file)}</code> of {escape(one.patch.program)}:"
            f" <code>{escape(key)} = {escape(repr(one.patch.value))}</code></p>"
        )
    basis = f'<p class="quiet">Counted so: {escape(one.basis)}</p>' if one.basis else ""
    examples = "".join(map(_example, one.examples[:2]))
    return (
        f'<article><h3>{escape(one.title)} {saving}</h3><p class="quiet">{usd(one.usd)},'
        f" {one.tokens:,} tokens, {EVIDENCE[one.evidence]}</p><p>{escape(one.change)}</p>"
        f"{patch}{basis}{examples}</article>\n"
    )


def _example(one: LogBreak) -> str:
    where = f", in {one.where}" if one.where else ""
    where += f", byte {one.byte:,} ({one.pointer})" if one.byte >= 0 else ""
    told = f'<p class="place">{escape(str(one.place))}{escape(where)}: {one.tokens:,} tokens</p>'
    if one.byte >= 0 and one.before != one.after:
        told += f"<pre>- {escape(one.before)}\n+ {escape(one.after)}</pre>"
    return told


def _days(days: Sequence[LogGroup]) -> str:
    shown = [one for one in days if one.name[:1].isdigit()][-_MOST_DAYS:]
    most = max((one.sum.usd or one.sum.usage.input for one in shown), default=0)
    if len(shown) < 2 or not most:
        return ""
    step = _WIDTH / len(shown)
    bars = "".join(
        f'<rect class="read" x="{n * step + 1:.1f}" y="{_HEIGHT - height:.1f}"'
        f' width="{max(1.0, step - 2):.1f}" height="{height:.1f}"><title>{escape(one.name)}:'
        f" {usd(one.sum.usd)}, {one.sum.calls:,} calls</title></rect>"
        for n, one in enumerate(shown)
        for height in [(one.sum.usd or one.sum.usage.input) / most * _HEIGHT]
    )
    ends = f"<figcaption>{shown[0].name} to {shown[-1].name}, highest {usd(most)}</figcaption>"
    return f"<figure>{_svg(bars, _HEIGHT, 'Cost of each day')}{ends}</figure>"


def _session(one: LogSession) -> str:
    """How long its prompt was in each call, and how much of it the cache gave."""
    if len(one.points) < 2 or not one.peak:
        return ""
    step = _WIDTH / (len(one.points) - 1)

    def line(sizes: Iterable[int]) -> str:
        return " ".join(
            f"{n * step:.1f},{_HEIGHT - size / one.peak * _HEIGHT:.1f}"
            for n, size in enumerate(sizes)
        )

    whole = line(point.input for point in one.points)
    read = line(min(point.read, point.input) for point in one.points)
    drawn = (
        f'<polygon class="written" points="0,{_HEIGHT} {whole} {_WIDTH},{_HEIGHT}"/>'
        f'<polygon class="read" points="0,{_HEIGHT} {read} {_WIDTH},{_HEIGHT}"/>'
    )
    name = one.label or one.name
    caption = (
        f"{name} ({one.project or one.program}): {one.calls:,} calls, {usd(one.usd)}, longest"
        f" prompt {one.peak:,} tokens; found in the cache below, read anew above"
    )
    svg = _svg(drawn, _HEIGHT, f"Length of the prompts of {name}")
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def _carried(report: DoctorReport) -> str:
    rows = [(escape(one.name), f"{one.tokens:,}", usd(one.usd)) for one in report.carried]
    return _bars([(one.name, one.usd or one.tokens / 1e6) for one in report.carried]) + _table(
        ("source", "tokens", "cost"), rows, plain=False
    )


def _breaks(report: DoctorReport) -> str:
    rows = [
        (
            escape(one.cause),
            f"{one.count:,}",
            f"{one.tokens:,}",
            usd(one.usd),
            escape(", ".join(f"{EVIDENCE[kind]} {n:,}" for kind, n in one.evidence.items())),
        )
        for one in report.breaks
    ]
    heads = ("cause", "count", "tokens", "cost", "known by")
    return _bars([(one.cause, one.usd or one.tokens / 1e6) for one in report.breaks]) + _table(
        heads, rows, plain=False
    )


def _bars(sizes: Sequence[tuple[str, float]]) -> str:
    most = max((size for _, size in sizes), default=0.0)
    if not most:
        return ""
    drawn = "".join(
        f'<rect class="written" x="220" y="{n * 22 + 3}" width="{size / most * 490:.1f}"'
        f' height="16"/><text x="212" y="{n * 22 + 15}" text-anchor="end">'
        f"{escape(name[:32])}</text>"
        for n, (name, size) in enumerate(sizes)
    )
    return _svg(drawn, len(sizes) * 22, "Bars of the table below")


def _sessions(sessions: Sequence[LogSession]) -> str:
    rows = [
        (
            one.label or one.name,
            one.project,
            _moment(one.first),
            f"{one.calls:,}",
            f"{one.peak:,}",
            f"{one.lost:,}",
            usd(one.usd),
        )
        for one in sessions
    ]
    heads = ("session", "project", "began", "calls", "longest prompt", "lost", "cost")
    return _table(heads, rows)


def _groups(groups: Sequence[LogGroup]) -> str:
    rows = [
        (
            one.name,
            f"{one.sum.calls:,}",
            f"{one.sum.usage.input:,}",
            f"{one.sum.usage.cache_read:,}",
            f"{one.sum.usage.output:,}",
            usd(one.sum.usd if one.sum.priced else None),
        )
        for one in groups
    ]
    return _table(("model", "calls", "in", "found", "out", "cost"), rows)


def _scenarios(report: DoctorReport) -> str:
    rows = [
        (one.name, usd(one.usd), "" if one.usd is None else usd(one.usd - one.before), one.told)
        for one in report.scenarios
    ]
    return _table(("scenario", "cost", "change", "assumes"), rows)


def _notes(report: DoctorReport) -> str:
    told = "".join(f"<li>{escape(one.file)}: {escape(one.why)}</li>" for one in report.notes)
    return f"<ul>{told}</ul>" if told else ""


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M") if seconds else ""


def _svg(drawn: str, height: int, label: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(label)}"'
        f' preserveAspectRatio="none">{drawn}</svg>\n'
        if "<text" not in drawn
        else f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(label)}">'
        f"{drawn}</svg>\n"
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, plain: bool = True) -> str:
    """`plain`: cells are texts and not yet HTML."""
    if not rows:
        return ""
    return "".join(_table_lines(heads, rows, plain=plain))


def _table_lines(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, plain: bool
) -> Iterator[str]:
    yield '<div class="wide"><table><thead><tr>'
    for head, cell in zip(heads, rows[0], strict=True):
        yield f"<th{_side(cell)}>{escape(head)}</th>"
    yield "</tr></thead><tbody>\n"
    for row in rows:
        yield "<tr>"
        for cell in row:
            yield f"<td{_side(cell)}>{escape(cell) if plain else cell}</td>"
        yield "</tr>\n"
    yield "</tbody></table></div>\n"


def _side(cell: str) -> str:
    """Numbers stand on the right; a day and a name that begins with a digit do not."""
    number = cell.strip("$-%").replace(",", "").replace(".", "")
    return ' class="number"' if number.isdigit() or cell == "unknown price" else ""
