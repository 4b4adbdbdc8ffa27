"""`mentis doctor`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mentis.errors import BadInput

from .asking import confirm
from .output import shows_bars
from .report import Note, Report, Text, TextDiff, json_wanted, prints_report, show

if TYPE_CHECKING:
    from mentis.doctor.repairs import ProgramChange
    from mentis.doctor.report import DoctorReport

_LARGE = 20_000_000  # bytes: less is read before anybody looks


class Share(click.ParamType[float]):
    """A share of the whole: `10%` or `0.1`."""

    name = "share"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        told = str(value)
        try:
            number = float(told.removesuffix("%")) / (100 if told.endswith("%") else 1)
        except ValueError:
            number = -1.0
        if not 0 <= number <= 1:
            self.fail(f"{told!r} is no share: 10% or 0.1", param, ctx)
        return number


@click.command(
    epilog="For example: mentis doctor; mentis doctor logs/ --what-if life=1h --what-if"
    " compact=80k; mentis doctor logs/ --max-waste 10%; mentis doctor --apply"
)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--what-if",
    multiple=True,
    metavar="SCENARIO",
    help="What this log would have cost with: plan, order, life=1h|5m|none, compact=100k,"
    " model=BACKEND/NAME; more than once.",
)
@click.option(
    "--max-waste",
    type=Share(),
    metavar="SHARE",
    help="Exit with 1 if breaks of the cache cost a larger share of the money: 10% or 0.1.",
)
@click.option("--top", type=click.IntRange(0, 100), default=5, show_default=True, help="Findings.")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write it as one page with charts, which loads nothing.",
)
@click.option(
    "--apply", "applies", is_flag=True, help="Change the settings that findings name a patch for."
)
@click.option(
    "--finding", "only", multiple=True, metavar="ID", help="With --apply: only this; see --json."
)
@click.option("--undo", is_flag=True, help="Take back what --apply did last.")
@click.option("--since-fix", is_flag=True, help="Compare before and after the last --apply.")
@click.option("--yes", is_flag=True, help="With --apply and --undo: do not ask.")
@prints_report
def doctor(  # noqa: PLR0913  # its options
    paths: Sequence[Path],
    *,
    what_if: Sequence[str],
    max_waste: float | None,
    top: int,
    html: Path | None,
    applies: bool,
    only: Sequence[str],
    undo: bool,
    since_fix: bool,
    yes: bool,
) -> Report:
    """Read logs of other programs: what costs, and what to change.

    Without PATHS it looks where Claude Code and Codex keep their sessions. It reads files alone:
    no home is needed, nothing is sent. Prices are list prices, or `unknown price`. Each break says
    what it is known by: bytes seen, counts of tokens only (usage only), or the provider's word.

    --apply shows the difference first and asks; a key that you have set yourself is never changed.
    """
    from mentis.doctor.diagnosis import diagnose, log_size
    from mentis.doctor.report_data import report_data

    from .doctor_show import report_lines

    if undo:
        return _undo(yes=yes)
    with _progress(lambda: log_size(paths)) as progress:
        since = _newest_change() if since_fix else None
        report = diagnose(paths, what_if=what_if, since=since, progress=progress)
    if html is not None:
        _write_page(report, html)
    if applies:
        return _apply(report, only, yes=yes)
    over = max_waste is not None and report.total.waste_share > max_waste
    data = report_data(report)
    if max_waste is not None:
        data["max_waste"] = max_waste
        data["within"] = not over
    lines: list[Text] = [report_lines(report, top=top, max_waste=max_waste)]
    if html is not None:
        lines.append(Note(f"the page is in {html}"))
    return Report(data, lines, 1 if over else 0)


def _write_page(report: DoctorReport, file: Path) -> None:
    from mentis.disk.atomic import write_atomic
    from mentis.doctor.page import report_page

    write_atomic(file, report_page(report))


def _apply(report: DoctorReport, only: Sequence[str], *, yes: bool) -> Report:
    from mentis.doctor.repairs import SettingsPlaces, apply_repairs, plan_repairs

    places = SettingsPlaces.usual()
    known = {one.id for one in report.findings}
    if missing := [name for name in only if name not in known]:
        raise BadInput(f"no finding is called {missing[0]!r}", hint=f"there are: {sorted(known)}")
    plan = plan_repairs([one for one in report.findings if not only or one.id in only], places)
    if plan.changes and not json_wanted():
        show([TextDiff(one.diff) for one in plan.changes])
    if plan.changes and not yes:
        confirm("change these settings?")
    apply_repairs(plan, places, now=time.time())
    told: list[Text] = [Note(one) for one in plan.left]
    if plan.changes:
        told += [f"{_name(one)} is set in {one.file}" for one in plan.changes]
        told.append("new sessions use it; mentis doctor --since-fix measures what it saved,")
        told.append("mentis doctor --undo takes it back")
    else:
        told.append("nothing can be changed safely: no finding has a patch that is not set yet")
    data = {"changed": [_data(one) for one in plan.changes], "left": list(plan.left)}
    return Report(data, told)


def _undo(*, yes: bool) -> Report:
    from mentis.doctor.repairs import SettingsPlaces, noted_changes, undo_repairs

    places = SettingsPlaces.usual()
    changes = noted_changes(places)
    newest = [one for one in changes if one.time == changes[-1].time]
    if newest and not yes:
        show(Note(f"takes out: {', '.join(f'{_name(one)} of {one.file}' for one in newest)}"))
        confirm("take it back?")
    undone, left = undo_repairs(places, now=time.time())
    told: list[Text] = [f"{_name(one)} is taken out of {one.file}" for one in undone]
    told += [Note(left)] if left else []
    return Report({"undone": [_data(one) for one in undone], "left": left}, told)


def _name(one: ProgramChange) -> str:
    return f"{'.'.join(one.key)} = {one.value!r}"


def _data(one: ProgramChange) -> dict[str, object]:
    return {
        "finding": one.finding,
        "program": one.program,
        "file": one.file,
        "key": list(one.key),
        "value": one.value,
        "diff": one.diff,
    }


def _newest_change() -> tuple[float, str]:
    from mentis.doctor.repairs import SettingsPlaces, noted_changes

    changes = noted_changes(SettingsPlaces.usual())
    if not changes:
        raise BadInput("nothing was changed by mentis doctor --apply, so there is no before")
    newest = changes[-1].time
    return newest, ", ".join(_name(one) for one in changes if one.time == newest)


@contextmanager
def _progress(size: Callable[[], int]) -> Generator[Callable[[int], None]]:
    """A bar for what takes long, on a terminal alone."""
    whole = size() if shows_bars() and not json_wanted() else 0
    if whole < _LARGE:
        yield lambda _: None
        return
    with click.progressbar(length=whole, label="reading", file=sys.stderr) as bar:
        yield bar.update
