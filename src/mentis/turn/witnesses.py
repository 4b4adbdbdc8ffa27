"""Everything the model had been shown when it asked for an act, in all calls of the turn."""

from __future__ import annotations

from collections.abc import Iterator

from mentis.act.seen import SeenRequest, Told, seen_of, texts_in
from mentis.values.trust import Trust

from .run import TurnRun


def seen_by(run: TurnRun) -> SeenRequest:
    """Of every request that was sent and answered so far. Only in the first one the words are those
    of whoever speaks: a correction repeats what the model said, so it may taint and never clear.
    """
    return seen_of(_told(run))


def _told(run: TurnRun) -> Iterator[Told]:
    # What the steps before were told stands in the request of this one.
    requests = [
        *(call.composed.request for call in run.step_calls),
        run.attempt.composed.request,
    ]
    for number, request in enumerate(requests):
        said = run.stimulus.trust
        yield from texts_in(request, said=said, quoted=Trust.UNTRUSTED, corrects=number > 0)
