"""A call that a model writes as text is done and answered in the same turn, on every route."""

from __future__ import annotations

from pathlib import Path

import pytest

from mentis.act.functions import act
from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.values.reply import Delta, TextDelta

pytestmark = pytest.mark.anyio
ROUTES = {
    "native": '[routes.default]\nurl = "http://127.0.0.1:9/v1"\nmodel = "llama3.2"\n',
    "text": (
        '[routes.default]\nurl = "http://127.0.0.1:9/v1"\nmodel = "m"\n'
        "facts = { native_tools = false }\n"
    ),
    "embedded": "",
}
CALLS = {
    "whole": '{"actions":[{"type":"terminal","payload":{"cmd":"ls"}}]}',
    "comma": '{"actions":[{"type":"terminal","payload":{"cmd":"ls"},}]}',
    "no last brace": '{"actions":[{"type":"terminal","payload":{"cmd":"ls"}}]',
    "no brackets at the end": '{"actions":[{"type":"terminal","payload":{"cmd":"ls"}',
    "named": '{"name":"terminal","arguments":{"cmd":"ls"}}',
    "tagged": '<tool_call>{"name":"terminal","arguments":{"cmd":"ls"}}</tool_call>',
}
CUT = '{"actions":[{"type":"terminal","payload":{"cmd":"ls'


@act
def terminal(cmd: str) -> str:
    """Runs a command."""
    return f"{cmd}: 42 files"


def opened(folder: Path, route: str, *answers: str) -> tuple[Agent, ScriptedProvider]:
    home, provider = create_home(folder / "home"), ScriptedProvider(answers)
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n{ROUTES[route]}")
    return Agent.open(home, tools=[terminal], parts=Parts(provider=provider)), provider


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("route", ROUTES)
async def test_a_written_call_is_done_and_its_result_answered(
    tmp_path: Path, route: str, call: str
) -> None:
    agent, provider = opened(tmp_path, route, CALLS[call], "You have 42 files.")
    shown: list[str] = []

    def show(delta: Delta) -> None:
        shown.extend([delta.text] if isinstance(delta, TextDelta) else [])

    async with agent:
        result = await agent.chat("How many files do I have?", on_delta=show)
        assert await agent.deliverable_outcomes() == ()
    assert [(one.state, one.text) for one in result.outcomes] == [("done", "ls: 42 files")]
    assert (result.text, "".join(shown).strip()) == ("You have 42 files.",) * 2
    assert "ls: 42 files" in provider.sent[1].body().decode()


@pytest.mark.parametrize("route", ROUTES)
async def test_a_call_that_cannot_be_mended_is_asked_for_again(tmp_path: Path, route: str) -> None:
    agent, provider = opened(tmp_path, route, CUT, CALLS["whole"], "You have 42 files.")
    async with agent:
        result = await agent.chat("How many files do I have?")
    assert [one.state for one in result.outcomes] == ["done"]
    assert (result.text, len(provider.sent)) == ("You have 42 files.", 3)


async def test_what_the_agent_recalls_itself_is_answered_too(tmp_path: Path) -> None:
    call = '{"name":"recall","arguments":{"query":"tide"}}'
    agent, provider = opened(tmp_path, "native", call, "Nothing comes to mind.")
    async with agent:
        result = await agent.chat("What do you remember of the tide?")
    assert [one.state for one in result.outcomes] == ["done"]
    assert (result.text, len(provider.sent)) == ("Nothing comes to mind.", 2)
