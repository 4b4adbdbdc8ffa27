"""The one printer: a command returns a `Report`, and it becomes JSON or text here, nowhere else.

    @group.command()
    @home_option
    @prints_report
    def show(name: str) -> Report:
        found = open_things().find(name)
        return Report(found, _lines(found))

`data` is what `--json` prints. `text` is for a person: a string is a line on stdout, broken between
words on a terminal (one of several lines is a text, and left as it is); a `Note` is talk on stderr,
a `TextTable` is laid out for the terminal, bytes go out as they are; a generator of these is read
only when text is asked for, and after the command returned, so it may not read what was closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec, TypeAlias, cast

import click

from .output import emit_diff, emit_json, emit_prose, emit_table, json_option, say
from .tables import TextTable

P = ParamSpec("P")
Text: TypeAlias = "str | bytes | Note | TextTable | TextDiff | Iterable[Text]"


@dataclass(frozen=True, slots=True)
class Note:
    """Talk beside the data: it goes to stderr."""

    text: str


@dataclass(frozen=True, slots=True)
class TextDiff:
    """A unified difference: in colour on a terminal, and by its marks everywhere."""

    text: str


@dataclass(frozen=True, slots=True)
class Report:
    """Result of a command: its data, the same for a person, and the exit code."""

    data: object
    text: Text = ()
    code: int = 0


def prints_report(command: Callable[P, Report | None]) -> Callable[..., int]:
    """Add `--json`, and print what the command returns; None prints nothing."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> int:
        kwargs.pop("as_json")
        report = command(*args, **kwargs)
        if report is None:
            return 0
        print_report(report)
        return report.code

    return json_option(run)


def json_wanted() -> bool:
    """Whether the command that runs was asked for JSON: then nothing is printed on the way."""
    return bool(click.get_current_context().params.get("as_json"))


def print_report(report: Report) -> None:
    """Print it now: for what a command has to say before it ends."""
    if json_wanted():
        emit_json(report.data)
    else:
        show(report.text)


def show_notes(text: Text) -> None:
    """All of a text as talk, where something else is the data."""
    if isinstance(text, str | Note):
        say(text if isinstance(text, str) else text.text)
    elif not isinstance(text, bytes | TextTable | TextDiff):
        for part in text:
            show_notes(part)


def show(text: Text) -> None:
    """Text for a person, each part where it belongs."""
    match text:
        case str():
            emit_prose(text)
        case bytes():
            click.echo(text, nl=False)
        case Note():
            say(text.text)
        case TextTable():
            emit_table(text)
        case TextDiff():
            emit_diff(text.text)
        case _:
            for part in cast("Iterable[Text]", text):
                show(part)
