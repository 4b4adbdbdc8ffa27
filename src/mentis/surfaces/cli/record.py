"""`mentis record`: another agent's calls, passed on and recorded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, cast

import click

from mentis.system.signals import ENDING, handled, hangup
from mentis.values.words import quantity

from .options import Number, home_option, home_path
from .output import printable, say
from .record_ca import RecordGroup, ca
from .record_entrance import Entrance, log_request, open_entrance
from .record_spans import announce_receiver, receiving, span_environ
from .record_status import StatusDisplay, has_title, watch
from .recorded_sessions import RECORDED, cost_words, dollars, session_tree, side_name
from .report import Note, Report, Text, json_wanted, prints_report

if TYPE_CHECKING:
    from mentis.record.foreign_calls import ForeignCall
    from mentis.recorder.recording import Recording
    from mentis.recorder.report import CallReport, LossSummary, SessionReport, SideSummary
    from mentis.settings.recorder import RepairRule

# Surfaces stand apart: this one is started by its name, as a command is.
_SURFACE = "mentis.surfaces.proxy.start"
# A call that goes by waits no longer than this for the thread that writes the record.
_SWITCH_SECONDS = 0.0005
_MOST_LINES = 20  # of the tree, at the end
_NOT_FOUND, _NOT_RUNNABLE, _SIGNALLED = 127, 126, 128


@click.group(
    cls=RecordGroup,
    commands={"ca": ca},
    invoke_without_command=True,
    subcommand_metavar="",
    context_settings={"allow_interspersed_args": False},
    epilog="For example: mentis record -- claude -p 'What is in this folder?'",
)
@click.option(
    "--as", "name", metavar="NAME", help="Call the agent recorded/NAME; by default, by its program."
)
@click.option(
    "--port",
    type=Number(0, 65_535),
    metavar="N",
    help="Listen there; by default recorder.port, and with a COMMAND any that is free.",
)
@click.option(
    "--repair",
    is_flag=False,
    flag_value="all",
    metavar="[RULE,...]",
    help="Change what wastes the cache before it is sent; by default recorder.repair: nothing.",
)
@click.option(
    "--forward",
    is_flag=True,
    help="Be an HTTP proxy, with a certificate authority of this machine, for programs that pin"
    " their address.",
)
@click.option(
    "--token",
    is_flag=True,
    help="Ask for a secret, which is printed with the addresses; with a COMMAND it always does.",
)
@click.option(
    "--otlp",
    is_flag=True,
    help="Pass no calls on: record what GenAI spans tell, sent to /v1/traces as OTLP over HTTP.",
)
@click.option(
    "--status",
    "status_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Keep one line about the calls so far in this file.",
)
@click.option(
    "--watch",
    "watched",
    is_flag=True,
    help="Record nothing: show that line of a recording that runs elsewhere, until Ctrl-C.",
)
@click.option("--log/--no-log", default=False, help="Write a line for each request to stderr.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@home_option
@prints_report
def record(  # noqa: PLR0913  # one parameter an option
    *,
    name: str | None,
    port: int | None,
    repair: str | None,
    forward: bool,
    token: bool,
    otlp: bool,
    log: bool,
    status_file: Path | None,
    watched: bool,
    command: tuple[str, ...],
) -> Report:
    """Record the model calls of another program.

    With COMMAND, that program is started so that its calls go through the recorder, and its exit
    code is passed on. Without one, the addresses to be used are printed, and Ctrl-C ends it. Calls
    are passed on byte for byte, and never wait for the record. The program has the terminal to
    itself: the calls so far stand in its title. At the end: calls, tokens, money, what the cache
    lost and what to change. See docs/guides/record-an-agent-you-already-have.md.

    With --forward the program is led here by HTTPS_PROXY instead of a base URL. Only what it asks
    of targets is read and recorded; other hosts are passed through.
    """
    if watched:
        if command or json_wanted():
            raise click.UsageError("--watch records nothing: it takes no COMMAND and no --json")
        return Report(None, code=watch(name))
    if otlp and (forward or token or log or repair is not None):
        raise click.UsageError(
            "--otlp passes no calls on: it takes no --forward, --token, --repair and --log"
        )
    from mentis.recorder.programs import program_name
    from mentis.recorder.recording import open_recording

    chosen = name or program_name(command)
    display = StatusDisplay(f"{RECORDED}{chosen}", file=status_file, titled=False)

    def live(call: ForeignCall) -> None:
        display.tell(call)
        if not command:
            _tell_call(call)

    rules = None if repair is None else _rules(repair)
    opened = open_recording(home_path(), chosen, tell=say, on_call=live, repair=rules)
    with opened as recording:
        limits = recording.settings
        display.titled = bool(command) and limits.title and has_title()
        taken = port if port is not None else 0 if command else limits.port
        way = _WayIn(taken, forward=forward, token=token, log=log)
        with display:
            code = way.receive(command, recording) if otlp else way.relay(command, recording)
    report = _summary(recording)
    return Report(report.data, report.text, code=code)


def _summary(recording: Recording) -> Report:
    from mentis.recorder.report import report_calls, report_sessions

    report, missing = report_calls(recording.calls), sum(recording.missing)
    return Report(
        _as_json(recording.agent, report, missing),
        (_lines(recording.agent, report, missing), _tree(report_sessions(recording.calls))),
    )


@dataclass(frozen=True)
class _WayIn:
    """How calls come to be recorded: passed on by a proxy, or told by spans."""

    port: int
    forward: bool
    token: bool
    log: bool

    def relay(self, command: Sequence[str], recording: Recording) -> int:
        start = import_module(_SURFACE)
        entrance = open_entrance(recording, command, forward=self.forward, token=self.token)
        options = start.ProxyOptions(
            self.port,
            entrance.secret,
            entrance.authority,
            tell=say,
            on_access=log_request if self.log else None,
        )
        sys.setswitchinterval(_SWITCH_SECONDS)
        with start.running_proxy(recording, options) as base:
            entrance.base = base
            return _run(command, entrance, recording)

    def receive(self, command: Sequence[str], recording: Recording) -> int:
        with receiving(recording, self.port) as base:
            if command:
                return _run_child(command, span_environ(base))
            announce_receiver(base, recording.agent)
            return _wait()


def _rules(text: str) -> tuple[RepairRule, ...]:
    """Names of rules, with commas between; `all` of them, or `none`."""
    from mentis.settings.recorder import REPAIR_RULES

    chosen = [name.strip() for name in text.split(",") if name.strip()]
    if chosen in (["all"], ["none"]):
        return REPAIR_RULES if chosen == ["all"] else ()
    for name in chosen:
        if name not in REPAIR_RULES:
            known = ", ".join(REPAIR_RULES)
            raise click.UsageError(f"--repair knows no rule {name!r}; there are: {known}")
    return tuple(rule for rule in REPAIR_RULES if rule in chosen)


def _run(command: Sequence[str], entrance: Entrance, recording: Recording) -> int:
    if not command:
        entrance.announce(recording)
        return _wait()
    start = entrance.start(command, recording)
    recording.targets.update(start.targets)
    for note in start.notes:
        say(f"note: {note}")
    return _run_child(start.command, start.environ)


def _run_child(command: Sequence[str], environ: Mapping[str, str]) -> int:
    try:
        child = subprocess.Popen(command, env={**os.environ, **environ})  # noqa: S603  # the owner's own command
    except FileNotFoundError:
        say(f"mentis: there is no program {command[0]!r}")
        return _NOT_FOUND
    except OSError as error:
        say(f"mentis: {command[0]!r} cannot be started: {error.strerror}")
        return _NOT_RUNNABLE
    with _signals_for(child):
        code = child.wait()
    return code if code >= 0 else _SIGNALLED - code


@contextmanager
def _signals_for(child: subprocess.Popen[bytes]) -> Generator[None]:
    """Ctrl-C reaches the program by itself, and what it does then is its own business; a signal
    that ends us is handed on to it.
    """

    def stay(_number: int, _frame: FrameType | None) -> None:
        """Its own end is waited for."""

    def hand_on(number: int, _frame: FrameType | None) -> None:
        child.send_signal(number)

    handed_on = dict.fromkeys((signal.SIGTERM, *hangup()), hand_on)
    with handled({signal.SIGINT: stay, **handed_on}):
        yield


def _wait() -> int:
    """Until Ctrl-C or SIGTERM."""
    done = Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        done.set()

    with handled(dict.fromkeys(ENDING, stop)):
        done.wait()
    return 0


def _tell_call(call: ForeignCall) -> None:
    """One line for each, while it goes on."""
    words = [f"[{call.entry}]", call.route, call.model, str(call.status or call.end)]
    if call.usage is not None:
        used = call.usage
        words.append(f"{used.input} in ({used.cache_read} from cache), {used.output} out")
        words.append(dollars(call.usd))
    if call.lost:
        words.append(f"{call.lost} read again: {call.place or call.reason}")
    say(printable("  ".join(word for word in words if word)))


def _lines(agent: str, report: CallReport, missing: int) -> Iterator[Text]:
    failed = f", {report.failed} failed" if report.failed else ""
    yield Note(
        f"{agent}: {quantity(report.calls, 'call')} ({report.questions} to a model{failed}) in"
        f" {quantity(report.sessions, 'session')}"
    )
    if missing:
        yield Note(f"MISSING: {quantity(missing, 'call')} went by unrecorded; the record says so")
    if not report.questions:
        return
    yield Note(
        f"tokens: {report.input} in ({report.cache_read} from cache, {report.cache_write} written"
        f" to it), {report.output} out"
    )
    if report.unmeasured:
        yield Note(
            f"usage: {quantity(report.unmeasured, 'call')} told none; for a stream of Chat"
            " Completions, ask for it: stream_options.include_usage"
        )
    yield Note(f"cost: {_cost(report)}")
    for side in report.side:
        yield Note(f"beside: {_side(side)}")
    if report.repaired:
        yield Note(f"repaired: {quantity(report.repaired, 'call')}; both bodies are in the record")
    for loss in report.losses:
        yield Note(printable(_loss(loss)))
        yield Note(printable(f"  {loss.fix}"))
    if report.flagged:
        yield Note(
            f"{quantity(report.flagged, 'result')} of tools look like instructions: see the calls"
        )
    yield Note(f"more: mentis sessions list --persona {agent}; mentis why --persona {agent}")


def _tree(sessions: Sequence[SessionReport]) -> Iterator[Text]:
    """Who started whom, where anybody did."""
    if not any(one.parent is not None or len(one.tree) > 1 for one in sessions):
        return
    for label, total in session_tree(sessions)[:_MOST_LINES]:
        yield Note(f"  {label}: {quantity(total.calls, 'call')}, {cost_words(total)}")


def _side(side: SideSummary) -> str:
    tokens = f"{side.input} in, {side.output} out"
    money = "unknown price" if side.unpriced else dollars(side.usd)
    used = f", {tokens}, {money}" if side.input or side.output else ""
    return f"{quantity(side.calls, 'call')} for {side_name(side.what)}{used}"


def _loss(loss: LossSummary) -> str:
    what = f"{loss.place} {loss.reason}" if loss.place else _WORDS[loss.reason]
    money = "" if loss.usd is None else f", {dollars(loss.usd)} more than needed"
    return (
        f"cache: {loss.tokens} tokens read again in {quantity(loss.calls, 'call')}{money}: {what}"
    )


_WORDS: Mapping[str, str] = {
    "changed": "the prompt changed",
    "reordered": "the tools came in another order",
    "rewritten": "older messages were replaced",
    "unmarked": "nothing asked for a cache",
    "ended": "the cache had ended",
    "unknown": "nobody can say why",
}


def _cost(report: CallReport) -> str:
    """Never $0.00 for what nobody knows."""
    unknown = [
        f"unknown price for {quantity(count, 'call')} ({why})"
        for count, why in ((report.unpriced, report.why), (report.unmeasured, "no usage was told"))
        if count
    ]
    if not unknown:
        return cost_words(report)
    return ", and ".join([dollars(report.usd)] * bool(report.usd) + unknown)


def _as_json(agent: str, report: CallReport, missing: int) -> dict[str, object]:
    from mentis.recorder.report_data import plain

    return {"agent": agent, **cast("dict[str, object]", plain(report)), "missing": missing}
