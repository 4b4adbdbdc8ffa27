"""One route with the prompt made for it and the reader of its answer."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mentis.compose.compose import Composition
from mentis.facts.abilities import abilities, wire_of
from mentis.record.inputs import PromptInputs
from mentis.render.wires import render_for
from mentis.settle.readers import Reader, reader_for
from mentis.settle.window import WindowHoldback
from mentis.values.rendering import Rendering
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.tool import ToolDeclaration
from mentis.values.trace import Degradation, Trace


@dataclass(frozen=True, slots=True)
class RouteAttempt:
    """`inputs` is what the prompt can be made of again; `opening` takes the window that the answer
    opens with, where one is asked for.
    """

    route: Route
    composed: Composition
    rendering: Rendering
    reader: Reader
    inputs: PromptInputs | None = None
    opening: WindowHoldback | None = None

    @property
    def offered(self) -> tuple[ToolDeclaration, ...]:
        """What the model may call: declared, or told of in the text."""
        return offered_tools(self.composed)

    @property
    def answering(self) -> tuple[ToolDeclaration, ...]:
        """The tool that gives the final answer, where one does: it is called, and never done."""
        return _answering_tool(self.composed.request, self.rendering.output_tool)

    def noting(self, note: Degradation) -> RouteAttempt:
        """The same, with one more step down in its trace."""
        trace = self.composed.trace
        noted = replace(trace, degraded=(*trace.degraded, note))
        return replace(self, composed=replace(self.composed, trace=noted))

    def rendered_as(self, rendering: Rendering) -> RouteAttempt:
        return replace(self, rendering=rendering)


def attempt_on(
    route: Route,
    composed: Composition,
    *,
    inputs: PromptInputs | None = None,
    opening: WindowHoldback | None = None,
    doorway: str = "",
) -> RouteAttempt:
    """A composed prompt in the format of its route, ready to be sent and read."""
    rendering = render_request(composed.request, route)
    output, answering = composed.request.output, rendering.output_tool
    reader = reader_for(
        rendering.wire,
        rendering.name_map,
        tools=(*offered_tools(composed), *_answering_tool(composed.request, answering)),
        model=route.model,
        place=composed.request.runtime_ctx.interface_path,
        calls=abilities(route).calls,
        doorway=doorway,
        opening=opening,
        output=None if output is None else answering,
    )
    return RouteAttempt(route, composed, rendering, reader, inputs, opening)


def attempt_with(route: Route, rendering: Rendering, reader: Reader) -> RouteAttempt:
    """A payload that was made elsewhere: nothing is known of its prompt."""
    composed = Composition(PromptRequest(), Trace("", route.variant, ""))
    return RouteAttempt(route, composed, rendering, reader)


def render_request(request: PromptRequest, route: Route) -> Rendering:
    """The request in the format the route speaks."""
    return render_for(wire_of(route), request, route.for_rendering())


def _answering_tool(request: PromptRequest, name: str) -> tuple[ToolDeclaration, ...]:
    output = request.output
    return (ToolDeclaration(name, "", output.schema),) if output and name else ()


def offered_tools(composed: Composition) -> tuple[ToolDeclaration, ...]:
    return (*composed.request.tool_declarations, *composed.revealed)
