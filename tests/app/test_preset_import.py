"""Presets and personas of the user become blocks; their numbers and scripts are only shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mentis import Agent, Prompts, create_home
from mentis.homes import import_file, plan_file_import, undo_import
from mentis.values.span import join_spans
from mentis.values.trust import Trust

PRESET = {
    "temperature": 0.7,
    "top_p": 1,
    "top_a": 0.2,
    "openai_max_tokens": 300,
    "prompts": [
        {"identifier": "main", "name": "Main", "content": "Write as {{char}} for {{user}}."},
        {"identifier": "charDescription", "marker": True},
        {"identifier": "nsfw", "name": "Aux", "content": "Be vivid.", "role": "assistant"},
        {"identifier": "chatHistory", "marker": True},
        {"identifier": "jailbreak", "name": "Last", "content": "Stay in the {{scene}}."},
        {"identifier": "off", "name": "Off", "content": "Never said."},
    ],
    "prompt_order": [
        {
            "character_id": 100001,
            "order": [
                {"identifier": name, "enabled": name != "off"}
                for name in ("main", "charDescription", "nsfw", "chatHistory", "jailbreak", "off")
            ],
        }
    ],
    "assistant_prefill": "Sure,",
    "reverse_proxy": "https://example.org",
    "extensions": {
        "regex_scripts": [{"scriptName": "B", "findRegex": "/b/", "replaceString": "c"}]
    },
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


def _file(tmp_path: Path, name: str, document: object) -> Path:
    file = tmp_path / name
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


async def test_prompts_of_a_preset_are_told_in_their_order_around_the_persona(
    home: Path, tmp_path: Path
) -> None:
    made = import_file(home, _file(tmp_path, "Mine.json", PRESET))
    assert made.blocks == ("mine-main", "mine-aux", "mine-last", "mine-off", "mine-prefill")
    async with Agent.open(home) as agent:
        request = agent.compose("Hello.").request
    told = join_spans(request.system_instruction)
    places = [told.index(text) for text in ("Write as Ada for", "About you", "Be vivid.")]
    assert places == sorted(places)
    assert "Stay in the ." in join_spans(request.runtime_ctx.spans) + told
    assert "Never said." not in told
    assert request.prefill == ()
    (aux,) = (one for one in request.system_instruction if one.block == "mine-aux")
    assert aux.trust is Trust.REFERENCE
    undo_import(home)
    with Prompts.open(home) as prompts:
        assert not [one for one in prompts.loaded_library.library.blocks if "mine" in one.id]


def test_numbers_are_shown_and_switch_nothing(home: Path, tmp_path: Path) -> None:
    before = (home / "mentis.toml").read_bytes()
    plan = plan_file_import(home, _file(tmp_path, "Mine.json", PRESET))
    assert plan.shown == (
        "temperature 0.7: mentis settings set routes.NAME.temperature 0.7",
        "openai_max_tokens 300: mentis settings set routes.NAME.max_tokens 300",
        "B: /b/ -> c",
    )
    assert [one.part for one in plan.losses] == [
        "prompt 'Aux'",
        "{{scene}} in prompt 'Last'",
        "top_a",
        "regex script 'B'",
        "reverse_proxy",
    ]
    import_file(home, tmp_path / "Mine.json", persona="ada")
    assert (home / "mentis.toml").read_bytes() == before
    with Prompts.open(home) as prompts:
        assert prompts.block("mine-main").personas == ("ada",)


def test_a_persona_of_the_user_is_told_where_it_is_the_default(home: Path, tmp_path: Path) -> None:
    backup = {
        "personas": {"a.png": "Lena", "b.png": "Max", "c.png": "Nobody"},
        "persona_descriptions": {
            "a.png": {"description": "{{user}} gardens.", "position": 0},
            "b.png": {"description": "Max sails.", "position": 4, "depth": 3},
        },
        "default_persona": "a.png",
    }
    made = import_file(home, _file(tmp_path, "personas_20250101.json", backup))
    assert made.plan.format == "user personas"
    assert made.plan.shown == ("your name there: Lena; write it into profile.toml",)
    assert [one.part for one in made.plan.losses] == ["place of persona 'Max'", "persona 'Nobody'"]
    assert "3 messages before the end" in made.plan.losses[0].reason
    with Prompts.open(home) as prompts:
        blocks = {one.id: one for one in prompts.loaded_library.library.blocks if "you-" in one.id}
    assert {name: block.enabled for name, block in blocks.items()} == {
        "you-lena": True,
        "you-max": False,
    }
    assert blocks["you-lena"].variants["default"].content == "{{user_name}} gardens."
    assert blocks["you-lena"].trust is Trust.REFERENCE


def test_regex_scripts_alone_are_kept_and_shown_and_become_nothing(
    home: Path, tmp_path: Path
) -> None:
    script = {"scriptName": "Bold", "findRegex": "/x/g", "replaceString": "**x**"}
    made = import_file(home, _file(tmp_path, "regex.json", [script]))
    assert (made.blocks, made.plan.shown) == ((), ("Bold: /x/g -> **x**",))
    assert (home / "imports" / "0001" / "original.json").exists()
