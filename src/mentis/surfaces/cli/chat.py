"""`mentis chat`."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Protocol

import click

from mentis.errors import MentisError
from mentis.values.recalled import Stimulus
from mentis.values.rendering import Loss
from mentis.values.reply import AgainDelta, Delta, TextDelta
from mentis.values.trace import Degradation

from .acts_show import said_lines
from .files import read_stream
from .options import (
    attach_option,
    given_message,
    home_option,
    home_path,
    persona_option,
    reply_to_option,
    route_option,
    session_option,
    set_option,
)
from .output import emit, emit_json, json_option, say, show_error
from .plan import say_cached
from .window_show import window_lines

if TYPE_CHECKING:
    from mentis.ask.ask import OnDelta
    from mentis.talk.afterthought import Afterthought
    from mentis.talk.idle_plan import IdleCycle
    from mentis.talk.persona_update import Upkeep
    from mentis.turn.turn import TurnResult
    from mentis.values.options import CallOptions
    from mentis.values.persona_update import PersonaUpdate

    from .talk import Talk

_said: set[Degradation | Loss] = set()
_UNSENT = ("option", "sampling", "tool-choice")
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
@attach_option
@reply_to_option
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
    attached: tuple[str, ...],
    reply_to: str | None,
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
    With `features.nachgedankeEnabled`, the persona may write once more while you are silent.
    """
    from .talk import open_talk

    if begin is not None:
        if text or attached or reply_to:
            raise click.UsageError(f"--{begin} takes no message")
        with open_talk(home_path(), persona=persona, route=route, options=options) as talk:
            how = talk.agent.start_conversation if begin == "first" else talk.agent.regenerate
            return finish(talk, _told(how, talk, session, as_json=as_json), as_json=as_json)

    interactive = sys.stdin is not None and sys.stdin.isatty()  # pyright: ignore[reportUnnecessaryComparison]  # None when closed
    message = " ".join(text)
    if not message and sys.stdin is not None and not interactive:  # pyright: ignore[reportUnnecessaryComparison]
        message = read_stream(sys.stdin)
    with open_talk(home_path(), persona=persona, route=route, options=options) as talk:
        if message or as_json or not interactive:
            whole = given_message(message, attached, reply_to)
            return _once(talk, whole, session, as_json=as_json)
        return _converse(talk, session, attached, reply_to)


def _once(talk: Talk, message: Stimulus, session: str, *, as_json: bool) -> int:
    upkeep = talk.agent.upkeep(_updated)
    with talk.keeping(upkeep):
        result = talk.ask(message, session=session) if as_json else _heard(talk, message, session)
        code = finish(talk, result, as_json=as_json)
        talk.note_message(upkeep, session)
    return code


def _updated(made: PersonaUpdate | MentisError) -> None:
    from .persona import say_update

    show_error(made) if isinstance(made, MentisError) else say_update(made)


class _Begin(Protocol):
    """What the agent does without being told anything new."""

    async def __call__(
        self,
        *,
        session: str,
        on_delta: OnDelta | None = None,
        options: CallOptions | None = None,
    ) -> TurnResult: ...


def _told(begin: _Begin, talk: Talk, session: str, *, as_json: bool) -> TurnResult:
    on_delta = None if as_json else print_delta
    return talk.wait_for(lambda: begin(session=session, on_delta=on_delta, options=talk.options))


def finish(talk: Talk, result: TurnResult, *, as_json: bool) -> int:
    if as_json:
        emit_json(_summary(result))
    else:
        _close(result)
    return talk.exit_code(result.reply)


def _converse(talk: Talk, session: str, attached: tuple[str, ...], reply_to: str | None) -> int:
    say(f"You are talking to {talk.agent.id}. Ctrl-C ends an answer, Ctrl-D the conversation.")
    quiet = talk.agent.idle_cycle(_told_afterwards, on_delta=print_delta)
    upkeep = talk.agent.upkeep(_updated)
    with talk.keeping(upkeep), talk.beside(quiet):
        beside = (quiet, upkeep)
        return _go_on(talk, beside, session, attached=attached, reply_to=reply_to)


def _told_afterwards(thought: Afterthought | MentisError) -> None:
    """The end of what the persona wrote by itself; that it rather waits is nobody's business."""
    if isinstance(thought, MentisError):
        show_error(thought)
    elif thought.followup is not None:
        _close(thought.followup)


def _go_on(
    talk: Talk,
    beside: tuple[IdleCycle, Upkeep],
    session: str,
    *,
    attached: tuple[str, ...],
    reply_to: str | None,
) -> int:
    while True:
        try:
            message = _read_line()
        except EOFError:
            say("")
            return 0
        except KeyboardInterrupt:
            say("")
            continue
        if message.strip() in _LEAVE:
            return 0
        if message.strip():
            talk.hush(beside[0])
            _exchange(talk, given_message(message, attached, reply_to), session)
            for one in beside:
                talk.note_message(one, session)
            attached, reply_to = (), None


def _read_line() -> str:
    """A line from the terminal; the prompt is talk, so it stays out of redirected data."""
    if sys.stdout.isatty():
        return input("you> ")
    with redirect_stdout(sys.stderr):
        return input("you> ")


def _exchange(talk: Talk, message: Stimulus, session: str) -> None:
    """One turn; what goes wrong is told, and the conversation goes on."""
    try:
        _close(_heard(talk, message, session))
    except MentisError as error:
        show_error(error)


def _heard(talk: Talk, message: Stimulus, session: str) -> TurnResult:
    """Print the answer as it comes; where it breaks off, what is said next gets its own line."""
    last = ""

    def on_delta(delta: Delta) -> None:
        nonlocal last
        print_delta(delta)
        if isinstance(delta, TextDelta):
            last = delta.text[-1:] or last
        elif isinstance(delta, AgainDelta):
            last = ""

    try:
        return talk.ask(message, session=session, on_delta=on_delta)
    except BaseException:
        if last not in ("", "\n"):
            emit("")
        raise


def print_delta(delta: Delta) -> None:
    if isinstance(delta, TextDelta):
        emit(delta.text, end="")
    elif isinstance(delta, AgainDelta):
        emit("")
        if not delta.failed:
            say("the words so far were reasoning; the answer follows")
            return
        said = "and is asked for once more" if delta.keeps else "and is asked for again, whole"
        say(f"something in the answer failed {said}: {'; '.join(delta.failed)}")


def _close(result: TurnResult) -> None:
    """The end of the line, and everything about the turn that the text does not say."""
    if result.reply.text:
        emit("")
    for step in result.composed.trace.degraded:
        if step.part != "embedder" and step not in _said:  # said once, not every turn
            _said.add(step)
            say(f"{step.part}: {step.reason}")
    _say_unsent(result)
    for passed in result.passed_over:
        say(f"route {passed.route} did not answer: {passed.message} [{passed.failure}]")
    if result.repeats is not None:
        say(f"nobody answered: this is the answer of entry {result.repeats}, once more")
    for problem in result.reply.errors:
        say(f"in the answer: {problem.message} [{problem.code}]")
    told = [line for outcome in result.outcomes for line in said_lines(outcome)]
    for line in (*told, *window_lines(result.entry)):
        say(line)
    for cached in result.caching:
        say_cached(cached)
    say(_receipt(result))


def _say_unsent(result: TurnResult) -> None:
    for loss in result.rendering.losses:
        if loss.code in _UNSENT and loss not in _said:
            _said.add(loss)
            say(f"not sent: {loss.message} [{loss.code}]")


def _receipt(result: TurnResult) -> str:
    reply, entry = result.reply, result.entry
    words = [f"entry {entry.index}", entry.hash[:12], f"stop: {reply.stop}"]
    if reply.usage is not None:
        usage = reply.usage
        words.append(f"{usage.input} tokens in ({usage.cache_read} cached), {usage.output} out")
    if reply.stop == "interrupted" and reply.text:
        words.append("the part above is kept")
    return f"[{', '.join(words)}]"


def _summary(result: TurnResult) -> dict[str, object]:
    from mentis.codec.forms import to_object

    reply = result.reply
    return {
        "text": reply.text,
        "stop": reply.stop,
        "session": result.session,
        "usage": to_object(reply.usage) if reply.usage else None,
        "caching": [to_object(cached) for cached in result.caching],
        "calls": len(result.model_calls),
        "repeats": result.repeats,
        "losses": [to_object(loss) for loss in result.rendering.losses],
        "attempts": [to_object(attempt) for attempt in result.composed.trace.attempts],
        "notes": [to_object(note) for note in reply.notes],
        "passed_over": [to_object(passed) for passed in result.passed_over],
        "errors": [to_object(problem) for problem in reply.errors],
        "outcomes": [to_object(outcome) for outcome in result.outcomes],
        "window": result.entry.body.get("window"),
        "claims": result.entry.body.get("claims"),
        "entry": {"index": result.entry.index, "hash": result.entry.hash},
    }
