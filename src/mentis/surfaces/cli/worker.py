"""`mentis worker`, `mentis workers` and `mentis send`."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from mentis.errors import UsageError
from mentis.values.words import quantity

from .options import Number, call_parts, home_option, home_path, persona_option
from .output import say
from .report import Note, Report, Text, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.app.worker import Worker, WorkerReport


@click.command(epilog="For example: mentis --home my-view worker --at-once 8")
@click.option("--at-once", type=Number(1), default=4, metavar="N", help="So many agents at a time.")
@home_option
@prints_report
def worker(*, at_once: int) -> Report:
    """Serve the agents of a home in a database, beside other workers.

    Start as many as you like, on as many machines as show the home (`mentis init --database`). What
    is sent to an agent (`mentis send`) is answered by one of them, in the order in which it came,
    and once: whoever is killed in the middle is followed by another, within half a minute where it
    was another machine. Ctrl-C, SIGTERM or `mentis workers drain` ends it after what it began.
    """
    import anyio

    from mentis.app.worker import Worker

    serving = Worker(home_path(), parts=call_parts(), at_once=at_once)
    report = anyio.run(_until_told, serving)
    told = f"{report.name}: {quantity(report.answered, 'message')} answered"
    return Report(report, [told, Note(f"{report.failed} failed, {report.dead} given up")])


async def _until_told(serving: Worker) -> WorkerReport:
    import anyio

    async def listen() -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for _ in signals:
                serving.stop()

    reports: list[WorkerReport] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        reports.append(await serving.run(on_ready=lambda: say(f"worker {serving.name} serves")))
        tasks.cancel_scope.cancel()
    return reports[0]


@click.group()
def workers() -> None:
    """List the workers of a home, and have some end."""


@workers.command("list", epilog="For example: mentis workers list --json")
@home_option
@prints_report
def list_() -> Report:
    """Show which processes serve this home, and what waits."""
    from mentis.app.worker import Mailbox

    with Mailbox.open(home_path(), call_parts()) as mailbox:
        rows, (messages, agents) = mailbox.list_workers(), mailbox.inbox.counts()
    data = {"workers": list(rows), "waiting": messages, "agents": agents}
    cells = [
        (row.name, row.since, f"{row.seen} s", str(row.serving), "yes" if row.draining else "")
        for row in rows
    ]

    def text() -> Iterator[Text]:
        yield TextTable(("name", "since", "seen", "serving", "draining"), cells)
        yield Note(f"{quantity(messages, 'message')} of {quantity(agents, 'agent')} wait")

    return Report(data, text())


@workers.command(epilog="For example: mentis workers drain --all")
@click.argument("names", nargs=-1)
@click.option("--all", "every", is_flag=True, help="All that serve this home.")
@home_option
@prints_report
def drain(names: tuple[str, ...], *, every: bool) -> Report:
    """Have workers serve what they began, and end."""
    from mentis.app.worker import Mailbox

    if bool(names) == every:
        raise UsageError("say which", hint="name workers of `mentis workers list`, or --all")
    with Mailbox.open(home_path(), call_parts()) as mailbox:
        chosen = [one.name for one in mailbox.list_workers()] if every else list(names)
        for name in chosen:
            mailbox.drain(name)
    return Report({"draining": chosen}, chosen or [Note("there is none")])


@click.command(epilog="For example: mentis send 'Good morning.' --wait 60")
@click.argument("text")
@click.option("--session", default="main", metavar="NAME", help="The conversation it belongs to.")
@click.option("--id", "delivery", default="", metavar="ID", help="Sent again, it is one message.")
@click.option("--wait", type=click.FloatRange(0), metavar="S", help="Wait for the answer so long.")
@persona_option
@home_option
@prints_report
def send(
    text: str, *, session: str, delivery: str, wait: float | None, persona: str | None
) -> Report:
    """Put a message of the owner into the inbox of an agent that workers serve.

    Exit code 1 when there is no answer in time, or none can be had.
    """
    from mentis.app.worker import Mailbox

    with Mailbox.open(home_path(), call_parts()) as mailbox:
        sent = mailbox.send(text, persona=persona, session=session, delivery=delivery)
        if wait is None:
            return Report({"id": sent}, sent)
        answer = mailbox.wait(sent, persona=persona, seconds=wait)
    if answer is None:
        return Report({"id": sent, "answer": None}, Note(f"{sent} waits still"), code=1)
    told: Text = answer.text if answer.state == "answered" else Note(answer.reason)
    return Report({"id": sent, "answer": answer}, told, code=answer.state != "answered")
