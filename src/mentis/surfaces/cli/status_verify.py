"""`mentis verify`: does the record hold?"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mentis.values.words import entries_of

from .options import every_persona_option, home_option, home_path
from .output import console, printable, shows_bars
from .report import Note, Report, Text, prints_report

if TYPE_CHECKING:
    from mentis.record.verify import Progress
    from mentis.values.entry import Verdict


@click.command(epilog="For example: mentis verify --checkpoint kept-elsewhere.txt")
@click.option(
    "--ledger",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Check this database file instead of the home's.",
)
@click.option(
    "--checkpoint",
    "checkpoints",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="A file of checkpoints that was kept elsewhere; may be given several times.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Begin where the last run with --resume ended; what it read is trusted.",
)
@every_persona_option
@home_option
@prints_report
def verify(
    *,
    ledger: Path | None,
    checkpoints: tuple[Path, ...],
    resume: bool,
    persona: str | None,
) -> Report:
    """Check every entry against its hash and its predecessor.

    Exit code 1 when anything does not hold; the entry and the column are named. Only a checkpoint
    kept elsewhere can show that entries are missing at the end, or that everything was rewritten. A
    copy (--ledger) without its home is UNPINNED at best, with exit code 1: nothing says whose it
    is.
    """
    from mentis.ledger.verify import EMPTY_NOTE
    from mentis.record.verify_home import verify_home

    if resume and ledger is not None:
        raise click.UsageError("--resume is for the home's own ledger, not for a copy.")
    with _bar() as progress:
        verdicts = verify_home(
            home_path(),
            ledger=ledger,
            persona=persona,
            checkpoints=checkpoints,
            resume=resume,
            progress=progress,
        )
    intact = all(verdict.intact for verdict in verdicts)
    # A home that has no key yet is its owner's all the same; a file could be anybody's.
    pinned = ledger is None or all(verdict.pinned for verdict in verdicts)

    def text() -> Iterator[Text]:
        for verdict in verdicts:
            yield from _verdict_lines(verdict, "ok" if pinned else "UNPINNED")
        if not verdicts:
            yield "ok  nothing is recorded here"
        if intact and pinned and verdicts:
            # The words that scripts of the origin look for.
            count = sum(verdict.entries for verdict in verdicts)
            yield f"Chain + Hash integrity verified ({count} entries)"
        for note in sorted({verdict.completeness for verdict in verdicts} or {EMPTY_NOTE}):
            yield Note(f"note: {printable(note)}")

    return Report(
        {"intact": intact, "chains": verdicts}, text(), code=0 if intact and pinned else 1
    )


def _verdict_lines(verdict: Verdict, sound: str) -> Iterator[Text]:
    """What is in a ledger must not write lines of the verdict on it: each is `printable`."""
    word = sound if verdict.intact else "BROKEN"
    head = f", head {verdict.head}" if verdict.head else ""
    yield printable(f"{word}  {verdict.agent}: {entries_of(verdict.entries)}{head}")
    for finding in verdict.findings:
        place = f"entry {finding.index}, {finding.column}"
        yield printable(f"  {place}: {finding.message} ({finding.attack})")
    if verdict.more:
        yield f"  and {verdict.more} more"
    for gone in verdict.erased:
        yield printable(f"  entry {gone.index}: erased {', '.join(gone.fields)} ({gone.reason})")
    if (seen := verdict.witnessed) is not None:
        by = ", ".join(f"{one.name} at {one.moment}" for one in seen.cosignatures)
        yield printable(f"  witnessed: {seen.size} of {entries_of(verdict.entries)}, by {by}")
    for note in verdict.notes:
        yield Note(f"note: {printable(note)}")


@contextmanager
def _bar() -> Generator[Progress | None]:
    """A bar on stderr, where that is a terminal."""
    if not shows_bars():
        yield None
        return
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(err=True), transient=True) as bar:
        tasks: dict[str, int] = {}

        def progress(agent: str, done: int, total: int) -> None:
            if agent not in tasks:
                tasks[agent] = bar.add_task(agent, total=total)
            bar.update(tasks[agent], completed=done)  # pyright: ignore[reportArgumentType]  # an int

        yield progress
