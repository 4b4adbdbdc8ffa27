"""A lock that tasks of several event loops share."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor

import anyio
import pytest
from anyio import to_thread

from mentis.engines.shared_lock import SharedLock

_SECONDS = 30.0  # far more than it takes; without a bound a failure would never end


def _in_its_own_loop(pool: ThreadPoolExecutor, work: Callable[[], Awaitable[None]]) -> Future[None]:
    async def bounded() -> None:
        with anyio.fail_after(_SECONDS):
            await work()

    return pool.submit(anyio.run, bounded)


def test_whoever_waits_in_a_loop_that_sleeps_is_woken_by_one_in_another() -> None:
    lock, held, let_go = SharedLock(), threading.Event(), threading.Event()
    order: list[str] = []

    async def first() -> None:
        async with lock:
            held.set()
            await to_thread.run_sync(let_go.wait, _SECONDS)
            order.append("first")

    async def second() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait_for_it)
            await anyio.lowlevel.checkpoint()  # it stands in the queue now
            let_go.set()

    async def wait_for_it() -> None:
        async with lock:
            order.append("second")

    with ThreadPoolExecutor(2) as pool:
        one = _in_its_own_loop(pool, first)
        assert held.wait(_SECONDS)
        other = _in_its_own_loop(pool, second)
        one.result()
        other.result()
    assert order == ["first", "second"]


def test_in_many_loops_at_once_only_one_task_is_inside() -> None:
    lock, inside, most = SharedLock(), 0, 0

    async def work() -> None:
        nonlocal inside, most
        for _ in range(50):
            async with lock:
                inside += 1
                most = max(most, inside)
                await anyio.lowlevel.checkpoint()
                inside -= 1

    async def side_by_side() -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(work)

    with ThreadPoolExecutor(4) as pool:
        for one in [_in_its_own_loop(pool, side_by_side) for _ in range(4)]:
            one.result()
    assert (inside, most) == (0, 1)


@pytest.mark.anyio
@pytest.mark.parametrize("when", ["while it waits", "when it is its turn"])
async def test_whoever_no_longer_wants_it_holds_nobody_up(when: str) -> None:
    lock, reached = SharedLock(), anyio.Event()

    async def wait_for_it() -> None:
        async with lock:
            reached.set()

    with anyio.fail_after(_SECONDS):
        async with anyio.create_task_group() as others:
            async with anyio.create_task_group() as tasks:
                async with lock:
                    tasks.start_soon(wait_for_it)
                    await anyio.wait_all_tasks_blocked()
                    others.start_soon(wait_for_it)
                    await anyio.wait_all_tasks_blocked()
                    if when == "while it waits":
                        tasks.cancel_scope.cancel()
                if when == "when it is its turn":
                    tasks.cancel_scope.cancel()
            await reached.wait()
        async with lock:
            pass
