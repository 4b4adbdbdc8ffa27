"""`mentis acts`: what waits for a person, deciding on it, and what became of acts."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast, get_args

import click

from mentis.values.act import ActState
from mentis.values.words import quantity

from .acts_show import KEY, flight_line, moment, outcome_lines, story_lines, waiting_lines
from .asking import confirm, login, refuse_unasked
from .groups import RenamedChoice, RenamedGroup
from .options import Number, home_option, home_path, persona_option, route_option
from .output import say
from .report import Note, Report, Text, json_wanted, prints_report, show_notes
from .shown import behind_bar, safe
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.errors import MentisError
    from mentis.record.act_stories import ActStory
    from mentis.tools.acts import ActRun, Acts
    from mentis.values.act import WaitingAct
    from mentis.values.action import Outcome

_STATES: tuple[str, ...] = get_args(ActState)
by_option = click.option("--by", metavar="NAME", help="Who decides; by default your login name.")
words_option = click.option(
    "--reason",
    "--words",
    "words",
    default="",
    metavar="TEXT",
    help="Why; kept in the record, and passed on with a denial or a release.",
)
continue_option = click.option(
    "--continue",
    "go_on",
    is_flag=True,
    help="Then go on with the turn that waited for it, and print the answer.",
)


@click.group(cls=RenamedGroup, names={"list": "log"})
def acts() -> None:
    """Approve or deny acts, and see what became of each.

    An act is pending when it would reach outside with something that came from text nobody vouches
    for, or when you want to be asked. The start of a key is enough where it is unique.
    """


@acts.command(epilog="For example: mentis acts pending --json")
@persona_option
@home_option
@prints_report
def pending(*, persona: str | None) -> Report:
    """Show in full what each pending act would do.

    What nobody decided in time has expired: it is given up in the next turn, or by `run`. Exit code
    1 when one of them cannot be read.
    """
    with _open(persona, readonly=True) as service:
        found, faults = service.pending()
        data = service.pending_data()
    return Report(data, _pending_lines(found, faults), code=1 if faults else 0)


def _pending_lines(acts: Sequence[WaitingAct], faults: Sequence[MentisError]) -> Iterator[Text]:
    now = datetime.now(UTC)
    late = [act for act in acts if datetime.fromisoformat(act.expires) <= now]
    found = [act for act in acts if act not in late]
    for act in found:
        yield from waiting_lines(act, now=now)
        yield ""
    for fault in faults:
        yield Note(f"cannot be read: {safe(fault.message)}; {safe(fault.hint)}")
    for act in late:
        name = safe(act.call.action.type)
        yield Note(f"{name}  {safe(act.call.key[:KEY])}: expired at {moment(act.expires)}")
    yield Note(f"{quantity(len(found), 'act')} wait{'s' if len(found) == 1 else ''} for you")
    if found:
        yield Note(f"decide: mentis acts approve {found[0].call.key[:KEY]} --continue, or deny")


@acts.command(epilog="For example: mentis acts show 3fa09c1e")
@click.argument("key")
@persona_option
@home_option
@prints_report
def show(key: str, *, persona: str | None) -> Report:
    """Show one act, from request to result."""
    with _open(persona, readonly=True) as service:
        story = service.story(key)
    return Report(story, (line for line in story_lines(story)))


@acts.command(epilog='For example: mentis acts approve 3fa09c1e --continue --reason "I know her"')
@click.argument("key")
@click.option("--later", is_flag=True, help="Do not run it now; the next turn or `run` does.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@continue_option
@by_option
@words_option
@persona_option
@route_option
@home_option
@prints_report
def approve(  # one parameter for each option
    key: str,
    *,
    later: bool,
    yes: bool,
    go_on: bool,
    by: str | None,
    words: str,
    persona: str | None,
    route: str,
) -> Report:
    """Approve a pending act, and run it at once.

    Your yes covers these arguments and this definition: if either changes, the act is not done.
    Exit code 1 when it was approved and then not done. With --continue the model is told the result
    and answers, unless somebody has written since: then the next turn reports it.
    """
    if later and go_on:
        raise click.UsageError("--later leaves it to the next turn, and --continue goes on now")
    with _open(persona) as service:
        act = service.find(key)
        if not yes:
            _ask(act)
        act = service.approve(act.call.key, by=by or login(), words=words, shown=act)
        if later:
            later_note = Note("it is done in the next turn, or with `mentis acts run`")
            return Report(
                {"approved": act.call.key, "outcome": None},
                (f"approved: {safe(act.call.key)}", later_note),
            )
        ran = _run(service, {act.call.key})
    mine = next((one for one in ran.outcomes if one.key == act.call.key), None)
    told = {"approved": act.call.key, "outcome": mine, "faults": list(ran.faults)}
    done = Report(
        {**told, "turn": None} if go_on else told,
        _approved_lines(ran, mine),
        code=0 if mine and mine.state == "done" else 1,
    )
    if not go_on or mine is None:
        return done
    return _resume(done, act.call.session, persona=persona, route=route)


def _approved_lines(ran: ActRun, mine: Outcome | None) -> Iterator[Text]:
    yield from _ran_lines(ran)
    if mine is None and not (ran.faults or ran.elsewhere):
        yield Note("somebody else began it first; `mentis acts show` says what came of it")


@acts.command(epilog='For example: mentis acts deny 3fa09c1e --reason "not to strangers"')
@click.argument("key")
@continue_option
@by_option
@words_option
@persona_option
@route_option
@home_option
@prints_report
def deny(
    key: str,
    *,
    go_on: bool,
    by: str | None,
    words: str,
    persona: str | None,
    route: str,
) -> Report:
    """Deny a pending act, or withdraw an approval before it runs.

    It never runs, and the agent is told so, with your reason: in its next turn, or, with
    --continue, at once.
    """
    with _open(persona) as service:
        act = service.deny(key, by=by or login(), words=words)
    done = Report({"denied": act.call.key}, f"denied: {safe(act.call.key)}")
    return _resume(done, act.call.session, persona=persona, route=route) if go_on else done


@acts.command(epilog="For example: mentis acts release 3fa09c1e --continue")
@click.argument("key")
@click.option("--yes", is_flag=True, help="Do not show it and ask; you have looked at it.")
@continue_option
@by_option
@words_option
@persona_option
@route_option
@home_option
@prints_report
def release(
    key: str,
    *,
    yes: bool,
    go_on: bool,
    by: str | None,
    words: str,
    persona: str | None,
    route: str,
) -> Report:
    """Release a result that screening withheld, to the agent.

    You see it first. The agent gets it in the next turn, or, with --continue, at once: as text of
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
    line = f"released: {safe(story.key)}"
    if go_on:
        done = Report({"released": story.key}, line)
        return _resume(done, story.session, persona=persona, route=route)
    return Report({"released": story.key}, (line, Note("it is told in the next turn")))


def _resume(done: Report, session: str, *, persona: str | None, route: str) -> Report:
    """Go on with the turn that waited, in the session that asked, and print it as `chat` does.

    Then the answer is the data, and what was done before it is talk.
    """
    from mentis.turn.turn_data import turn_data

    from .answer_show import AnswerPrinter
    from .approval_talk import NOTHING_TO_RESUME
    from .talk import open_talk
    from .turn_show import show_end

    printer = None if json_wanted() else AnswerPrinter()
    if printer is not None:
        show_notes(done.text)
    with open_talk(home_path(), persona=persona, route=route) as talk:
        result = talk.resume(session=session, on_delta=printer) if session else None
        if printer is not None and result is not None:
            show_end(result, printer)
        code = 0 if result is None else talk.exit_code(result)
    data = {**cast("dict[str, object]", done.data), "turn": result and turn_data(result)}
    return Report(data, () if result else Note(NOTHING_TO_RESUME), code=code or done.code)


@acts.command(epilog="For example: mentis acts log --state waiting --last 5")
@click.option(
    "--last",
    type=Number(min=1),
    default=20,
    show_default=True,
    help="How many acts.",
)
@click.option(
    "--state",
    type=RenamedChoice(_STATES, older={"pending": "waiting"}),
    metavar="STATE",
    help=f"Only those that stand so: {', '.join(_STATES)}.",
)
@click.option("--type", "name", metavar="NAME", help="Only acts of this name.")
@persona_option
@home_option
@prints_report
def log(*, last: int, state: str | None, name: str | None, persona: str | None) -> Report:
    """List acts from the record, oldest first."""
    with _open(persona, readonly=True) as service:
        found = service.log(last=last, state=state, name=name)
        open_, faults = service.open()
        data = service.log_data(last=last, state=state, name=name)

    def text() -> Iterator[Text]:
        if found:
            columns = ("key", "requested", "act", "state", "entries")
            yield TextTable(columns, [_row(story) for story in found])
        for one in open_:
            yield Note(flight_line(one))
        for fault in faults:
            yield Note(f"cannot be read: {safe(fault.message)}; {safe(fault.hint)}")
        more = "; `mentis acts show KEY` tells all of one" if found else ""
        yield Note(f"{quantity(len(found), 'act')}{more}")

    return Report(data, text())


@acts.command(epilog="For example: mentis acts run")
@persona_option
@home_option
@prints_report
def run(*, persona: str | None) -> Report:
    """Run approved acts, and settle those that were left open.

    What nobody decided in time is given up. What a process that is gone was doing becomes `unknown`
    and is not repeated, unless it is declared to be idempotent. Exit code 1 when something was not
    done.
    """
    with _open(persona) as service:
        ran = _run(service)
    failed = bool(ran.faults) or any(one.state != "done" for one in ran.outcomes)

    def text() -> Iterator[Text]:
        yield from _ran_lines(ran)
        if not (ran.outcomes or ran.expired or ran.faults or ran.elsewhere):
            yield Note("nothing was approved, expired or left open")

    return Report(ran, text(), code=1 if failed else 0)


@acts.command(epilog="For example: mentis acts result 3fa09c1e > page.html")
@click.argument("key")
@persona_option
@home_option
@prints_report
def result(key: str, *, persona: str | None) -> Report:
    """Print the whole result of an act.

    Somebody else wrote it. In a pipe it comes as it is; on a terminal, invisible characters are
    shown.
    """
    with _open(persona, readonly=True) as service:
        text = service.result(key)
    shown = behind_bar(text, indent=0) if sys.stdout.isatty() else text.encode()
    return Report({"result": text}, shown)


def _open(persona: str | None, *, readonly: bool = False) -> Acts:
    from mentis.tools.acts import open_acts

    return open_acts(home_path(), persona, readonly=readonly)


def _run(service: Acts, keys: Collection[str] | None = None) -> ActRun:
    import anyio

    return anyio.run(service.run, keys)


def _ask(act: WaitingAct) -> None:
    """Whoever decides sees all of it first."""
    refuse_unasked()
    show_notes(waiting_lines(act, now=datetime.now(UTC)))
    confirm("do it?")


def _ran_lines(ran: ActRun) -> Iterator[Text]:
    for act in ran.expired:
        yield f"{safe(act.call.action.type)}  {safe(act.call.key)}: expired"
    for outcome in ran.outcomes:
        yield from outcome_lines(outcome)
    for act in ran.elsewhere:
        name = safe(act.call.action.type)
        yield Note(
            f"approved, and {name} is not known here: it is done in the next turn of the program",
        )
        yield Note("that has it; `mentis tools list` shows what is known here")
    for fault in ran.faults:
        yield Note(f"not looked after: {safe(fault)}")


def _row(story: ActStory) -> tuple[str, ...]:
    first, last = story.steps[0], story.steps[-1]
    span = str(first.entry) if first is last else f"{first.entry} to {last.entry}"
    return (story.key[:KEY], moment(first.time), safe(story.type), story.state, span)
