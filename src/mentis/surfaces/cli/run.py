"""`mentis run`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .channels import say_news
from .logs import log_option, log_tick, logs_json
from .options import Number, call_parts, home_option, home_path, persona_option, route_option
from .output import printable, say
from .report import Note, Report, Text, prints_report
from .tick import listening

if TYPE_CHECKING:
    from mentis.channels.runner import ChannelRunner
    from mentis.loop.loop import Loop
    from mentis.loop.report import RunReport
    from mentis.tick.events import Emit, TickEvent

_FAILED = ("budget",)
_COUNTED = (
    "failed",
    "skipped",
    "slept",
    "beats",
    "deliveries",
    "afterthoughts",
    "updates",
)
_CHORES = {
    "beat_made": "beat: {kind} [entry {entry}]",
    "beat_failed": "beat: failed: {reason} [{code}]",
    "delivery_made": "delivery: {act}, told in {session} [entry {entry}]",
    "delivery_failed": "delivery: {act} failed: {reason} [{code}]",
    "delivery_put_off": "delivery: {act} waits: {reason}",
    "afterthought_made": "afterthought: in {session}, wrote: {wrote} [entry {entry}]",
    "afterthought_failed": "afterthought: in {session} failed: {reason} [{code}]",
    "memory_updated": "memory files: from {session}, written: {written} [entry {entry}]",
    "memory_update_failed": "memory files: from {session} failed: {reason} [{code}]",
    "sense_refused": "refused {name}: {reason}",
    "sense_set_aside": "set aside {id} after {failures} failed ticks: {reason}",
}


@click.command(epilog="For example: mentis run --interval 5 --folder inbox")
@click.option(
    "--interval",
    type=click.FloatRange(0, 86_400),
    metavar="S",
    help="Seconds from one tick to the next.",
)
@click.option("--ticks", type=Number(1), metavar="N", help="Stop after this many ticks.")
@click.option(
    "--folder",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Take the files in it as senses; they go to taken/ in it.",
)
@click.option(
    "--socket",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Listen there for senses, one JSON object a line.",
)
@click.option(
    "--owner", is_flag=True, help="What comes from all of these counts as your own words."
)
@click.option(
    "--events",
    metavar="FILE",
    help="Add every event to a file, one line of JSON each; - is stderr.",
)
@log_option
@persona_option
@route_option
@home_option
@prints_report
def run(  # one parameter an option
    *,
    interval: float | None,
    ticks: int | None,
    folders: tuple[Path, ...],
    socket: Path | None,
    owner: bool,
    events: str | None,
    persona: str | None,
    route: str,
) -> Report:
    """Let an agent live: tick after tick, until you stop it.

    It senses what `mentis sense add` gives it, its timers ([run.timers] in the settings), and what
    comes from --folder and --socket. When there is nothing new, it stays idle. Between ticks it
    delivers late results of acts, thinks again about a silent conversation, updates its memory
    files and has beats: each as the settings say ([run], [afterthought], [persona_update],
    [beats]), and each reported here. It answers in its channels (mentis channels). Ctrl-C or
    SIGTERM ends it once the running tick is done; a second one ends it at once. Exit code 1 when a
    budget ended it.
    """
    import anyio

    from mentis.app.agent import Agent
    from mentis.loop.sources import LoopChoice
    from mentis.tick.events import emit_to_all
    from mentis.values.trust import Trust

    trust = Trust.OWNER if owner else Trust.UNTRUSTED
    choice = LoopChoice(interval, ticks or 0, folders, socket, trust)

    async def live() -> RunReport:
        async with Agent.open(home_path(), persona=persona, route=route, parts=call_parts()) as one:
            with listening(events, one) as emit_event:
                heard = emit_to_all(*_listeners(one.id), emit_event)
                loop = one.loop(choice=choice, emit=heard)
                return await _until_told(loop, one.channels(on_news=say_news))

    report = anyio.run(live)
    return Report(asdict(report), _lines(report), code=1 if report.stopped in _FAILED else 0)


def _listeners(agent: str) -> tuple[Emit, ...]:
    """Whoever is told what happens while it lives: a log, or people."""
    if logs_json():
        return (log_tick(agent),)
    return partial(_say_start, agent), _say_chore, _say_displaced, _Alarms()


def _say_start(agent: str, event: TickEvent) -> None:
    """Not before it does: another process may live already."""
    if event.event == "loop_started":
        say(f"{agent} lives; Ctrl-C ends it")


def _say_chore(event: TickEvent) -> None:
    """What was done between ticks, what was refused and what was set aside, as it happens."""
    line = _CHORES.get(event.event)
    if line is not None:
        facts = {name: printable(str(fact)) for name, fact in event.facts.items()}
        say(line.format_map({"session": "?", "act": "?", "entry": "", **facts}))


def _say_displaced(event: TickEvent) -> None:
    if event.event == "memory_made_room":
        say(f"memory full: {event.facts['name']} made room: {printable(event.text or '')}")


class _Alarms:
    """Says that a stage keeps failing: at first, when more is known of it, and ever more rarely."""

    def __init__(self) -> None:
        self._told: dict[object, tuple[int, object]] = {}

    def __call__(self, event: TickEvent) -> None:
        if event.event != "helper_alarm":
            return
        facts = event.facts
        stage, failures, hint = facts["stage"], int(str(facts["failures"])), facts.get("hint", "")
        count, last = self._told.get(stage, (0, ""))
        if count <= failures < 2 * count and hint == last:
            return
        self._told[stage] = failures, hint
        reason = printable(f"{facts['reason']}{f'; {hint}' if hint else ''}")
        say(f"alarm: {stage} failed {failures} times in a row: {reason}")


async def _until_told(loop: Loop, channels: Sequence[ChannelRunner]) -> RunReport:
    import anyio
    from anyio.abc import TaskStatus

    from mentis.channels.running import run_all
    from mentis.errors import MentisError
    from mentis.system.signals import ending_signals

    async def obey(*, task_status: TaskStatus[None]) -> None:
        with ending_signals() as signals:
            task_status.started()
            ends = "it ends after what is going on"
            async for number in signals:
                say(f"{number.name}: {ends}")
                loop.stop()
                ends = "it ends now"

    failures: list[MentisError] = []

    async def talk() -> None:
        try:
            await run_all(channels)
        except MentisError as error:
            failures.append(error)
            loop.stop()

    async with anyio.create_task_group() as tasks:
        await tasks.start(obey)
        if channels:
            tasks.start_soon(talk)
        try:
            await loop.run()
        except MentisError as error:
            failures.append(error)
        tasks.cancel_scope.cancel()
    if failures:
        raise failures[0]
    return loop.report


def _lines(report: RunReport) -> Iterator[Text]:
    yield f"ticks    {report.ticks}: {report.thought} thought, {report.idle} idle"
    yield f"senses   {report.senses}"
    yield f"acts     {report.acts}"
    yield f"patches  {report.patches}"
    for name in _COUNTED:
        if count := getattr(report, name):
            yield f"{name:<8} {count}"
    if report.aside:
        yield f"failed   {report.aside} senses: mentis sense failed lists them"
    if report.refusals:
        yield f"refused  {report.refusals}"
    yield Note(f"stopped: {report.stopped}{f': {report.told}' if report.told else ''}")
