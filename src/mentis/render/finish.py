"""Parts of a payload that all formats write the same way, and the rendering they end in."""

from __future__ import annotations

from collections.abc import Sequence

from mentis.errors import RenderError
from mentis.facts.ability import Abilities
from mentis.values.json import JsonObject
from mentis.values.rendering import CachePlan, Loss, Rendering
from mentis.values.route import Route
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.trust import Trust

from .draft import PayloadDraft
from .options import plain_options, with_extra_body
from .reads import READS
from .writing import Page, Sources


def finish_rendering(
    payload: JsonObject, draft: PayloadDraft, pages: Sequence[Page], *, wire: str, plan: CachePlan
) -> Rendering:
    losses = draft.losses
    for page in pages:
        losses = losses + page.losses if page.losses else losses
    back = {wire_name: own for own, wire_name in draft.names.items()}
    reads = READS.get(wire, {})
    payload = with_extra_body(payload, draft.options.body)
    made = Rendering(
        wire,
        payload,
        Sources(pages),
        plan,
        tuple(losses),
        back,
        draft.ids,
        reads,
        output_tool=draft.output_tool,
    )
    # A character is at most six bytes in JSON: the body is only written where that may be too much.
    if draft.able.request_bytes and draft.weight * 6 > draft.able.request_bytes:
        _check_bytes(made, draft.able.request_bytes)
    return made


def _check_bytes(made: Rendering, most: int) -> None:
    if (size := len(made.body())) > most:
        raise RenderError(
            f"the request has {size:,} bytes, and the provider takes {most:,}",
            hint="attach less, or shorten the conversation",
            bytes=size,
        )


def tag_system(spans: Sequence[Span], stability: Stability = Stability.STABLE) -> list[Span]:
    """System text that has to stand in a user's message, and says so."""
    why = "system text in a user message"
    opening = Span("<system>\n", "", "", "layout", Trust.RUNTIME, stability, why)
    return [opening, *spans, Span("\n</system>", "", "", "layout", Trust.RUNTIME, stability, why)]


def sampling(route: Route, able: Abilities, losses: list[Loss], *, wire: str) -> dict[str, object]:
    """The limit under its name here, and what of the route's options the model takes."""
    chosen: dict[str, object] = {able.limit_key: route.max_tokens}
    return chosen | plain_options(route, able, losses, wire=wire)
