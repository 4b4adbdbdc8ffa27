"""Which renderer writes which wire format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches

from mentis.errors import RenderError
from mentis.values.rendering import Rendering
from mentis.values.request import PromptRequest
from mentis.values.route import Route

from . import anthropic, gemini, live, openai_chat, openai_responses, text

RENDERERS: Mapping[str, Callable[[PromptRequest, Route], Rendering]] = {
    module.WIRE: module.render
    for module in (openai_chat, openai_responses, anthropic, gemini, text, live)
}


def render_for(wire: str, request: PromptRequest, route: Route) -> Rendering:
    renderer = RENDERERS.get(wire)
    if renderer is None:
        close = get_close_matches(wire, RENDERERS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(RENDERERS)}"
        raise RenderError(f"there is no wire format {wire!r}", hint=hint, wire=wire)
    return renderer(request, route)
