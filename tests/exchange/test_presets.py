"""Presets, personas of the user and scripts of SillyTavern are read in the order they are told."""

from __future__ import annotations

from contextlib import suppress
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.errors import BadInput
from mentis.exchange.presets import (
    is_preset,
    is_scripts,
    is_user_personas,
    read_preset,
    read_scripts,
    read_user_personas,
)
from mentis.values.json import JsonObject


def _prompt(identifier: str, **fields: object) -> JsonObject:
    return {"identifier": identifier, "content": identifier.upper(), **fields}


def _order(character_id: int, *names: str, off: str = "") -> JsonObject:
    rows = [{"identifier": name, "enabled": name != off} for name in names]
    return {"character_id": character_id, "order": rows}


PRESET: JsonObject = {
    "temperature": 0.9,
    "top_k": True,
    "seed": -1,
    "prompts": [
        _prompt("main", name="Main"),
        _prompt("nsfw", role="user"),
        _prompt("charDescription", marker=True),
        _prompt("chatHistory", marker=True),
        _prompt("jailbreak"),
        _prompt("deep", injection_position=1, injection_depth=2),
        _prompt("unused"),
    ],
    "prompt_order": [
        _order(100000, "jailbreak"),
        _order(
            100001,
            "main",
            "deep",
            "charDescription",
            "nsfw",
            "chatHistory",
            "jailbreak",
            off="nsfw",
        ),
    ],
    "impersonation_prompt": "Speak as {{user}}.",
    "proxy_password": "secret",
}


def test_prompts_come_in_the_order_of_the_prompt_manager() -> None:
    preset = read_preset(PRESET)
    assert [(one.identifier, one.place, one.enabled, one.listed) for one in preset.prompts] == [
        ("main", "before", True, True),
        ("deep", "end", True, True),
        ("nsfw", "after", False, True),
        ("jailbreak", "end", True, True),
        ("unused", "before", False, False),
    ]
    assert [one.depth for one in preset.prompts] == [-1, 2, -1, -1, -1]
    assert preset.sampling == {"temperature": 0.9, "seed": -1}
    assert (preset.program_prompts, preset.addresses) == (
        ("impersonation_prompt",),
        ("proxy_password",),
    )


def test_a_preset_without_an_order_is_told_as_it_stands() -> None:
    preset = read_preset({"prompts": [_prompt("b"), _prompt("a", enabled=False)]})
    assert [(one.identifier, one.enabled) for one in preset.prompts] == [("b", True), ("a", False)]


def test_personas_of_the_user_are_read_from_a_backup_and_from_settings() -> None:
    held: JsonObject = {
        "personas": {"a.png": "Lena", "b.png": "", "c.png": "Max"},
        "persona_descriptions": {
            "a.png": {"description": "A gardener.", "position": 0},
            "b.png": "As a text.",
            "c.png": {"description": "Nobody.", "position": 9},
        },
        "default_persona": "a.png",
    }
    for document in (held, {"username": "x", "power_user": held}):
        assert is_user_personas(document)
        found = read_user_personas(document)
        assert [(one.name, one.description, one.default, one.told) for one in found] == [
            ("Lena", "A gardener.", True, True),
            ("b", "As a text.", False, True),
            ("Max", "Nobody.", False, False),
        ]


def test_scripts_are_read_alone_and_in_a_list() -> None:
    script: JsonObject = {"scriptName": "Bold", "findRegex": "/x/g", "replaceString": "y"}
    for document in (script, [script]):
        assert is_scripts(document)
        assert read_scripts(document)[0].pattern == "/x/g"


def test_other_documents_are_none_of_these() -> None:
    others: list[object] = [None, [], {}, [1], {"prompts": 1}, {"prompts": []}, {"personas": {}}]
    for document in others:
        assert not any(kind(document) for kind in (is_preset, is_user_personas, is_scripts))


@pytest.mark.parametrize(
    "document",
    [
        {"prompts": [1], "temperature": 1},
        {"prompts": [_prompt("a")] * 2001, "temperature": 1},
        {"prompts": [], "prompt_order": [1]},
        {"prompts": [], "prompt_order": [{"order": [1]}]},
    ],
)
def test_what_no_preset_is_made_of_is_refused(document: JsonObject) -> None:
    assert is_preset(document)
    with pytest.raises(BadInput):
        read_preset(document)


_NAMES = [
    "prompts",
    "prompt_order",
    "order",
    "identifier",
    "content",
    "personas",
    "power_user",
    "persona_descriptions",
    "findRegex",
    "replaceString",
    "extensions",
    "temperature",
]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-1, 1) | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=4)
        ),
        max_leaves=12,
    )
)
def test_no_document_does_anything_but_a_refusal(document: object) -> None:
    with suppress(BadInput):
        if is_preset(document):
            read_preset(cast("JsonObject", document))
    with suppress(BadInput):
        if is_user_personas(document):
            read_user_personas(cast("JsonObject", document))
    with suppress(BadInput):
        if is_scripts(document):
            read_scripts(document)
