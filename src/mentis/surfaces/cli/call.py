"""`mentis call`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from .options import (
    attach_option,
    call_parts,
    given_message,
    given_text,
    home_option,
    home_path,
    persona_option,
    reply_to_option,
    route_option,
    set_option,
)
from .output import emit, say
from .plan import cached_lines
from .report import Note, Report, Text, json_wanted, prints_report

if TYPE_CHECKING:
    from mentis.values.caching import CacheReconciliation
    from mentis.values.options import CallOptions
    from mentis.values.recalled import Stimulus
    from mentis.values.reply import Reply
    from mentis.values.request import PromptRequest


@click.command(epilog="For example: mentis render --json > payload.json; mentis call payload.json")
@click.argument("file", type=click.File(encoding="utf-8"), required=False)
@click.option("--message", metavar="TEXT", help="Send this message instead of a file.")
@click.option("--events", is_flag=True, help="Print the raw events of the answer, one per line.")
@attach_option
@reply_to_option
@set_option
@persona_option
@route_option
@home_option
@prints_report
def call(  # one parameter for each option
    file: TextIO | None,
    *,
    message: str | None,
    events: bool,
    attached: tuple[str, ...],
    reply_to: str | None,
    options: CallOptions | None,
    persona: str | None,
    route: str,
) -> Report:
    """Send a payload or a message, and print what comes back.

    FILE (- for standard input) holds a payload in the format of the route, a rendering as
    `mentis render --json` prints it, or a request: as `mentis compose --json` prints it, or in the
    older form, under __prompt_request. Files that a request names by path are read from inside the
    folder FILE is in, and from nowhere else. What it used is recorded and counts (`mentis cost`),
    but nothing that was said: use `mentis chat` for that. Budgets hold. Exit code 1 when the answer
    is an error or was cut off.
    """
    import anyio

    from mentis.ask.one_call import call_route
    from mentis.codec.forms import to_object

    if (file is None) == (message is None):
        raise click.UsageError("give a FILE or a --message, and not both")
    if message is None and (attached or reply_to):
        raise click.UsageError("--attach and --reply-to go with a --message")
    words = None if message is None else given_message(message, attached, reply_to)
    source = given_text(None, file) or "" if words is None else _composed(words, persona, route)

    async def send() -> Reply:
        on_event = emit if events and not json_wanted() else _ignore
        return await call_route(
            home_path(),
            source,
            route=route,
            parts=call_parts(),
            folder=_folder(file),
            on_event=on_event,
            options=options,
            on_unrecorded=lambda error: say(f"the call is not in the record: {error.message}"),
        )

    reply = anyio.run(send)
    sent = None if isinstance(source, str) else (source, options)
    cached = None if sent is None else _reconciled(*sent, reply, persona=persona, route=route)
    return Report(
        {**to_object(reply), "caching": cached},
        _lines(reply, cached, events=events),
        code=1 if reply.stop in ("error", "cut_off") else 0,
    )


def _folder(file: TextIO | None) -> Path | None:
    """Where the files are that a request in FILE may name; standard input is nowhere."""
    path = None if file is None else Path(str(file.name))
    return path.parent if path is not None and path.is_file() else None


def _composed(message: Stimulus, persona: str | None, route: str) -> PromptRequest:
    """A message is composed as a turn of its own would be, with the persona's whole prompt."""
    from mentis.app.agent import Agent

    agent = Agent.open(home_path(), persona=persona, route=route)
    try:
        return agent.compose(message).request
    finally:
        agent.close()


def _reconciled(
    request: PromptRequest,
    options: CallOptions | None,
    reply: Reply,
    *,
    persona: str | None,
    route: str,
) -> CacheReconciliation | None:
    """What the cache held of a message, beside what the agent's own turns let expect."""
    from mentis.app.agent import Agent
    from mentis.ask.attempt import render_request

    if reply.usage is None:
        return None
    agent = Agent.open(home_path(), persona=persona, route=route)
    try:
        sent = agent.route.calling(options) if options else agent.route
        return agent.reconcile_cache(render_request(request, sent), reply.usage)
    finally:
        agent.close()


def _lines(reply: Reply, cached: CacheReconciliation | None, *, events: bool) -> Iterator[Text]:
    from mentis.codec.forms import to_object

    if not events:
        yield reply.text
        for action in reply.actions:
            yield f"{action.type}: {to_object(action)}"
    for problem in reply.errors:
        yield Note(f"in the answer: {problem.message} [{problem.code}]")
    words = [f"stop: {reply.stop}"]
    if reply.usage is not None:
        usage = reply.usage
        words.append(f"{usage.input} tokens in ({usage.cache_read} cached), {usage.output} out")
    if cached is not None:
        yield from cached_lines(cached)
    yield Note(f"[{', '.join(words)}]")
    if reply.stop == "cut_off":
        yield Note("error: the answer was cut off; what came before that is above")


def _ignore(_event: str) -> None:
    """The reply is printed when it is complete."""
