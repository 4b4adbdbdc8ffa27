"""Watches the file channel of one agent. Events only make it faster; looking makes it right."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress

import anyio
from anyio import to_thread

from mentis.disk.atomic import write_atomic
from mentis.errors import MentisError, WorldError
from mentis.system.signals import ending_signals

from .consumer import Consumer, Round
from .folder import SUFFIX, StatusFolder

EVERY_SECONDS = 2.0
OnRound = Callable[[Round], None]


async def watch(
    consumer: Consumer,
    *,
    stop: anyio.Event,
    every: float = EVERY_SECONDS,
    on_round: OnRound | None = None,
) -> None:
    """Consume what is there and what comes, until `stop`. LeaseHeld when somebody else does."""
    await to_thread.run_sync(_begin, consumer)
    reason: str | None = None
    try:
        async with aclosing(_looks(consumer.folder, stop, every)) as looks:
            async for _ in looks:
                done = await to_thread.run_sync(consumer.consume)
                reason = _note(consumer, done, before=reason)
                if on_round is not None:
                    on_round(done)
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(_end, consumer)


async def watch_until_signal(
    consumer: Consumer, *, every: float = EVERY_SECONDS, on_round: OnRound | None = None
) -> None:
    """The same, ended by SIGTERM or SIGINT: the draft in hand is finished first."""
    stop = anyio.Event()
    failure: MentisError | None = None

    async def listen() -> None:
        with ending_signals() as signals:
            ready.set()
            async for _ in signals:
                stop.set()

    ready = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        await ready.wait()
        try:
            await watch(consumer, stop=stop, every=every, on_round=on_round)
        except MentisError as error:
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _looks(folder: StatusFolder, stop: anyio.Event, every: float) -> AsyncGenerator[None]:
    """At once, at every event, and at the latest `every` seconds after the last time."""
    yield
    try:
        async for _ in _events(folder, stop, every):
            yield
    except (OSError, RuntimeError, ModuleNotFoundError):
        # No events to be had here (too many watchers, an odd file system, or `watchfiles`, which is
        # an extra, is not installed): then without.
        while not stop.is_set():
            with anyio.move_on_after(every):
                await stop.wait()
            yield


async def _events(folder: StatusFolder, stop: anyio.Event, every: float) -> AsyncGenerator[None]:
    # Its types also name an event of trio, which is not installed.
    from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType]  # see above

    milliseconds = max(1, int(every * 1000))
    changes = awatch(
        *{slot.parent for slot in folder.slots},
        folder.spool,
        watch_filter=lambda _, path: path.endswith(SUFFIX),
        stop_event=stop,
        rust_timeout=milliseconds,
        yield_on_timeout=True,
        recursive=False,
        debounce=50,
        step=10,
    )
    async for _ in changes:
        yield


def _begin(consumer: Consumer) -> None:
    consumer.folder.make()
    lease = consumer.tenure.begin()
    with suppress(OSError):  # what stands there is no file, and health says so
        consumer.folder.fault.unlink(missing_ok=True)  # of the one before
    consumer.log.write("started", owner=lease.owner, fence=lease.fence)


def _end(consumer: Consumer) -> None:
    try:
        consumer.tenure.end()
    except WorldError as error:
        # It runs out by itself.
        consumer.log.write("lease_not_released", error=error.message)
    consumer.log.write("stopped")


def _note(consumer: Consumer, done: Round, *, before: str | None) -> str | None:
    """Say when the store goes and when it is back, not every time it is asked."""
    reason = None if done.trouble is None else done.trouble.message
    if reason == before:
        return reason
    try:
        if reason is not None:
            event = "store_down" if done.fault is not None else "stuck"
            consumer.log.write(event, result="FAIL", error=reason)
            write_atomic(consumer.folder.fault, reason.encode(errors="backslashreplace"))
        else:
            consumer.log.write("store_back")
            consumer.folder.fault.unlink(missing_ok=True)
    except (MentisError, OSError) as error:
        # On a full disk not even this can be written; whoever asks for health finds that out.
        consumer.log.write("fault_not_told", error=str(error))
    return reason
