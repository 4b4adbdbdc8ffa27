"""What a model is told of the built-in acts, in every language that ships."""

from __future__ import annotations

from typing import cast

import pytest

from mentis.act.builtin.memories import KINDS
from mentis.act.builtin.table import BUILT_IN
from mentis.act.payloads import fault_in
from mentis.library.acts import LANGUAGES, load_acts, load_message
from mentis.values.json import JsonObject
from mentis.values.tool import ToolDeclaration


def all_of(language: str) -> list[ToolDeclaration]:
    return [load_message("cli", language), *load_acts(language).values()]


def fields(tool: ToolDeclaration) -> dict[str, JsonObject]:
    return cast("dict[str, JsonObject]", tool.parameters["properties"])


def form(tool: ToolDeclaration) -> dict[str, object]:
    """The schema without its words."""
    bare = {
        name: {key: value for key, value in schema.items() if key != "description"}
        for name, schema in fields(tool).items()
    }
    return {**tool.parameters, "properties": bare}


def test_every_built_in_act_has_words_and_no_words_are_left_over() -> None:
    names = {kind.name for kind in BUILT_IN}
    assert {*load_acts(), "message_NAME"} == names


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_act_and_every_argument_is_described_without_a_gap(language: str) -> None:
    english = all_of("english")
    for tool, plain in zip(all_of(language), english, strict=True):
        words = [tool.description, *(str(part["description"]) for part in fields(tool).values())]
        assert all(words)
        assert "{{" not in " ".join(words)
        assert form(tool) == form(plain)
        assert (tool.description != plain.description) is (language != "english")


def test_the_names_in_the_words_are_the_same_in_every_language() -> None:
    def named(tool: ToolDeclaration) -> list[str]:
        words = " ".join(str(part["description"]) for part in fields(tool).values())
        return sorted(words.split("`")[1::2])

    for language in LANGUAGES:
        for tool, plain in zip(all_of(language), all_of("english"), strict=True):
            assert named(tool) == named(plain), (language, tool.name)


def test_a_language_that_does_not_ship_gets_english_and_case_does_not_matter() -> None:
    assert load_acts("klingon") == load_acts("english")
    assert load_acts(" German ") == load_acts("german")


def test_a_message_is_named_after_its_interface() -> None:
    tool = load_message("telegram", "french")
    assert tool.name == "message_telegram"
    assert "telegram" in tool.description


def test_the_kinds_of_notes_are_those_the_act_takes() -> None:
    assert tuple(cast("list[str]", fields(load_acts()["remember"])["kind"]["enum"])) == KINDS


def test_what_is_not_declared_is_refused() -> None:
    for tool in all_of("english"):
        assert "unexpected" in fault_in({"x": 1}, tool)
