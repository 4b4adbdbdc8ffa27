"""Calls that find causes. What costs money is held to the budgets of the home, and recorded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from anyio import to_thread

from mentis.ask.ask import ask
from mentis.ask.attempt import RouteAttempt, attempt_with
from mentis.ask.budgets import check_call
from mentis.ask.call_record import CallRecord
from mentis.ask.inquiry import lone_inquiry
from mentis.ask.models import Models
from mentis.errors import MentisError
from mentis.home.parts import Parts
from mentis.settings.settings import Settings
from mentis.settle.readers import reader_for
from mentis.stores.files.home import Home
from mentis.values.rendering import Rendering

from .causes import CauseReply

WHAT = "cause"  # made the call, as its entry says


async def ask_free(models: Models, rendering: Rendering) -> CauseReply:
    """One call that costs nothing: nothing is written."""
    inquiry = lone_inquiry(models, _attempt(models, rendering))
    events: list[str] = []
    failure = await ask(inquiry, on_event=events.append)
    if failure is not None:
        raise failure
    return CauseReply(tuple(events), inquiry.attempt.reader.finish())


@dataclass(frozen=True, slots=True)
class PaidCalls:
    """Calls that cost: each leaves an entry of what it used, like any call outside of a turn."""

    home: Home
    settings: Settings
    parts: Parts

    async def ask(self, models: Models, rendering: Rendering) -> CauseReply:
        check = partial(
            check_call,
            self.settings,
            self.home,
            rendering,
            route=models.route,
            now=models.clock.now(),
            environ=self.parts.variables,
        )
        await to_thread.run_sync(check)
        refusals, events = list[MentisError](), list[str]()
        record = CallRecord(self.home, self.settings, self.parts, WHAT, refusals.append)
        inquiry = lone_inquiry(models, _attempt(models, rendering))
        failure = await record.ask(inquiry, events.append)
        for error in (failure, *refusals):
            if error is not None:
                raise error
        return CauseReply(tuple(events), inquiry.attempt.reader.finish())


def _attempt(models: Models, rendering: Rendering) -> RouteAttempt:
    reader = reader_for(rendering.wire, rendering.name_map, model=models.route.model)
    return attempt_with(models.route, rendering, reader)
