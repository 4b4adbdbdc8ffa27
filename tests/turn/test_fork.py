"""A recorded turn with one change: shown up to the first call, and gone on from only on request."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.errors import BadInput, LibraryError, MentisError, RouteError, UsageError
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ports.act_handler import RecordingHandler
from mentis.values.tool import ToolDeclaration

pytestmark = pytest.mark.anyio
ROUTE = """
[routes.default]
backend = "scripted"
model = "none"
context_tokens = 60000
[routes.default.facts]
native_tools = false
[limits]
prompt_file_bytes = 100000
"""
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
SEND = ToolDeclaration("send", "Sends it.", TEXT, external_effects=True)
CALL = f"<tool_call>{json.dumps({'name': 'send', 'arguments': {'text': 'hi'}})}</tool_call>"
PIRATE = "Speak like a pirate."


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = create_home(tmp_path / "home")
    with (path / "mentis.toml").open("a") as file:
        file.write(ROUTE)
    return path


@pytest.fixture
def provider() -> ScriptedProvider:
    return ScriptedProvider(["One.", "Two.", f"Arr. {CALL}"])


@pytest.fixture
def send() -> RecordingHandler:
    return RecordingHandler(SEND)


@pytest.fixture
async def agent(
    home: Path, provider: ScriptedProvider, send: RecordingHandler
) -> AsyncGenerator[Agent, None]:
    parts = Parts(provider=provider, handlers=(send,), secret=b"s" * 32)
    async with Agent.open(home, parts=parts) as agent:
        await agent.chat("Hello")
        await agent.chat("How are you?")
        yield agent


async def test_only_the_block_differs_and_nothing_is_sent_or_written(
    agent: Agent, provider: ScriptedProvider
) -> None:
    fork = agent.fork(1, {"style": PIRATE})
    (difference,) = fork.shown.differences
    assert difference.where == "system, style"
    assert difference.diff.startswith("--- system, style as it was\n+++ system, style forked\n")
    assert f"\n+{PIRATE}\n" in difference.diff
    assert fork.shown.before.identical
    assert fork.shown.now.total.tokens < fork.shown.was.total.tokens
    assert fork.shown.now.cost.units < fork.shown.was.cost.units
    broken = fork.shown.forecast.broken
    assert broken is not None
    assert broken.span is not None
    assert broken.span.block == "style"
    assert (len(agent.entries()), len(provider.sent)) == (2, 2)
    style = fork.kept.inputs.library.block("style")
    assert style is not None
    same = agent.fork(1, {"style": style.variants["default"].content})
    assert same.shown.differences == ()
    assert same.shown.rendering.body() == same.shown.before.rendering.body()


REFUSED: list[tuple[dict[str, str], type[MentisError], str, str]] = [
    ({}, UsageError, "needs a change", "name a block"),
    ({"stile": "x"}, LibraryError, "had no block 'stile'", "did you mean 'style'"),
    ({"constitution": "x"}, LibraryError, "part of the constitution", "force"),
    ({"style": "half \ud800 of it"}, BadInput, "half a surrogate pair", "UTF-8"),
    ({"style": "x" * 100_001}, BadInput, "over 100000 bytes", "limits.prompt_file_bytes"),
]


async def test_a_change_that_cannot_be_made_is_refused_in_one_line(agent: Agent) -> None:
    for blocks, error, words, hint in REFUSED:
        with pytest.raises(error, match=words) as refused:
            agent.fork(1, blocks)
        assert hint in refused.value.hint
        assert "\n" not in refused.value.message


async def test_a_block_that_is_not_told_changes_nothing_and_says_why(agent: Agent) -> None:
    untold = [
        one.block
        for one in agent.replay(1).composed.trace.blocks
        if not one.included and not one.elsewhere
    ]
    library = agent.fork(1, {"style": "x"}).kept.inputs.library
    name = next(
        name
        for name in untold
        if (block := library.block(name)) and block.type == "text" and "default" in block.variants
    )
    fork = agent.fork(1, {name: "Anything."}, force=True)
    assert fork.shown.differences == ()
    assert fork.shown.notes[0].startswith(f"block '{name}' is not told in this turn: ")


async def test_it_goes_on_with_a_script_into_a_session_of_its_own_and_does_nothing(
    agent: Agent, provider: ScriptedProvider, send: RecordingHandler
) -> None:
    fork = agent.fork(1, {"style": PIRATE})
    for live, script in ((False, None), (True, ["x"])):
        with pytest.raises(UsageError, match="live or with a script"):
            await agent.run_fork(fork, live=live, script=script)
    result = await agent.run_fork(fork, script=[f"Arr. {CALL}"])
    again = await agent.run_fork(fork, script=["Arr again."])
    assert (result.session, again.session) == ("fork-1", "fork-1-2")
    assert [action.type for action in result.reply.actions] == ["send"]
    assert (result.outcomes, send.handled, len(provider.sent)) == ((), [], 2)
    origin = agent.entries()[1]
    assert result.entry.body["fork"] == {
        "of": 1,
        "hash": origin.hash,
        "blocks": dict(fork.shown.blocks),
    }
    assert agent.replay(result.entry.index).identical
    assert [turn.text.strip() for turn in agent.history(session="fork-1")] == [
        "How are you?",
        "Arr.",
    ]
    assert len(agent.history()) == 4
    assert agent.verify().intact


async def test_live_sends_the_forked_bytes_where_the_settings_lead(
    agent: Agent, home: Path, provider: ScriptedProvider
) -> None:
    fork = agent.fork(1, {"style": PIRATE})
    result = await agent.run_fork(fork, live=True)
    assert provider.sent[-1].body() == fork.shown.rendering.body()
    assert (result.outcomes, result.entry.body["route"]) == (
        (),
        {"name": "default", "backend": "scripted", "model": "none"},
    )
    toml = (home / "mentis.toml").read_text()
    (home / "mentis.toml").write_text(toml.replace('model = "none"', 'model = "other"'))
    async with Agent.open(home, parts=Parts(provider=provider, secret=b"s" * 32)) as other:
        with pytest.raises(RouteError, match="led to scripted 'none' then"):
            await other.run_fork(other.fork(1, {"style": PIRATE}), live=True)
    assert len(provider.sent) == 3
