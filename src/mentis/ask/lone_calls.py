"""Calls outside of any turn, for questions about a prompt. What costs money is held to the budgets
of the home, and recorded.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import TypeAlias

from anyio import Lock, to_thread

from mentis.errors import MentisError
from mentis.home.parts import Parts
from mentis.ports.clock import read_clock
from mentis.settings.settings import Settings
from mentis.settle.readers import reader_for
from mentis.stores.files.home import Home
from mentis.values.rendering import Rendering
from mentis.values.reply import Reply

from .ask import ask
from .attempt import RouteAttempt, attempt_with
from .budgets import check_call
from .call_record import CallRecord
from .inquiry import lone_inquiry
from .models import Models


@dataclass(frozen=True, slots=True)
class LoneReply:
    """What came back for one prompt: as it came, and as it was read."""

    events: tuple[str, ...]
    reply: Reply


# Sends what was made ready for one route, and reads all that comes back.
AskAttempt: TypeAlias = Callable[[Models, RouteAttempt], Awaitable[LoneReply]]


def bare_attempt(models: Models, rendering: Rendering) -> RouteAttempt:
    """A payload of which nothing is known, and its answer read as words."""
    reader = reader_for(rendering.wire, rendering.name_map, model=models.route.model)
    return attempt_with(models.route, rendering, reader)


async def ask_free(models: Models, attempt: RouteAttempt) -> LoneReply:
    """One call that costs nothing: nothing is written."""
    inquiry = lone_inquiry(models, attempt)
    events: list[str] = []
    failure = await ask(inquiry, on_event=events.append)
    if failure is not None:
        raise failure
    return LoneReply(tuple(events), inquiry.attempt.reader.finish())


@dataclass(frozen=True, slots=True)
class PaidCalls:
    """Calls that cost: each leaves an entry of what it used, like any call outside of a turn.
    `what` asks for them, as the entry says. Of calls side by side each counts what the others may
    come to.
    """

    home: Home
    settings: Settings
    parts: Parts
    what: str

    planned: list[tuple[int, Decimal]] = field(
        default_factory=list[tuple[int, Decimal]], compare=False
    )
    alone: Lock = field(default_factory=Lock, compare=False)

    async def ask(self, models: Models, attempt: RouteAttempt) -> LoneReply:
        async with self.alone:
            most = await to_thread.run_sync(partial(self._check, models, attempt))
            self.planned.append(most)
        try:
            return await self._recorded(models, attempt)
        finally:
            self.planned.remove(most)  # from now on the record knows of it

    def _check(self, models: Models, attempt: RouteAttempt) -> tuple[int, Decimal]:
        return check_call(
            self.settings,
            self.home,
            attempt.rendering,
            route=models.route,
            now=read_clock(models.clock),
            environ=self.parts.variables,
            under_way=self.planned,
        )

    async def _recorded(self, models: Models, attempt: RouteAttempt) -> LoneReply:
        refusals, events = list[MentisError](), list[str]()
        record = CallRecord(self.home, self.settings, self.parts, self.what, refusals.append)
        inquiry = lone_inquiry(models, attempt)
        failure = await record.ask(inquiry, events.append)
        for error in (failure, *refusals):
            if error is not None:
                raise error
        return LoneReply(tuple(events), inquiry.attempt.reader.finish())
