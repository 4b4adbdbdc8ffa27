"""`mentis acts`: what waits for a person, deciding on it, and what became of acts."""

from __future__ import annotations

import sys
from collections.abc import Collection
from datetime import UTC, datetime
from typing import TYPE_CHECKING, get_args

import click

from mentis.values.act import ActState
from mentis.values.words import quantity

from .acts_show import KEY, flight_line, moment, outcome_lines, story_lines, waiting_lines
from .asking import confirm, login, refuse_unasked
from .options import home_option, home_path, persona_option, route_option
from .output import emit, json_option, say, table
from .shown import behind_bar, emit_safe_json, safe

if TYPE_CHECKING:
    from mentis.record.act_stories import ActStory
    from mentis.tools.acts import ActRun, Acts
    from mentis.values.act import WaitingAct

_STATES: tuple[str, ...] = get_args(ActState)
by_option = click.option("--by", metavar="NAME", help="Who decides; by default your login name.")
words_option = click.option(
    "--words",
    default="",
    metavar="TEXT",
    help="Why; kept in the record. A no or a release is told with it.",
)
continue_option = click.option(
    "--continue",
    "go_on",
    is_flag=True,
    help="Then go on with the turn that waited for it, and print the answer.",
)


@click.group()
def acts() -> None:
    """See what waits for your yes, decide, and what became of acts.

    An act waits when it would reach outside with something that came from text nobody vouches for,
    or when you want to be asked. Any beginning of a key that is unique finds its act.
    """


@acts.command(epilog="For example: mentis acts pending --json")
@persona_option
@home_option
@json_option
def pending(*, persona: str | None, as_json: bool) -> int:
    """Show in full what each act that waits would do.

    What nobody decided in time is named as expired: it is given up in the next turn, or by `run`.
    Exit code 1 when one of them cannot be read.
    """
    with _open(persona, readonly=True) as service:
        found, faults = service.pending()
        told = service.pending_data() if as_json else {}
    if as_json:
        emit_safe_json(told)
        return 1 if faults else 0
    now = datetime.now(UTC)
    late = [act for act in found if datetime.fromisoformat(act.expires) <= now]
    found = [act for act in found if act not in late]
    for act in found:
        _print_waiting(act)
        emit("")
    for fault in faults:
        say(f"cannot be read: {safe(fault.message)}; {safe(fault.hint)}")
    for act in late:
        name = safe(act.call.action.type)
        say(f"{name}  {safe(act.call.key[:KEY])}: expired at {moment(act.expires)}")
    say(f"{quantity(len(found), 'act')} wait{'s' if len(found) == 1 else ''} for you")
    if found:
        say(f"decide: mentis acts approve {found[0].call.key[:KEY]} --continue, or deny")
    return 1 if faults else 0


@acts.command(epilog="For example: mentis acts show 3fa09c1e")
@click.argument("key")
@persona_option
@home_option
@json_option
def show(key: str, *, persona: str | None, as_json: bool) -> None:
    """Show one act from being asked for to what it came to."""
    from mentis.codec.forms import to_object

    with _open(persona, readonly=True) as service:
        story = service.story(key)
    if as_json:
        emit_safe_json(to_object(story))
        return
    for line in story_lines(story):
        emit(line)


@acts.command(epilog='For example: mentis acts approve 3fa09c1e --continue --words "I know her"')
@click.argument("key")
@click.option("--later", is_flag=True, help="Do not do it now; the next turn or `run` does.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@continue_option
@by_option
@words_option
@persona_option
@route_option
@home_option
@json_option
def approve(  # noqa: PLR0913  # one parameter for each option
    key: str,
    *,
    later: bool,
    yes: bool,
    go_on: bool,
    by: str | None,
    words: str,
    persona: str | None,
    route: str,
    as_json: bool,
) -> int:
    """Say yes to an act that waits, and have it done at once.

    The yes is to these arguments and this definition: if either changes, it is not done. Exit code
    1 when it was approved and then not done. With --continue the model is told what came of it and
    answers, unless somebody wrote since: then the next turn tells it.
    """
    from mentis.codec.forms import to_object

    if later and go_on:
        raise click.UsageError("--later leaves it to the next turn, and --continue goes on now")
    with _open(persona) as service:
        act = service.find(key)
        if not yes:
            _ask(act)
        act = service.approve(act.call.key, by=by or login(), words=words, shown=act)
        if later:
            if as_json:
                emit_safe_json({"approved": act.call.key, "outcome": None})
            else:
                emit(f"approved: {safe(act.call.key)}")
                say("it is done in the next turn, or with `mentis acts run`")
            return 0
        ran = _run(service, {act.call.key})
    mine = next((one for one in ran.outcomes if one.key == act.call.key), None)
    told: dict[str, object] = {
        "approved": act.call.key,
        "outcome": to_object(mine) if mine else None,
        "faults": list(ran.faults),
    }
    code = 0 if mine and mine.state == "done" else 1
    if not as_json:
        _print_ran(ran, err=go_on)
        if mine is None and not (ran.faults or ran.elsewhere):
            say("somebody else began it first; `mentis acts show` says what came of it")
    if go_on and mine is not None:
        session = act.call.session
        return _resume(session, told, persona=persona, route=route, as_json=as_json) or code
    if as_json:
        emit_safe_json({**told, "turn": None} if go_on else told)
    return code


@acts.command(epilog='For example: mentis acts deny 3fa09c1e --words "not to strangers"')
@click.argument("key")
@continue_option
@by_option
@words_option
@persona_option
@route_option
@home_option
@json_option
def deny(
    key: str,
    *,
    go_on: bool,
    by: str | None,
    words: str,
    persona: str | None,
    route: str,
    as_json: bool,
) -> int:
    """Say no to an act that waits, or take a yes back before it is done.

    It is never done, and the agent is told, with your words: in its next turn, or, with --continue,
    at once.
    """
    with _open(persona) as service:
        act = service.deny(key, by=by or login(), words=words)
    told: dict[str, object] = {"denied": act.call.key}
    if not as_json:
        (say if go_on else emit)(f"denied: {safe(act.call.key)}")
    if go_on:
        session = act.call.session
        return _resume(session, told, persona=persona, route=route, as_json=as_json)
    if as_json:
        emit_safe_json(told)
    return 0


@acts.command(epilog="For example: mentis acts release 3fa09c1e --continue")
@click.argument("key")
@click.option("--yes", is_flag=True, help="Do not show it and ask: you have looked at it.")
@continue_option
@by_option
@words_option
@persona_option
@route_option
@home_option
@json_option
def release(
    key: str,
    *,
    yes: bool,
    go_on: bool,
    by: str | None,
    words: str,
    persona: str | None,
    route: str,
    as_json: bool,
) -> int:
    """Let the agent be told a result that screening withheld.

    You are shown it first. It is told in the next turn, or, with --continue, at once: as text of
    somebody else, between marks, and as released by you. The record says who released it.
    """
    with _open(persona) as service:
        story = service.withheld(key)
        if not yes:
            refuse_unasked()
            for line in behind_bar(service.result(story.key), indent=0):
                say(line)
            confirm("tell the agent?")
        service.release(story.key, by=by or login(), words=words)
    told: dict[str, object] = {"released": story.key}
    if not as_json:
        (say if go_on else emit)(f"released: {safe(story.key)}")
    if go_on:
        return _resume(story.session, told, persona=persona, route=route, as_json=as_json)
    if as_json:
        emit_safe_json(told)
    else:
        say("it is told in the next turn")
    return 0


def _resume(
    session: str, told: dict[str, object], *, persona: str | None, route: str, as_json: bool
) -> int:
    """Go on with the turn that waited, in the session that asked, and print it as `chat` does."""
    from mentis.turn.turn_data import turn_data

    from .answer_show import AnswerPrinter
    from .approval_talk import NOTHING_TO_RESUME
    from .talk import open_talk
    from .turn_show import show_end

    printer = AnswerPrinter()
    with open_talk(home_path(), persona=persona, route=route) as talk:
        on_delta = None if as_json else printer
        result = talk.resume(session=session, on_delta=on_delta) if session else None
        if as_json:
            emit_safe_json({**told, "turn": None if result is None else turn_data(result)})
        elif result is None:
            say(NOTHING_TO_RESUME)
        else:
            show_end(result, printer)
        return 0 if result is None else talk.exit_code(result)


@acts.command(epilog="For example: mentis acts log --state waiting --last 5")
@click.option(
    "--last", type=click.IntRange(min=1), default=20, show_default=True, help="How many acts."
)
@click.option(
    "--state",
    type=click.Choice(_STATES),
    metavar="STATE",
    help=f"Only those that stand so: {', '.join(_STATES)}.",
)
@click.option("--type", "name", metavar="NAME", help="Only acts of this name.")
@persona_option
@home_option
@json_option
def log(
    *, last: int, state: str | None, name: str | None, persona: str | None, as_json: bool
) -> None:
    """List acts as the ledger tells of them, oldest first."""
    with _open(persona, readonly=True) as service:
        found = service.log(last=last, state=state, name=name)
        open_, faults = service.open()
        told = service.log_data(last=last, state=state, name=name) if as_json else {}
    if as_json:
        emit_safe_json(told)
        return
    if found:
        table(("key", "asked", "act", "state", "entries"), [_row(story) for story in found])
    for one in open_:
        say(flight_line(one))
    for fault in faults:
        say(f"cannot be read: {safe(fault.message)}; {safe(fault.hint)}")
    say(f"{quantity(len(found), 'act')}; `mentis acts show KEY` tells all of one")


@acts.command(epilog="For example: mentis acts run")
@persona_option
@home_option
@json_option
def run(*, persona: str | None, as_json: bool) -> int:
    """Do what was approved, and look after what was left open.

    What nobody decided in time is given up. What a process that is gone was doing becomes `unknown`
    and is not repeated, unless it is declared to be idempotent. Exit code 1 when something was not
    done.
    """
    from mentis.codec.forms import to_object

    with _open(persona) as service:
        ran = _run(service)
    failed = bool(ran.faults) or any(one.state != "done" for one in ran.outcomes)
    if as_json:
        emit_safe_json(to_object(ran))
        return 1 if failed else 0
    _print_ran(ran)
    if not (ran.outcomes or ran.expired or ran.faults or ran.elsewhere):
        say("nothing was approved, expired or left open")
    return 1 if failed else 0


@acts.command(epilog="For example: mentis acts result 3fa09c1e > page.html")
@click.argument("key")
@persona_option
@home_option
@json_option
def result(key: str, *, persona: str | None, as_json: bool) -> None:
    """Print the whole of what an act answered.

    Somebody else wrote it. In a pipe it comes as it is; on a terminal what cannot be seen is shown.
    """
    with _open(persona, readonly=True) as service:
        text = service.result(key)
    if as_json:
        emit_safe_json({"result": text})
    elif sys.stdout.isatty():
        for line in behind_bar(text, indent=0):
            emit(line)
    else:
        emit(text, end="" if text.endswith("\n") else "\n")


def _open(persona: str | None, *, readonly: bool = False) -> Acts:
    from mentis.tools.acts import open_acts

    return open_acts(home_path(), persona, readonly=readonly)


def _run(service: Acts, keys: Collection[str] | None = None) -> ActRun:
    import anyio

    return anyio.run(service.run, keys)


def _ask(act: WaitingAct) -> None:
    """Whoever decides sees all of it first."""
    refuse_unasked()
    _print_waiting(act, err=True)
    confirm("do it?")


def _print_waiting(act: WaitingAct, *, err: bool = False) -> None:
    for line in waiting_lines(act, now=datetime.now(UTC)):
        (say if err else emit)(line)


def _print_ran(ran: ActRun, *, err: bool = False) -> None:
    show = say if err else emit
    for act in ran.expired:
        show(f"{safe(act.call.action.type)}  {safe(act.call.key)}: expired")
    for outcome in ran.outcomes:
        for line in outcome_lines(outcome):
            show(line)
    for act in ran.elsewhere:
        name = safe(act.call.action.type)
        say(f"approved, and {name} is not known here: it is done in the next turn of the program")
        say("that has it; `mentis tools list` shows what is known here")
    for fault in ran.faults:
        say(f"not looked after: {safe(fault)}")


def _row(story: ActStory) -> tuple[str, ...]:
    first, last = story.steps[0], story.steps[-1]
    span = str(first.entry) if first is last else f"{first.entry} to {last.entry}"
    return (story.key[:KEY], moment(first.time), safe(story.type), story.state, span)
