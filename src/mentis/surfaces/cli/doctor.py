"""`mentis doctor`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from .output import shows_bars
from .report import Report, json_wanted, prints_report

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
    " compact=80k; mentis doctor logs/ --max-waste 10%"
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
@prints_report
def doctor(
    paths: Sequence[Path], *, what_if: Sequence[str], max_waste: float | None, top: int
) -> Report:
    """Read logs of other programs: what costs, and what to change.

    Without PATHS it looks where Claude Code and Codex keep their sessions. It reads files alone:
    no home is needed, nothing is sent. Prices are list prices, or `unknown price`. Each break says
    what it is known by: bytes seen, counts of tokens only (usage only), or the provider's word.
    """
    from mentis.doctor.diagnosis import diagnose, log_size
    from mentis.doctor.report_data import report_data

    from .doctor_show import report_lines

    with _progress(lambda: log_size(paths)) as progress:
        report = diagnose(paths, what_if=what_if, progress=progress)
    over = max_waste is not None and report.total.waste_share > max_waste
    data = report_data(report)
    if max_waste is not None:
        data["max_waste"] = max_waste
        data["within"] = not over
    return Report(data, report_lines(report, top=top, max_waste=max_waste), 1 if over else 0)


@contextmanager
def _progress(size: Callable[[], int]) -> Generator[Callable[[int], None]]:
    """A bar for what takes long, on a terminal alone."""
    whole = size() if shows_bars() and not json_wanted() else 0
    if whole < _LARGE:
        yield lambda _: None
        return
    with click.progressbar(length=whole, label="reading", file=sys.stderr) as bar:
        yield bar.update
