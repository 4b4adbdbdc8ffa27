"""The signals that ask a process to end: Ctrl-C and SIGTERM, on every system.

On Windows nobody sends SIGTERM from outside; Ctrl-C comes, and its event loop has no handlers of
its own for either.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import AsyncIterator, Generator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    Handler: TypeAlias = Callable[[int, FrameType | None], None]

ENDING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def ending_signals() -> Generator[AsyncIterator[signal.Signals]]:
    """Each of them as it comes, instead of what it would do. In the main thread alone."""
    import anyio

    if sys.platform != "win32":
        with anyio.open_signal_receiver(*ENDING) as signals:
            yield signals
        return
    with _received() as signals:
        yield signals


@contextmanager
def _received() -> Generator[AsyncIterator[signal.Signals]]:
    """The same by plain handlers, which the event loop is woken up from."""
    import asyncio

    import anyio

    loop = asyncio.get_running_loop()
    into, out_of = anyio.create_memory_object_stream[signal.Signals](8)

    def hand_on(number: int) -> None:
        if into.statistics().current_buffer_used < 8:  # who presses it nine times meant it once
            into.send_nowait(signal.Signals(number))

    def receive(number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(hand_on, number)

    with into, out_of, handled(dict.fromkeys(ENDING, receive)):
        yield out_of


@contextmanager
def handled(handlers: Mapping[signal.Signals, Handler]) -> Generator[None]:
    """These handlers for the length of the block, and then those of before."""
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def hangup() -> tuple[signal.Signals, ...]:
    """The signal of a terminal that went away, where there is one."""
    if sys.platform == "win32":
        return ()
    return (signal.SIGHUP,)


def ignore_interrupts() -> None:
    """From now on Ctrl-C changes nothing any more: the process is about to end."""
    if sys.platform == "win32":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    else:
        # Blocked, since Python might still end by one that came before.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
