"""An agent of Letta becomes a persona, and a persona an agent of Letta."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.exchange.test_agent_files import OLD

from mentis import Agent, Personas, Prompts, create_home
from mentis.errors import BadInput, PersonaError, UsageError
from mentis.homes import (
    export_agent_file,
    export_persona,
    import_file,
    plan_file_import,
    undo_import,
)
from mentis.memories.memories import Memories
from mentis.values.trust import Trust


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


def _file(tmp_path: Path, document: object, name: str = "sam.af") -> Path:
    (tmp_path / name).write_text(json.dumps(document), encoding="utf-8")
    return tmp_path / name


@pytest.mark.parametrize("document", [OLD, json.dumps(OLD)], ids=["once", "twice"])
async def test_an_agent_becomes_a_persona_with_its_files_and_its_conversation(
    home: Path, tmp_path: Path, document: object
) -> None:
    made = import_file(home, _file(tmp_path, document))
    assert (made.plan.format, made.personas, made.sessions) == (
        "agent file", ("sam",), (("sam", "letta"),),
    )  # fmt: skip
    assert [one.part for one in made.plan.losses if one.reason == "named, and not run"] == [
        "tool send_message",
        "tool run_code",
    ]
    with Personas.open(home) as personas:
        assert personas.read("sam").trust is Trust.REFERENCE
        assert personas.memory("sam").read("soul").text == "I am Sam."
        assert personas.memory("sam").view("relationship").trust is Trust.UNTRUSTED
    with Prompts.open(home) as prompts:
        assert not prompts.block("sam-system").enabled
    async with Agent.open(home, persona="sam") as agent:
        request = agent.compose("And now?", session="letta").request
    assert [one.text for one in request.conversation_history][-2:] == ["Hello.", "Hi, Lena."]
    undo_import(home)
    with Personas.open(home) as personas:
        assert personas.ids() == ("ada",)
    assert import_file(home, _file(tmp_path, document)).sessions == (("sam", "letta-2"),)


def test_further_blocks_become_memories_and_further_agents_personas(
    home: Path, tmp_path: Path
) -> None:
    blocks = [
        {"id": "b0", "label": "persona", "value": "I am one."},
        {"id": "b1", "label": "project", "value": "The cello needs strings."},
    ]
    agents = [
        {"name": "Twin", "block_ids": ["b0", "b1"], "messages": []},
        {"name": "Twin", "block_ids": ["b0"], "messages": []},
    ]
    file = _file(tmp_path, {"agents": agents, "blocks": blocks, "tools": []})
    made = import_file(home, file)
    assert (made.personas, made.sessions) == (("twin", "twin-2"), ())
    with Memories.open(home, persona="twin") as memories:
        assert [(one.text, one.worth) for one in memories.list()] == [
            ("The cello needs strings.", Trust.UNTRUSTED)
        ]
    with pytest.raises(BadInput, match="2 agents"):
        plan_file_import(home, file, persona="one")


def test_a_persona_that_leaves_as_an_agent_file_comes_back_as_it_was(
    home: Path, tmp_path: Path
) -> None:
    import_file(home, _file(tmp_path, OLD))
    with Personas.open(home) as personas:
        personas.memory("ada").write("soul", "- I am patient.")
        before = personas.read("ada")
    (tmp_path / "ada.af").write_bytes(export_agent_file(home, "ada").data)
    import_file(home, tmp_path / "ada.af", persona="grete")
    with Personas.open(home) as personas:
        after = personas.read("grete")
        assert personas.memory("grete").read("soul").text == "- I am patient."
    assert (after.traits, after.greeting, after.dialogue) == (
        before.traits, before.greeting, before.dialogue,
    )  # fmt: skip
    assert after.trust is Trust.REFERENCE
    told = json.loads(export_agent_file(home, "sam", session="letta").data)
    said = [one["content"][0]["text"] for one in told["agents"][0]["messages"]]
    assert said == ["Hello.", "Hi, Lena."]
    assert told["agents"][0]["messages"][0]["created_at"] == "2026-01-01T00:00:00"
    with pytest.raises(UsageError, match="no session"):
        export_agent_file(home, "ada", session="nowhere")


def test_a_broken_persona_in_the_file_is_refused_and_nothing_is_left(
    home: Path, tmp_path: Path
) -> None:
    for text in ("no toml [", "traits = 3", 'type = "AI"\nunknown = 1'):
        agent = {"name": "X", "metadata": {"mentis": {"persona.toml": text}}}
        with pytest.raises((BadInput, PersonaError)):
            import_file(home, _file(tmp_path, {"agents": [agent], "blocks": []}))
    with Personas.open(home) as personas:
        assert personas.ids() == ("ada",)


def test_an_agent_file_is_one_of_the_formats_that_a_persona_leaves_in(home: Path) -> None:
    made = export_persona(home, "ada", format="af")
    assert made.data == export_agent_file(home, "ada").data
    with pytest.raises(UsageError, match="only an agent file"):
        export_persona(home, "ada", session="main")
