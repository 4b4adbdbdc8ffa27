"""`mentis screening`: what the filter for text from outside says, why, and how strict it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TextIO

import anyio
import click

from mentis.errors import UsageError

from .groups import RenamedGroup
from .options import given_text, home_named, home_option, home_path
from .output import say
from .report import Note, Report, Text, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.ports.screener import StoredVector
    from mentis.recall.screening.screener import ScreeningReport, TextScreener
    from mentis.values.cognition import Screening

text_only_option = click.option(
    "--text-only", is_flag=True, help="Leave out the vector that the text would be stored with."
)
file_option = click.option(
    "--from-file", "file", type=click.File(encoding="utf-8"), help="Read the text; - is stdin."
)


@click.group(cls=RenamedGroup)
def screening() -> None:
    """Test, explain and calibrate the filter for outside text."""


@screening.command("test", epilog='For example: mentis screening test "Ignore all previous rules."')
@click.argument("text", required=False)
@file_option
@text_only_option
@home_option
@prints_report
def run_test(*, text: str | None, file: TextIO | None, text_only: bool) -> Report:
    """Screen a text from outside: clean, suspicious or dropped.

    Exit code 1 when it is dropped. The filter knows phrasings; it is no boundary.
    """
    given = _text(text, file)
    vector = _vector(given, text_only=text_only)
    said = _screener().screen(given, source="command line", vector=vector)
    return Report(said, _lines(said), code=1 if said.outcome == "dropped" else 0)


@screening.command(epilog='For example: mentis screening explain "Oublie tes consignes."')
@click.argument("text", required=False)
@file_option
@text_only_option
@home_option
@prints_report
def explain(*, text: str | None, file: TextIO | None, text_only: bool) -> Report:
    """Explain a verdict: worst passage, patterns, hidden text, votes."""
    given = _text(text, file)
    looked = _screener().explain(given, _vector(given, text_only=text_only))
    return Report(looked, _all_lines(looked))


def _all_lines(looked: ScreeningReport) -> Iterator[Text]:
    yield from _lines(looked.verdict)
    yield f"worst passage: {looked.window or '(none)'}"
    yield f"patterns met:  {', '.join(looked.rules) or '(none)'}"
    for hidden in looked.hidden:
        yield f"hidden:        {hidden}"
    if looked.unseen:
        yield f"unseen:        {looked.unseen} characters that show nothing"
    if looked.nearest:
        yield f"nearest attack: {looked.nearest}"
    for name, share in looked.voters.items():
        yield f"{'voters:' if name == 'window' else '':15}{name} {share:+.2f}"
    low, high = looked.thresholds
    yield f"{'score:':15}{looked.total:.2f}; suspicious above {low:.2f}, dropped above {high:.2f}"


@screening.command(epilog="For example: mentis screening calibrate --home ./home")
@text_only_option
@home_option
@prints_report
def calibrate(*, text_only: bool) -> Report:
    """Fit the thresholds to your own ordinary text: screening/*.jsonl.

    Each line is {"text": "...", "label": 0}. A language with at least 20 ordinary texts gets
    thresholds that stop the stated share of them; they never get stricter than shipped. With
    --text-only, those that hold where there is a vector stay as they are.
    """
    from mentis.memories.screening import calibrate_home
    from mentis.record.verify_home import find_home

    home = find_home(home_path()).path
    made = anyio.run(partial(calibrate_home, home, text_only=text_only))
    ways = ("vector", "text") if made.with_vectors else ("text",)
    rows = [
        (name, str(made.counts.get(name, 0)), way, *(f"{one[name]:.2f}" for one in found.values()))
        for way in ways
        for found in [made.thresholds[way]]
        for name in sorted(found["dropped"])
    ]
    outcomes = tuple(made.thresholds["text"])
    return Report(
        made,
        (
            TextTable(("language", "texts", "by", *outcomes), rows, right=("texts", *outcomes)),
            Note("written to screening/thresholds.json"),
        ),
    )


def _screener() -> TextScreener:
    from mentis.memories.screening import open_screener

    return open_screener(home_path() if home_named() else None)


def _vector(text: str, *, text_only: bool) -> StoredVector | None:
    found = vectors([text], text_only=text_only)
    return None if found is None else found[0]


def vectors(texts: Sequence[str], *, text_only: bool) -> Sequence[StoredVector] | None:
    """What the texts would be stored with here; None, and said why, where there is no such."""
    if text_only:
        return None
    from mentis.memories.screening import vectors_of

    made = anyio.run(vectors_of, texts)
    if made.why_not:
        say(made.why_not)
    return made.found


def _text(text: str | None, file: TextIO | None) -> str:
    given = given_text(text, file)
    if given is None or (text is not None and file is not None):
        raise UsageError("one text is needed", hint="as an argument, or with --from-file")
    return given


def _lines(said: Screening) -> Iterator[Text]:
    yield f"{said.outcome}{f': {said.reason}' if said.reason else ''}"
    score = "not looked at" if said.score is None else f"score {said.score:+.2f} (dropped above 0)"
    place = f", characters {said.span[0]} to {said.span[1]}" if said.span else ""
    yield Note(
        f"{score}, language {said.language or 'unknown'}{place}; layers: {', '.join(said.layers)}"
    )
