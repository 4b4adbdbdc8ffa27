"""Puts the prompt of a recorded turn together again, from what was kept. Nobody is asked anything.

There is no provider in here: a replay cannot go live.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mentis.ask.attempt import render_request
from mentis.codec.forms import to_json
from mentis.compose.compose import Composition
from mentis.compose.fences import nonce_in
from mentis.engines.counters import counter_for
from mentis.record.input_rows import first_apart
from mentis.record.inputs import PromptInputs, compose_inputs
from mentis.record.stored_inputs import installed_version, nonces_in
from mentis.render.gemini_cache import with_cached_content
from mentis.values.digest import digest
from mentis.values.part import Part, ToolResultPart
from mentis.values.rendering import Rendering
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.span import Span
from mentis.values.turn import Turn
from mentis.values.value import Value

from .recorded_turn import RecordedTurn


@dataclass(frozen=True, slots=True)
class FirstDifference(Value):
    """The first difference lies between bytes `start` and `end` of the body, in one of the `spans`
    that stand there now. Not more is known: of what was sent then, only prints are kept.
    """

    start: int
    end: int
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Replay(Value):
    """`request` and `payload` say whether each is, byte for byte, what the entry binds."""

    index: int
    session: str
    route: Route
    composed: Composition
    rendering: Rendering
    request: bool
    payload: bool
    apart: FirstDifference | None = None
    notes: tuple[str, ...] = ()
    step: int = 1

    @property
    def identical(self) -> bool:
        return self.request and self.payload


def replay_turn(kept: RecordedTurn, secret: bytes) -> Replay:
    """The first call of a step; what it was corrected with depends on the answer."""
    composed, remarked = compose_again(kept, kept.inputs, secret)
    rendering = render_again(kept, composed)
    body = rendering.body()
    same = digest(body) == kept.digests.get("payload")
    return Replay(
        kept.entry.index,
        kept.row.session,
        kept.inputs.route,
        composed,
        rendering,
        digest(to_json(composed.request)) == kept.digests.get("request"),
        same,
        None if same else _apart(kept, rendering, body, secret),
        _notes(kept, remarked=remarked, same=same),
        kept.step,
    )


def compose_again(
    kept: RecordedTurn, inputs: PromptInputs, secret: bytes
) -> tuple[Composition, bool]:
    """The prompt, and whether its marks had to be put back to those of then."""
    counter = counter_for(inputs.route.model, inputs.calibration)
    composed = compose_inputs(inputs, counter, secret)
    request = with_marks(composed.request, kept.row.nonces)
    return replace(composed, request=request), request is not composed.request


def render_again(kept: RecordedTurn, composed: Composition) -> Rendering:
    """For the route of then, on top of the same cache if it was sent so."""
    rendering = render_request(composed.request, kept.inputs.route)
    return with_cached_content(rendering, kept.row.cached) if kept.row.cached else rendering


def with_marks(request: PromptRequest, nonces: tuple[str, ...]) -> PromptRequest:
    """With these numbers in the marks around text from outside, as many as there are.

    A home with another secret makes other marks, and nothing else is different for that.
    """
    made = nonces_in(request)
    if made == nonces or len(made) != len(nonces):
        return request
    left = iter(nonces)
    now = request.runtime_ctx
    return replace(
        request,
        system_instruction=_marked(request.system_instruction, left),
        context_summary=_marked(request.context_summary, left),
        runtime_ctx=replace(now, spans=_marked(now.spans, left)),
        conversation_history=_refenced(request.conversation_history, left),
        continuation=_refenced(request.continuation, left),
    )


def _marked(spans: tuple[Span, ...], nonces: Iterator[str]) -> tuple[Span, ...]:
    marked: list[Span] = []
    old = new = ""
    for span in spans:
        if found := nonce_in(span):
            old, new = found[1], next(nonces)
        ours = old and span.source == "layout" and old in span.text
        marked.append(replace(span, text=span.text.replace(old, new)) if ours else span)
    return tuple(marked)


def _refenced(turns: tuple[Turn, ...], nonces: Iterator[str]) -> tuple[Turn, ...]:
    return tuple(replace(t, parts=tuple(_fenced(part, nonces) for part in t.parts)) for t in turns)


def _fenced(part: Part, nonces: Iterator[str]) -> Part:
    if not isinstance(part, ToolResultPart) or part.fence is None:
        return part
    return replace(part, fence=replace(part.fence, nonce=next(nonces)))


def _apart(
    kept: RecordedTurn, rendering: Rendering, body: bytes, secret: bytes
) -> FirstDifference | None:
    found = None if kept.prints is None else first_apart(kept.prints, body, secret)
    if found is None:
        return None
    start, end = found
    places = (place for place in rendering.source_map() if place.end > start and place.start < end)
    return FirstDifference(start, end, tuple(place.span for place in places))


def _notes(kept: RecordedTurn, *, remarked: bool, same: bool) -> tuple[str, ...]:
    notes: list[str] = []
    if kept.steps > 1:
        notes.append(f"the turn has {kept.steps} steps; this is step {kept.step}")
    elif kept.calls > 1:
        notes.append(f"the turn made {kept.calls} calls; this is the first")
    if remarked:
        told = "the marks are those of then" if same else "not all marks could be put back"
        notes.append(f"the home has another secret now; {told}")
    if not same and kept.mentis != installed_version():
        notes.append(f"Mentis {kept.mentis} made it, and this is {installed_version()}")
    return tuple(notes)
