"""Outcomes of acts outside of a turn, as the next one tells them: facts nobody vouches for."""

from __future__ import annotations

from collections.abc import Iterable

from mentis.act.senses import sense_of
from mentis.values.action import Outcome
from mentis.values.request import PromptRequest
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.trust import Trust
from mentis.values.written import dump

_MOST = 8  # in one turn; the others wait for the next one
_MOST_PAYLOAD = 600
_SOURCE = "act "


def news_spans(news: Iterable[Outcome]) -> tuple[Span, ...]:
    """One line of JSON each: a model reads it in any language."""
    return tuple(_span(outcome) for outcome in tuple(news)[:_MOST])


def told_in(request: PromptRequest) -> tuple[str, ...]:
    """The keys of those that the model was really shown."""
    sources = (span.source for span in request.runtime_ctx.spans)
    return tuple(
        dict.fromkeys(one.removeprefix(_SOURCE) for one in sources if one.startswith(_SOURCE))
    )


def _span(outcome: Outcome) -> Span:
    sense = sense_of(outcome)
    told: dict[str, object] = {"sense": sense.kind, **sense.payload}
    asked = dict(outcome.action.payload)
    if len(dump(asked)) <= _MOST_PAYLOAD:
        told["payload"] = asked
    return Span(
        dump(told).decode(),
        source=f"{_SOURCE}{outcome.key}",
        trust=Trust.UNTRUSTED,  # whatever the mark says, which is bound by nothing
        stability=Stability.TURN,
        reason="it came after the turn that asked for it",
    )
