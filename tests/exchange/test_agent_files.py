"""Letta's agent files, old and new, and what is written is read again."""

from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mentis.errors import BadInput
from mentis.exchange.agent_files import (
    AgentBlock,
    LettaAgent,
    agent_document,
    read_agents,
    write_agent,
)
from mentis.values.imported import ImportedTurn
from mentis.values.json import JsonObject

OLD: JsonObject = {
    "agent_type": "memgpt_agent",
    "name": "sam",
    "system": "You have tools.",
    "core_memory": [{"label": "persona", "value": "I am Sam."}, {"label": "human", "value": "Lea"}],
    "llm_config": {"model": "gpt-4o-mini"},
    "tools": [{"name": "send_message"}, {"name": "run_code", "source_code": "import os"}],
    "tool_exec_environment_variables": {"TOKEN": "secret"},
    "messages": [
        {"role": "system", "content": [{"type": "text", "text": "You have tools."}]},
        {"role": "user", "content": [{"type": "text", "text": json.dumps(
            {"type": "login", "last_login": "never"})}]},
        {"role": "user", "created_at": "2026-01-01T00:00:00", "content": [
            {"type": "text", "text": json.dumps({"type": "user_message", "message": "Hello."})}]},
        {"role": "assistant", "created_at": "2026-01-01T00:00:01",
         "content": [{"type": "text", "text": "She greets me."}],
         "tool_calls": [
             {"function": {"name": "send_message", "arguments": '{"message": "Hi, Lena."}'}},
             {"function": {"name": "run_code", "arguments": "{}"}}]},
        {"role": "tool", "content": [{"type": "text", "text": "OK"}]},
    ],
}  # fmt: skip


def test_an_older_file_says_what_was_said_by_a_tool() -> None:
    document = agent_document(OLD)
    assert document is not None
    (agent,) = read_agents(document)
    assert agent.turns == (
        ImportedTurn("user", "Hello.", time="2026-01-01T00:00:00"),
        ImportedTurn("assistant", "Hi, Lena.", time="2026-01-01T00:00:01"),
    )
    assert dict(agent.unsaid) == {
        "calls of tools": 1,
        "events of kind login": 1,
        "messages of the system": 1,
        "messages of the tool": 1,
        "thoughts": 1,
    }
    assert agent.blocks == (AgentBlock("persona", "I am Sam."), AgentBlock("human", "Lea"))
    assert agent.names == {"tool": ("send_message", "run_code"), "variable": ("TOKEN",)}
    assert agent.model == "gpt-4o-mini"


def test_a_file_that_was_encoded_twice_is_the_same() -> None:
    assert agent_document(json.dumps(OLD)) == OLD
    assert agent_document("just a text") is None
    assert agent_document({"agents": [], "name": "x"}) is None
    with pytest.raises(BadInput):
        agent_document('{"agents": [')


def test_a_file_without_an_agent_or_a_name_is_refused() -> None:
    with pytest.raises(BadInput, match="no agent"):
        read_agents({"agents": [], "blocks": []})
    with pytest.raises(BadInput, match="no name"):
        read_agents({"agents": [{"block_ids": [1, None]}], "blocks": []})


words = st.text(min_size=1, max_size=30).filter(lambda text: text.strip() == text)
agents = st.builds(
    LettaAgent,
    name=words.filter(lambda text: " ".join(text.split()) == text),
    system=st.text(max_size=30),
    blocks=st.lists(st.builds(AgentBlock, words, words), max_size=3).map(tuple),
    turns=st.lists(
        st.builds(ImportedTurn, st.sampled_from(["user", "assistant"]), words.map("x{}".format)),
        max_size=4,
    ).map(tuple),
    extra=st.dictionaries(st.just("persona.toml"), st.text(max_size=20)),
)


@given(agents)
@settings(max_examples=60)
def test_what_is_written_is_read_again(agent: LettaAgent) -> None:
    document = agent_document(json.loads(write_agent(agent)))
    assert document is not None
    assert read_agents(document) == (agent,)
    assert write_agent(read_agents(document)[0]) == write_agent(agent)


leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
junk = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


@given(junk, st.sampled_from(["core_memory", "messages", "tools", "llm_config", "system"]))
@settings(max_examples=60)
def test_whatever_stands_in_a_field_it_is_read_or_refused(value: object, field: str) -> None:
    try:
        document = agent_document({**OLD, field: value})
        found = read_agents(cast("JsonObject", document))
    except BadInput:
        return
    assert found[0].name == "sam"
