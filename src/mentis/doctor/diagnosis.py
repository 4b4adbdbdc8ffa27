"""Diagnosis: logs in, a report out. Nothing is asked of anybody, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from mentis.errors import BadInput

from .examination import Examination, groups_of
from .findings import find_findings
from .formats import read_log
from .lines import no_progress
from .places import find_logs, find_usual_logs, usual_places
from .report import CarriedSource, DoctorReport, FileNote, FixEffect
from .scenarios import make_scenario

_MOST_NOTES = 100
_TOP_SOURCES = 12


def diagnose(
    paths: Sequence[Path | str] | None = None,
    *,
    what_if: Sequence[str] = (),
    since: tuple[float, str] | None = None,
    progress: Callable[[int], None] = no_progress,
) -> DoctorReport:
    """Of the logs named, or of those in the usual places. `what_if` names scenarios, such as
    `life=1h`; `since` is when something was changed, in seconds, and what: the report then sums up
    before and after. `progress` is told of bytes as they are read.
    """
    scenarios = tuple(make_scenario(one) for one in what_if)
    files = find_logs([Path(one) for one in paths]) if paths else find_usual_logs()
    if not files:
        raise _nothing(paths)
    exam = Examination(scenarios, since[0] if since else 0.0)
    notes: list[FileNote] = []
    for path in files:

        def note(why: str, file: str = str(path)) -> None:
            if len(notes) < _MOST_NOTES:
                notes.append(FileNote(file, why))

        for call in read_log(path, progress, note):
            exam.take(call)
    exam.end()
    return _report(exam, files, notes, since)


def log_size(paths: Sequence[Path | str] | None = None) -> int:
    """How many bytes there are to read."""
    files = find_logs([Path(one) for one in paths]) if paths else find_usual_logs()
    return sum(_size(one) for one in files)


def _report(
    exam: Examination,
    files: Sequence[Path],
    notes: Sequence[FileNote],
    since: tuple[float, str] | None,
) -> DoctorReport:
    carried = sorted(exam.carried.items(), key=lambda one: (-one[1].usd, -one[1].tokens))
    effect = None
    if since is not None:
        effect = FixEffect(*since, exam.before.sum(), exam.after.sum())
    return DoctorReport(
        exam.total.sum(),
        groups_of(exam.programs),
        groups_of(exam.models),
        groups_of(exam.days, by_name=True),
        groups_of(exam.projects),
        exam.sessions(),
        exam.session_count,
        tuple(CarriedSource(n, round(c.tokens), c.usd) for n, c in carried[:_TOP_SOURCES]),
        exam.breaks(),
        find_findings(exam),
        tuple(one.result() for one in exam.scenarios),
        effect,
        len(files),
        sum(map(_size, files)),
        exam.repeated,
        tuple(notes),
        tuple(sorted(exam.prices)),
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0


def _nothing(paths: Sequence[Path | str] | None) -> BadInput:
    if paths:
        return BadInput(
            "there is no log in what was named", hint="name a file, or a folder of logs"
        )
    looked = ", ".join(str(one.path) for one in usual_places())
    return BadInput(
        f"no log of a program was found: looked in {looked}", hint="name a log, or a folder of logs"
    )
