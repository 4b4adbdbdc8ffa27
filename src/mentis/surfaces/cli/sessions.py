"""`mentis sessions`: the conversations of a persona, with everything that was ever said in them."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mentis.values.part import ToolCallPart, ToolResultPart
from mentis.values.turn import guest_name

from .acts_show import call_line, result_line
from .groups import RenamedGroup
from .options import Number, home_option, home_path, persona_option, route_option
from .output import json_option, say
from .pages import check_unpaged, most, names_page, page_options, rest_note
from .recorded_sessions import RECORDED, list_recorded, show_recorded
from .report import Note, Report, Text, json_wanted, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.app.agent import Agent
    from mentis.app.session_export import SessionFormat
    from mentis.values.turn import Turn, TurnOrigin

_LOOKED_BACK = 1_000  # entries
session_argument = click.argument("session", default="main", required=False)


@contextmanager
def _opened(persona: str | None) -> Generator[Agent, None, None]:
    """An agent that is asked nothing."""
    from mentis.app.agent import Agent

    agent = Agent.open(home_path(), persona=persona)
    try:
        yield agent
    finally:
        agent.close()


@click.group(cls=RenamedGroup)
def sessions() -> None:
    """List, search, title, edit and summarise conversations."""


@sessions.command("list", epilog="For example: mentis sessions list --json")
@page_options
@persona_option
@home_option
@prints_report
def list_(*, limit: int | None, after: str, persona: str | None) -> Report:
    """List the conversations of a persona, or the sessions of a recorded agent."""
    if persona is not None and persona.startswith(RECORDED):
        check_unpaged("what was recorded of other programs", limit, after)
        return list_recorded(persona)

    with _opened(persona) as agent:
        names, more = names_page(agent.session_names(), limit, after)
        found = agent.sessions(names)

    def text() -> Iterator[Text]:
        if not found:
            yield Note("nothing was said yet")
        else:
            rows = [
                (s.name, s.title, str(s.told), str(s.replaced), ", ".join(map(str, s.unanswered)))
                for s in found
            ]
            right = ("messages", "edited")
            yield TextTable(
                ("session", "title", "messages", "edited", "unanswered"), rows, right=right
            )
            if more:
                yield rest_note(found[-1].name)

    return Report(found, text())


@sessions.command(epilog="For example: mentis sessions show main")
@session_argument
@click.option("--newest", is_flag=True, help="The last ones; with --after those before it.")
@page_options
@persona_option
@home_option
@prints_report
def show(
    session: str, *, newest: bool, limit: int | None, after: str, persona: str | None
) -> Report:
    """Show the turns of a conversation by their numbers, replaced ones included.

    For a recorded agent (--persona recorded/NAME): every call of a session, and what it cost.
    """
    from mentis.record.asked_agents import asked_in_session
    from mentis.talk.talk_data import page_data

    if persona is not None and persona.startswith(RECORDED):
        check_unpaged("what was recorded of other programs", limit, after)
        return show_recorded(persona, session)
    if after and not after.isdecimal():
        raise click.UsageError(f"--after {after}: it takes the number of a turn")
    with _opened(persona) as agent:
        page = agent.turns_page(
            session=session, after=int(after) if after else None, count=most(limit), newest=newest
        )
        entries = () if json_wanted() else agent.entries(last=_LOOKED_BACK)
        asked = list(asked_in_session(entries, session))

    def text() -> Iterator[Text]:
        if not page.turns:
            yield Note("nothing was said yet" if not after else f"nothing was said after {after}")
            return
        rows = [
            (str(n), t.role, _note(t, counts=n in page.standing), _words(t)) for n, t in page.turns
        ]
        yield TextTable(("turn", "role", "note", "text"), rows, right=("turn",))
        if page.more:
            yield rest_note(str(page.turns[0 if newest else -1][0]))
        yield from (Note(line) for line in asked)
        if len(entries) == _LOOKED_BACK:
            yield Note(f"agents that asked are looked for in the last {_LOOKED_BACK} entries")

    return Report(page_data(page), text())


@sessions.command(epilog='For example: mentis sessions search "the garden"')
@click.argument("query")
@click.option(
    "--count", type=Number(1, 1000), default=5, show_default=True, help="How many at most."
)
@persona_option
@home_option
@prints_report
def search(query: str, *, count: int, persona: str | None) -> Report:
    """Search all conversations of the persona, by shared words."""
    from mentis.codec.forms import to_object
    from mentis.status.statuses import open_statuses

    with open_statuses(home_path(), persona, readonly=True) as statuses:
        hits = statuses.search_conversation(query, count=count)

    def text() -> Iterator[Text]:
        for hit in hits:
            line = hit.line
            who = line.author or line.role
            yield f"{line.session} {line.number}  {who}: {' '.join(line.text.split())}"

    return Report([{"score": hit.score, **to_object(hit.line)} for hit in hits], text())


@sessions.command(epilog='For example: mentis sessions title main "The garden in spring"')
@session_argument
@click.argument("title", required=False)
@persona_option
@route_option
@home_option
@prints_report
def title(session: str, title: str | None, *, persona: str | None, route: str) -> Report:
    """Give a conversation a title; without TITLE, the model is asked for one."""
    from mentis.talk.talk_data import title_data

    from .talk import open_talk

    if title is not None:
        with _opened(persona) as agent:
            entry = agent.set_title(title, session=session)
        return _title_report({"title": " ".join(title.split()), "entry": entry.index})
    with open_talk(home_path(), persona=persona, route=route) as talk:
        made = talk.wait_for(lambda: talk.agent.make_title(session=session))
    if made.fallback:
        say(f"the model gave none, so these are the first words {made.failure}".rstrip())
    return _title_report(title_data(made))


@sessions.command(epilog='For example: mentis sessions edit main 4 "I meant next week"')
@click.argument("session")
@click.argument("number", type=Number(min=0))
@click.argument("text")
@persona_option
@route_option
@home_option
@json_option
def edit(
    session: str, number: int, text: str, *, persona: str | None, route: str, as_json: bool
) -> int:
    """Edit message NUMBER; the turns after it are kept, but no longer sent."""
    from .answer_show import AnswerPrinter
    from .talk import open_talk
    from .turn_show import finish

    printer = None if as_json else AnswerPrinter()
    with open_talk(home_path(), persona=persona, route=route) as talk:
        result = talk.wait_for(
            lambda: talk.agent.edit(number, text, session=session, on_delta=printer)
        )
        return finish(talk, result, printer)


@sessions.command(epilog="For example: mentis sessions undo main")
@session_argument
@persona_option
@home_option
@prints_report
def undo(session: str, *, persona: str | None) -> Report:
    """Take back the last message and its answer: they are kept, but no longer sent."""
    from .talk import open_talk

    with open_talk(home_path(), persona=persona) as talk:
        entry = talk.wait_for(lambda: talk.agent.undo(session=session))
    return Report({"entry": entry.index}, Note(f"taken back [entry {entry.index}]"))


@sessions.command(epilog="For example: mentis sessions answers main; then: --restore 4")
@session_argument
@click.option("--restore", type=Number(min=0), metavar="NUMBER", help="Go back to this answer.")
@persona_option
@home_option
@prints_report
def answers(session: str, *, restore: int | None, persona: str | None) -> Report:
    """List the answers to the last message, or go back to an earlier one."""
    from .talk import open_talk

    with open_talk(home_path(), persona=persona) as talk:
        if restore is not None:
            entry = talk.wait_for(lambda: talk.agent.restore_answer(restore, session=session))
            say(f"the answer to message {restore} is told again [entry {entry.index}]")
        found = talk.agent.answer_versions(session=session)
    rows = [(str(one.number), "yes" if one.current else "", one.text) for one in found]
    return Report(found, TextTable(("message", "counts", "answer"), rows, right=("message",)))


@sessions.command(epilog="For example: mentis sessions export main.jsonl main")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@session_argument
@click.option(
    "--format",
    "kind",
    type=click.Choice(["jsonl", "markdown"]),
    help="By default Markdown for a FILE that ends in .md, else JSON lines.",
)
@persona_option
@home_option
@prints_report
def export(file: Path, session: str, *, kind: SessionFormat | None, persona: str | None) -> Report:
    """Write a conversation to a file: as SillyTavern's JSON lines, or as Markdown to be read.

    What still counts is in it; in JSON lines also the other answers that a message has had, and of
    an imported chat all that its own file said. What the format cannot hold is named.
    """
    from mentis.app.session_export import export_session

    from .export_file import write_export

    kind = kind or ("markdown" if file.suffix.lower() == ".md" else "jsonl")
    return write_export(file, export_session(home_path(), session, persona=persona, format=kind))


@sessions.command(epilog="For example: mentis sessions summarise main")
@session_argument
@persona_option
@route_option
@home_option
@prints_report
def summarise(session: str, *, persona: str | None, route: str) -> Report:
    """Have the model summarise older turns; the summary is sent in their place."""
    from mentis.talk.talk_data import summary_data

    from .talk import open_talk

    with open_talk(home_path(), persona=persona, route=route) as talk:
        made = talk.wait_for(lambda: talk.agent.summarise(session=session))

    def text() -> Iterator[Text]:
        if made is None:
            yield Note("there are no older turns to sum up")
        else:
            yield made.text
            yield Note(f"[entry {made.entry.index}: it stands for the turns before {made.until}]")

    return Report(made and summary_data(made), text())


def _title_report(told: Mapping[str, object]) -> Report:
    return Report(told, str(told["title"]))


def _words(turn: Turn) -> str:
    """What was said, and what was asked for and came back, each on lines of its own."""
    lines = [turn.text] if turn.text else []
    for part in turn.parts:
        if isinstance(part, ToolCallPart):
            lines.append(call_line(part.name, part.raw or part.arguments))
        elif isinstance(part, ToolResultPart):
            lines.append(result_line(part.name, "", part.text))
    return "\n".join(lines)


def _origin(origin: TurnOrigin, *, named: bool) -> str:
    """Where it comes from, with the name and the time that the file gives."""
    name = "" if named else origin.name
    return ", ".join(filter(None, (f"import {origin.imported}", name, origin.time)))


def _note(turn: Turn, *, counts: bool) -> str:
    said = [] if turn.kind == "said" else [turn.kind]
    said += [guest_name(turn.author)] if turn.author else []
    said += [] if turn.origin is None else [_origin(turn.origin, named=bool(turn.author))]
    said += [] if turn.state == "complete" else [turn.state]
    said += [] if turn.parts else ["erased"]
    said += [] if counts else ["replaced"]
    said += [] if turn.replaces is None else [f"replaces {turn.replaces}"]
    said += [] if turn.until is None else [f"summary of all before {turn.until}"]
    return ", ".join(said)
