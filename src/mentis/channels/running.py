"""Several channels side by side, until a signal or a failure ends them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from anyio import create_task_group
from anyio.abc import TaskStatus

from mentis.errors import MentisError, UsageError
from mentis.system.signals import ending_signals

from .runner import ChannelRunner


async def run_all(runners: Sequence[ChannelRunner]) -> None:
    """Until they are cancelled; what ends one of them ends all."""
    failures: list[MentisError] = []

    async def until_failed(runner: ChannelRunner) -> None:
        try:
            await runner.run()
        except MentisError as error:  # as it is, not as one of a group
            failures.append(error)
            tasks.cancel_scope.cancel()

    async with create_task_group() as tasks:
        for runner in runners:
            tasks.start_soon(until_failed, runner)
    if failures:
        raise failures[0]


async def run_until_told(runners: Sequence[ChannelRunner], say: Callable[[str], None]) -> None:
    """Until SIGTERM or Ctrl-C."""
    if not runners:
        raise UsageError(
            "this persona has no channel", hint="mentis channels add telegram|discord|matrix NAME"
        )
    failures: list[MentisError] = []

    async def obey(*, task_status: TaskStatus[None]) -> None:
        with ending_signals() as signals:
            task_status.started()
            async for number in signals:
                say(f"{number.name}: what has no answer yet is answered by the next run")
                tasks.cancel_scope.cancel()

    async with create_task_group() as tasks:
        await tasks.start(obey)
        try:
            await run_all(runners)
        except MentisError as error:
            failures.append(error)
        tasks.cancel_scope.cancel()
    if failures:
        raise failures[0]
