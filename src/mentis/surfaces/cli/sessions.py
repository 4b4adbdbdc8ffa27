"""`mentis sessions`: the conversations of a persona, with everything that was ever said in them."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import click

from mentis.values.part import ToolCallPart, ToolResultPart
from mentis.values.turn import guest_name

from .acts_show import call_line, result_line
from .options import home_option, home_path, persona_option, route_option
from .output import emit, emit_json, json_option, say, table
from .recorded_sessions import RECORDED, list_recorded, show_recorded

if TYPE_CHECKING:
    from mentis.app.agent import Agent
    from mentis.values.entry import Entry
    from mentis.values.turn import Turn

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


@click.group()
def sessions() -> None:
    """See conversations, title them, say something anew, sum them up."""


@sessions.command("list", epilog="For example: mentis sessions list --json")
@persona_option
@home_option
@json_option
def list_(*, persona: str | None, as_json: bool) -> None:
    """List the conversations of a persona, or the sessions of a recorded agent."""
    from mentis.codec.forms import to_object

    if persona is not None and persona.startswith(RECORDED):
        list_recorded(persona, as_json=as_json)
        return

    with _opened(persona) as agent:
        found = agent.sessions()
    if as_json:
        emit_json([to_object(one) for one in found])
    elif not found:
        say("nothing was said yet")
    else:
        rows = [
            (s.name, s.title, str(s.told), str(s.replaced), ", ".join(map(str, s.unanswered)))
            for s in found
        ]
        right = ("told", "replaced")
        table(("session", "title", "told", "replaced", "unanswered"), rows, right=right)


@sessions.command(epilog="For example: mentis sessions show main")
@session_argument
@persona_option
@home_option
@json_option
def show(session: str, *, persona: str | None, as_json: bool) -> None:
    """Show every turn of a conversation, also what was said anew and is no longer told.

    Of a recorded agent (--persona recorded/NAME): every call of a session, and what it cost.
    """
    from mentis.record.threads import standing_numbers
    from mentis.talk.talk_data import turns_data

    if persona is not None and persona.startswith(RECORDED):
        show_recorded(persona, session, as_json=as_json)
        return
    with _opened(persona) as agent:
        turns = agent.history(session=session)
        asked = [] if as_json else [*_asked_by_agents(agent.entries(), session)]
    counts = set(standing_numbers(turns))
    if as_json:
        emit_json(turns_data(turns))
    elif not turns:
        say("nothing was said yet")
    else:
        rows = [(str(n), t.role, _note(t, counts=n in counts), _words(t)) for n, t in _all(turns)]
        table(("turn", "role", "note", "text"), rows, right=("turn",))
        for line in asked:
            say(line)


def _asked_by_agents(entries: Iterable[Entry], session: str) -> Iterator[str]:
    """Which turns another agent asked for, and which agents were asked in this session."""
    for entry in entries:
        turn = cast("Mapping[str, Any]", entry.body.get("turn") or {})
        act = cast("Mapping[str, Any]", entry.body.get("act") or {})
        if session in (turn.get("session"), act.get("session")):
            if caller := turn.get("caller"):
                yield (
                    f"turn {turn.get('number')} was asked for by {caller['agent']}, session"
                    f" {caller['session']}, act {caller['act']}"
                )
            if asked := act.get("turn"):
                yield (
                    f"act {act.get('key')} asked {asked['agent']}, session {asked['session']},"
                    f" entry {asked['entry']}"
                )


@sessions.command(epilog='For example: mentis sessions search "the garden"')
@click.argument("query")
@click.option(
    "--count", type=click.IntRange(1, 1000), default=5, show_default=True, help="How many at most."
)
@persona_option
@home_option
@json_option
def search(query: str, *, count: int, persona: str | None, as_json: bool) -> None:
    """Find what was said, in all conversations of the persona, by shared words."""
    from mentis.codec.forms import to_object
    from mentis.status.statuses import open_statuses

    with open_statuses(home_path(), persona, readonly=True) as statuses:
        hits = statuses.search_conversation(query, count=count)
    if as_json:
        emit_json([{"score": hit.score, **to_object(hit.line)} for hit in hits])
        return
    for hit in hits:
        line = hit.line
        who = line.author or line.role
        emit(f"{line.session} {line.number}  {who}: {' '.join(line.text.split())}")


@sessions.command(epilog='For example: mentis sessions title main "The garden in spring"')
@session_argument
@click.argument("title", required=False)
@persona_option
@route_option
@home_option
@json_option
def title(
    session: str, title: str | None, *, persona: str | None, route: str, as_json: bool
) -> None:
    """Give a conversation a title; without TITLE, the model is asked for one."""
    from mentis.talk.talk_data import title_data

    from .talk import open_talk

    if title is not None:
        with _opened(persona) as agent:
            entry = agent.set_title(title, session=session)
        _show_title({"title": " ".join(title.split()), "entry": entry.index}, as_json=as_json)
        return
    with open_talk(home_path(), persona=persona, route=route) as talk:
        made = talk.wait_for(lambda: talk.agent.make_title(session=session))
    if made.fallback:
        say(f"the model gave none, so these are the first words {made.failure}".rstrip())
    _show_title(title_data(made), as_json=as_json)


@sessions.command(epilog='For example: mentis sessions edit main 4 "I meant next week"')
@click.argument("session")
@click.argument("number", type=click.IntRange(min=0))
@click.argument("text")
@persona_option
@route_option
@home_option
@json_option
def edit(
    session: str, number: int, text: str, *, persona: str | None, route: str, as_json: bool
) -> int:
    """Say message NUMBER in other words; what followed it is kept, and no longer told."""
    from .answer_show import AnswerPrinter
    from .talk import open_talk
    from .turn_show import finish

    printer = None if as_json else AnswerPrinter()
    with open_talk(home_path(), persona=persona, route=route) as talk:
        result = talk.wait_for(
            lambda: talk.agent.edit(number, text, session=session, on_delta=printer)
        )
        return finish(talk, result, printer)


@sessions.command(epilog="For example: mentis sessions summarise main")
@session_argument
@persona_option
@route_option
@home_option
@json_option
def summarise(session: str, *, persona: str | None, route: str, as_json: bool) -> None:
    """Have the model sum up the older turns; the summary is told in their place."""
    from mentis.talk.talk_data import summary_data

    from .talk import open_talk

    with open_talk(home_path(), persona=persona, route=route) as talk:
        made = talk.wait_for(lambda: talk.agent.summarise(session=session))
    if as_json:
        emit_json(made and summary_data(made))
    elif made is None:
        say("there are no older turns to sum up")
    else:
        emit(made.text)
        say(f"[entry {made.entry.index}: it stands for the turns before {made.until}]")


def _show_title(told: Mapping[str, object], *, as_json: bool) -> None:
    if as_json:
        emit_json(told)
    else:
        emit(str(told["title"]))


def _all(turns: tuple[Turn, ...]) -> list[tuple[int, Turn]]:
    return list(enumerate(turns))


def _words(turn: Turn) -> str:
    """What was said, and what was asked for and came back, each on lines of its own."""
    lines = [turn.text] if turn.text else []
    for part in turn.parts:
        if isinstance(part, ToolCallPart):
            lines.append(call_line(part.name, part.raw or part.arguments))
        elif isinstance(part, ToolResultPart):
            lines.append(result_line(part.name, "", part.text))
    return "\n".join(lines)


def _note(turn: Turn, *, counts: bool) -> str:
    said = [] if turn.kind == "said" else [turn.kind]
    said += [guest_name(turn.author)] if turn.author else []
    said += [] if turn.state == "complete" else [turn.state]
    said += [] if turn.parts else ["erased"]
    said += [] if counts else ["said anew"]
    said += [] if turn.replaces is None else [f"instead of {turn.replaces}"]
    said += [] if turn.until is None else [f"of all before {turn.until}"]
    return ", ".join(said)
