"""`mentis chat`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

import click

from mentis.errors import BadInput

from .answer_show import AnswerPrinter
from .approval_talk import TurnMaker
from .deferred_files import read_results, read_tools
from .files import read_stream, read_text
from .options import (
    attach_option,
    call_parts,
    given_message,
    home_option,
    home_path,
    persona_option,
    reply_to_option,
    route_option,
    scope_option,
    session_option,
    set_option,
    takes_choice,
)
from .output import json_option
from .turn_show import finish

if TYPE_CHECKING:
    from mentis.ask.ask import OnDelta
    from mentis.turn.turn import TurnResult
    from mentis.values.json import JsonObject
    from mentis.values.options import CallOptions
    from mentis.values.request import HistoryScope
    from mentis.values.tool import ToolDeclaration

    from .answer_screen import AnswerTerminal
    from .talk import Talk


@dataclass(frozen=True, slots=True)
class ChatChoice:
    """All options of `mentis chat`: one field for each, by the name that click gives it."""

    text: tuple[str, ...]
    begin: str | None
    results_file: str | None
    tools_file: str | None
    go_on: bool
    attached: tuple[str, ...]
    reply_to: str | None
    scope: HistoryScope | None
    schema_file: str | None
    options: CallOptions | None
    persona: str | None
    route: str
    session: str
    as_json: bool

    @property
    def has_message(self) -> bool:
        """Whether something was given that belongs to a message."""
        return bool(self.text or self.attached or self.reply_to or self.scope or self.schema_file)

    @property
    def tools(self) -> Sequence[ToolDeclaration]:
        """Those that the caller executes; the file is read each time."""
        return () if self.tools_file is None else read_tools(self.tools_file)


@click.command(epilog='For example: mentis chat "What did we plan for today?"')
@click.argument("text", nargs=-1)
@click.option(
    "--regenerate",
    "begin",
    flag_value="regenerate",
    help="Ask for another answer to your last message; the earlier one is kept, and not sent.",
)
@click.option(
    "--first", "begin", flag_value="first", help="Let the persona begin a new conversation."
)
@click.option(
    "--results",
    "results_file",
    metavar="FILE",
    help="Give the results of the calls that the last turn left to you: a JSON object of texts.",
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
    help="In a conversation: do not continue a turn once you have decided on what it waited for.",
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
@takes_choice(ChatChoice)
def chat(choice: ChatChoice) -> int:
    """Talk to a persona; answers stream, and turns are recorded.

    With TEXT, or a message on standard input, it makes one turn. On a terminal without TEXT it is a
    prompt that stays open until Ctrl-D; /help lists its commands (/retry, /undo, /why, /cost, ...),
    which are never sent. Ctrl-C stops an answer: what has arrived is kept and marked as
    interrupted. Attachments go with the first message.

    In a pipe, the words go to standard output as they come, those of each step on lines of their
    own, and everything else to standard error. In a conversation you are asked about whatever needs
    your approval, and the turn then continues with the result.

    With --schema, an answer that does not fit is asked for again; the exit code is 1 if it still
    does not. With `features.afterthoughts`, the persona may write again while you are silent.
    """
    if choice.begin is not None or choice.results_file is not None:
        return _begin(choice)
    message = " ".join(choice.text)
    interactive = sys.stdin is not None and sys.stdin.isatty()  # pyright: ignore[reportUnnecessaryComparison]  # None when closed
    if not message and sys.stdin is not None and not interactive:  # pyright: ignore[reportUnnecessaryComparison]
        message = read_stream(sys.stdin)
    if message or choice.as_json or not interactive or choice.schema_file is not None:
        return _ask(choice, message)
    return _converse(choice)


def _begin(choice: ChatChoice) -> int:
    """A turn that no message begins."""
    begin, file = choice.begin, choice.results_file
    if choice.has_message or (begin and file):
        raise click.UsageError(f"--{begin or 'results'} takes no message")
    results = {} if file is None else read_results(file)
    screen = _screen(choice)
    with _opened(choice, screen) as talk:
        return _once(talk, _beginning(talk, begin, results, choice.session), choice, screen)


def _ask(choice: ChatChoice, message: str) -> int:
    """One turn."""
    schema = None if choice.schema_file is None else _read_schema(choice.schema_file)
    screen = _screen(choice)
    with _opened(choice, screen) as talk:
        whole = given_message(message, choice.attached, choice.reply_to, scope=choice.scope)
        turn = partial(talk.ask, whole, session=choice.session, schema=schema)
        return _once(talk, turn, choice, screen)


def _converse(choice: ChatChoice) -> int:
    from .chat_loop import ChatOptions, ChatPlace, converse

    chosen = ChatOptions(
        home_path(),
        choice.options,
        choice.tools,
        choice.scope,
        choice.go_on,
        choice.attached,
        choice.reply_to,
    )
    return converse(ChatPlace(choice.persona, choice.route, choice.session), chosen)


def _screen(choice: ChatChoice) -> AnswerTerminal | None:
    """A terminal shows one answer as it shows those of a conversation."""
    from .chat_terminal import draws_answers, terminal_size

    if choice.as_json or not draws_answers():
        return None
    from .answer_screen import AnswerTerminal

    return AnswerTerminal(terminal_size)


def _opened(choice: ChatChoice, screen: AnswerTerminal | None) -> AbstractContextManager[Talk]:
    from .talk import open_talk

    parts = call_parts()
    return open_talk(
        home_path(),
        persona=choice.persona,
        route=choice.route,
        options=choice.options,
        tools=choice.tools,
        parts=screen.hearing(parts) if screen else parts,
    )


def _read_schema(file: str) -> JsonObject:
    from mentis.codec.strict_json import read_outside

    schema = read_outside(read_text(file), what=file, hint="write a JSON Schema")
    if not isinstance(schema, dict):
        raise BadInput(f"{file} holds no object", hint="write a JSON Schema")
    return cast("JsonObject", schema)


def _beginning(talk: Talk, begin: str | None, results: dict[str, str], session: str) -> TurnMaker:
    """A turn without a message."""
    if results:
        return partial(talk.ask, "", session=session, results=results)
    how = talk.agent.start_conversation if begin == "first" else talk.agent.regenerate

    def turn(*, on_delta: OnDelta | None) -> TurnResult:
        make = partial(how, session=session, on_delta=on_delta, options=talk.options)
        return talk.wait_for(make)

    return turn


def _once(talk: Talk, turn: TurnMaker, choice: ChatChoice, screen: AnswerTerminal | None) -> int:
    from .persona import show_update

    upkeep = talk.agent.upkeep(show_update)
    with talk.keeping(upkeep):
        if choice.as_json:
            code = finish(talk, turn(on_delta=None), None)
        else:
            printer = AnswerPrinter(receipt=_receipt())
            if screen is not None:
                printer = screen.printer(talk.name, receipt=printer.receipt)
            with printer:
                result = turn(on_delta=printer)
            code = finish(talk, result, printer)
        talk.note_message(upkeep, choice.session)
    return code


def _receipt() -> bool:
    from mentis.settings.sources import load_settings

    return load_settings(home_path(), os.environ).model.conversations.receipt
