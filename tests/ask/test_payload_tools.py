"""The tools of a payload are known again, whichever format it is in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mentis.ask.one_call import RequestFiles, call_route, read_outgoing
from mentis.ask.payload_tools import offered_in
from mentis.call.scripted import ScriptedProvider
from mentis.facts.abilities import wire_of
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.render.wires import render_for
from mentis.settings.sections import LimitSettings
from mentis.values.request import PromptRequest
from mentis.values.route import Backend, Route
from mentis.values.tool import ToolDeclaration

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = (
    ToolDeclaration("keep a note", "Keeps it.", SCHEMA),
    ToolDeclaration("look", "Looks up.", SCHEMA),
)


@pytest.mark.parametrize("backend", ["openai", "openai-responses", "anthropic", "gemini"])
def test_a_rendering_tells_which_tools_it_offers(backend: Backend) -> None:
    route = Route("r", backend, "m")
    request = PromptRequest(current_text="Hello", tool_declarations=TOOLS)
    rendering = render_for(wire_of(route), request, route)
    payload = json.loads(rendering.body())
    offered = offered_in(payload, rendering.name_map)
    assert offered is not None
    assert [tool.name for tool in offered] == ["keep a note", "look"]
    assert all("text" in str(tool.parameters) for tool in offered)
    printed = {"wire": rendering.wire, "payload": payload, "name_map": rendering.name_map}
    assert read_outgoing(json.dumps(printed), route, RequestFiles(LimitSettings())).tools == offered


@pytest.mark.parametrize("tools", [None, [], 3, [{"googleSearch": {}}], {"name": 7}])
def test_where_no_tool_is_declared_nothing_is_known(tools: object) -> None:
    assert offered_in({"tools": tools}) is None


@pytest.mark.anyio
async def test_a_call_with_a_request_knows_its_tools(tmp_path: Path) -> None:
    home = create_home(tmp_path / "home")
    with (home / "mentis.toml").open("a") as file:
        file.write('\n[routes.default]\nurl = "http://127.0.0.1:9/v1"\nmodel = "m"\n')
        file.write("facts = { native_tools = false }\n")
    request = PromptRequest(current_text="Hello", tool_declarations=TOOLS)
    leaked = '{"actions": [{"type": "look", "payload": {"text": "up"}}]}'
    parts = Parts(provider=ScriptedProvider([leaked]))
    reply = await call_route(home, request, parts=parts, on_event=lambda _event: None)
    assert [action.type for action in reply.actions] == ["look"]
