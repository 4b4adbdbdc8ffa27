"""One session from its beginning to its end: streams, signals, and the monitor if it is wanted."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio import to_thread
from anyio.abc import TaskStatus

from mentis.errors import LeaseHeld, MentisError
from mentis.ledger.channel.consumer import Consumer
from mentis.ledger.channel.watch import watch
from mentis.status.statuses import open_statuses
from mentis.system.signals import ending_signals

from .answers import Answers
from .block_prompts import BlockPrompts
from .conversations import open_guard
from .server import make_server
from .wire import Ends, Wire, claimed_ends

_LOG = logging.getLogger("mentis.service")  # without `--log-format json`, lines on stderr


def run_session(home: Path, persona: str | None, *, version: str, monitor: bool) -> None:
    """Serve the client on standard input and output until it leaves or a signal comes."""
    with open_statuses(home, persona) as statuses, claimed_ends() as ends:
        prompts = BlockPrompts(home, persona)
        answers = Answers(statuses, guard=open_guard(home), prompts=prompts)
        anyio.run(_serve, answers, ends, version, monitor)


async def _serve(answers: Answers, ends: Ends, version: str, monitor: bool) -> None:
    async with anyio.create_task_group() as tasks:
        await tasks.start(_end_on_signal, tasks.cancel_scope)
        async with _monitoring(answers, wanted=monitor):
            await Wire(ends).serve(make_server(answers, version))
        tasks.cancel_scope.cancel()


async def _end_on_signal(
    everything: anyio.CancelScope, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    """What is being written is finished, since it is done in a thread; then it is over."""
    with ending_signals() as signals:
        task_status.started()
        async for _ in signals:
            everything.cancel()


@asynccontextmanager
async def _monitoring(answers: Answers, *, wanted: bool) -> AsyncGenerator[None]:
    """Consume pending drafts meanwhile, if that is wanted and nobody else does."""
    stop = anyio.Event()
    async with anyio.create_task_group() as tasks:
        if wanted:
            await tasks.start(_monitor, answers, stop)
        yield
        stop.set()


async def _monitor(
    answers: Answers,
    stop: anyio.Event,
    *,
    task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Who holds the lease is left in peace; a store that is down is asked again."""
    every = answers.statuses.scan_seconds
    consumer = await to_thread.run_sync(_begin, answers)
    task_status.started()
    while not stop.is_set() and not answers.monitor.refused:
        if consumer is None:
            with anyio.move_on_after(every):
                await stop.wait()
        else:
            try:
                await watch(consumer, stop=stop, every=every)
            except MentisError as end:
                _say_no(answers, end)
        if not stop.is_set() and not answers.monitor.refused:
            consumer = await to_thread.run_sync(_begin, answers)


def _begin(answers: Answers) -> Consumer | None:
    try:
        consumer = answers.statuses.watcher("monitor")
        consumer.tenure.begin()
    except MentisError as refusal:
        _say_no(answers, refusal)
        return None
    answers.monitor.running, answers.monitor.reason = True, "it holds the lease"
    return consumer


def _say_no(answers: Answers, refusal: MentisError) -> None:
    """Only the monitor is off: to save directly needs no lease."""
    monitor = answers.monitor
    if monitor.reason != refusal.message:
        told = {"code": refusal.code, "message": refusal.message, "hint": refusal.hint or ""}
        _LOG.warning(
            "mentis: no monitor: %s\nhint: %s",
            refusal.message,
            refusal.hint,
            extra={"event": "monitor_refused", "facts": told},
        )
    monitor.running, monitor.reason = False, refusal.message
    monitor.refused = isinstance(refusal, LeaseHeld)
