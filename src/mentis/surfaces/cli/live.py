"""`mentis live`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from .options import (
    attach_option,
    home_option,
    home_path,
    persona_option,
    route_option,
    scope_option,
    session_option,
)
from .output import emit_line
from .report import Note, Report, Text, prints_report

if TYPE_CHECKING:
    from mentis.talk.live import LiveSession
    from mentis.values.request import HistoryScope
    from mentis.values.surroundings import Surroundings


@click.command(epilog="For example: mentis live > instructions.txt")
@click.option(
    "--updates",
    is_flag=True,
    help="Go on: for each line of standard input, what has changed since, as one line of JSON.",
)
@attach_option
@scope_option
@persona_option
@route_option
@session_option
@home_option
@prints_report
def live(
    *,
    updates: bool,
    attached: tuple[str, ...],
    scope: HistoryScope | None,
    persona: str | None,
    route: str,
    session: str,
) -> Report | None:
    """Print the prompt that opens a voice session, and its updates.

    With --updates everything, the opening too, is printed as lines of JSON. Each line of input is
    an object that describes the surroundings of the conversation now (`place`, `weather`,
    `feeling`, `people`, `thoughts`, `recent`, `voice`), or empty, to look again. Only the text of
    attachments is included. Nothing is sent anywhere; what was told is recorded.
    """
    from mentis.ask.attachments import attach
    from mentis.talk.talk_data import live_data, live_update_data

    from .talk import open_talk

    media = tuple(attach(source) for source in attached)
    with open_talk(home_path(), persona=persona, route=route) as talk:
        opened = talk.wait_for(
            lambda: talk.agent.live(session=session, attachments=media, scope=scope)
        )
        if not updates:
            return Report(live_data(opened), _lines(opened))
        emit_line(live_data(opened))
        for number, line in enumerate(sys.stdin, 1):
            around = _around(line.strip(), number)
            told = talk.wait_for(lambda around=around: opened.update(around))
            emit_line(live_update_data(told))
    return None


def _lines(opened: LiveSession) -> Iterator[Text]:
    yield opened.instructions
    for loss in opened.opening.rendering.losses:
        yield Note(f"not told: {loss.message}")
    yield Note(f"[entry {opened.entry.index}]")


def _around(line: str, number: int) -> Surroundings | None:
    from mentis.codec.forms import from_json
    from mentis.codec.strict_json import read_outside
    from mentis.values.surroundings import Surroundings

    if not line:
        return None
    given = read_outside(line, what=f"line {number}", hint="give one object a line")
    return from_json(Surroundings, json.dumps(given))
