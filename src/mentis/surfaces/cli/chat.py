"""`mentis chat`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol, cast

import click

from mentis.errors import BadInput, MentisError

from .answer_show import AnswerPrinter
from .approval_talk import TurnMaker, hold_turn, read_line
from .deferred_files import read_results, read_tools
from .files import read_stream, read_text
from .options import (
    attach_option,
    given_message,
    home_option,
    home_path,
    persona_option,
    reply_to_option,
    route_option,
    scope_option,
    session_option,
    set_option,
)
from .output import json_option, say, show_error
from .turn_show import finish, show_end

if TYPE_CHECKING:
    from mentis.ask.ask import OnDelta
    from mentis.talk.afterthought import Afterthought
    from mentis.turn.turn import TurnResult
    from mentis.values.json import JsonObject
    from mentis.values.options import CallOptions
    from mentis.values.persona_update import PersonaUpdate
    from mentis.values.recalled import Stimulus
    from mentis.values.request import HistoryScope

    from .talk import Talk

_LEAVE = frozenset({"/quit", "/exit"})


@click.command(epilog='For example: mentis chat "What did we plan for today?"')
@click.argument("text", nargs=-1)
@click.option(
    "--regenerate",
    "begin",
    flag_value="regenerate",
    help="Ask once more with your last message; the earlier answer is kept, and no longer told.",
)
@click.option(
    "--first", "begin", flag_value="first", help="Let the persona begin a new conversation."
)
@click.option(
    "--results",
    "results_file",
    metavar="FILE",
    help="Bring what came of the calls that the last turn left to you: a JSON object of texts.",
)
@click.option(
    "--tools",
    "tools_file",
    metavar="FILE",
    help="Offer tools that you execute yourself: a JSON list of declarations.",
)
@click.option(
    "--no-continue",
    "go_on",
    is_flag=True,
    flag_value=False,
    default=True,
    help="In a conversation: do not go on with a turn once you decided on what it waited for.",
)
@attach_option
@reply_to_option
@scope_option
@click.option(
    "--schema",
    "schema_file",
    metavar="FILE",
    help="Hold the answer to the JSON Schema in this file; with --json it is under `output`.",
)
@set_option
@persona_option
@route_option
@session_option
@home_option
@json_option
def chat(  # noqa: PLR0913  # one parameter for each option
    text: tuple[str, ...],
    *,
    begin: str | None,
    results_file: str | None,
    tools_file: str | None,
    go_on: bool,
    attached: tuple[str, ...],
    reply_to: str | None,
    scope: HistoryScope | None,
    schema_file: str | None,
    options: CallOptions | None,
    persona: str | None,
    route: str,
    session: str,
    as_json: bool,
) -> int:
    """Talk to a persona; the answer streams and the turn is recorded.

    With TEXT, or with a message on standard input, one turn is made. On a terminal without TEXT,
    the conversation goes on until Ctrl-D. Ctrl-C ends an answer: what came of it is kept and
    marked as interrupted. What is attached goes with the first message.

    The words go to standard output as they come, those of each step on lines of their own; what is
    being done in between is told on standard error. In a conversation you are asked about what
    waits for a yes, and the turn goes on with what came of it.

    With --schema, an answer that is not in its form is asked for again, and exits with 1 where it
    stays so.
    With `features.nachgedankeEnabled`, the persona may write once more while you are silent.
    """
    from .talk import open_talk

    tools = () if tools_file is None else read_tools(tools_file)
    opened = partial(
        open_talk, home_path(), persona=persona, route=route, options=options, tools=tools
    )
    if begin is not None or results_file is not None:
        if text or attached or reply_to or scope or schema_file or (begin and results_file):
            raise click.UsageError(f"--{begin or 'results'} takes no message")
        results = {} if results_file is None else read_results(results_file)
        with opened() as talk:
            return _once(talk, _beginning(talk, begin, results, session), session, as_json=as_json)

    interactive = sys.stdin is not None and sys.stdin.isatty()  # pyright: ignore[reportUnnecessaryComparison]  # None when closed
    message = " ".join(text)
    if not message and sys.stdin is not None and not interactive:  # pyright: ignore[reportUnnecessaryComparison]
        message = read_stream(sys.stdin)
    schema = None if schema_file is None else _read_schema(schema_file)
    with opened() as talk:
        if message or as_json or not interactive or schema is not None:
            whole = given_message(message, attached, reply_to, scope=scope)
            turn = partial(talk.ask, whole, session=session, schema=schema)
            return _once(talk, turn, session, as_json=as_json)
        hold = partial(hold_turn, talk, persona=persona, go_on=go_on)
        made = partial(given_message, scope=scope)
        return _converse(talk, session, hold, made, first=(attached, reply_to))


def _read_schema(file: str) -> JsonObject:
    import json

    try:
        schema: object = json.loads(read_text(file))
    except ValueError as error:
        raise BadInput(f"{file} is not JSON: {error}", hint="write a JSON Schema") from error
    if not isinstance(schema, dict):
        raise BadInput(f"{file} holds no object", hint="write a JSON Schema")
    return cast("JsonObject", schema)


class _Hold(Protocol):
    """Makes a turn, and shows it."""

    def __call__(self, turn: TurnMaker) -> None: ...


def _beginning(talk: Talk, begin: str | None, results: dict[str, str], session: str) -> TurnMaker:
    """A turn without a message."""
    if results:
        return partial(talk.ask, "", session=session, results=results)
    how = talk.agent.start_conversation if begin == "first" else talk.agent.regenerate

    def turn(*, on_delta: OnDelta | None) -> TurnResult:
        make = partial(how, session=session, on_delta=on_delta, options=talk.options)
        return talk.wait_for(make)

    return turn


def _once(talk: Talk, turn: TurnMaker, session: str, *, as_json: bool) -> int:
    upkeep = talk.agent.upkeep(_updated)
    with talk.keeping(upkeep):
        printer = None if as_json else AnswerPrinter()
        code = finish(talk, turn(on_delta=printer), printer)
        talk.note_message(upkeep, session)
    return code


def _updated(made: PersonaUpdate | MentisError) -> None:
    from .persona import say_update

    show_error(made) if isinstance(made, MentisError) else say_update(made)


def _converse(
    talk: Talk,
    session: str,
    hold: _Hold,
    made: Callable[[str, tuple[str, ...], str | None], Stimulus],
    *,
    first: tuple[tuple[str, ...], str | None],
) -> int:
    """`first` is what goes with the first message."""
    say(f"You are talking to {talk.agent.id}. Ctrl-C ends an answer, Ctrl-D the conversation.")
    printer = AnswerPrinter()

    def told_afterwards(thought: Afterthought | MentisError) -> None:
        """That it rather waits is nobody's business."""
        if isinstance(thought, MentisError):
            show_error(thought)
        elif thought.followup is not None:
            show_end(thought.followup, printer)

    quiet = talk.agent.idle_cycle(told_afterwards, on_delta=printer)
    upkeep = talk.agent.upkeep(_updated)
    with talk.keeping(upkeep), talk.beside(quiet):
        while (message := _read_message()) is not None:
            talk.hush(quiet)
            try:
                hold(partial(talk.ask, made(message, *first), session=session))
            except MentisError as error:  # it is told, and the conversation goes on
                show_error(error)
            talk.note_message(quiet, session)
            talk.note_message(upkeep, session)
            first = (), None
    return 0


def _read_message() -> str | None:
    """What somebody wrote; None once the conversation is over."""
    while True:
        try:
            message = read_line("you> ")
        except EOFError:
            say("")
            return None
        except KeyboardInterrupt:
            say("")
            continue
        if message.strip() in _LEAVE:
            return None
        if message.strip():
            return message
