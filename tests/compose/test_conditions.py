from __future__ import annotations

from typing import Any

import pytest

from mentis.compose.computed import Facts
from mentis.compose.conditions import why_in, why_out
from mentis.compose.placeholders import Values
from mentis.compose.purposes import Occasion
from mentis.values.block import Block, Category, Variant
from mentis.values.persona import Persona, Profile

from .conftest import NOON, Desk

DESK = Desk()
CHAT = Occasion("default", "english")


def values(**runtime: object) -> Values:
    facts = Facts(Persona("bo", "Bo"), Profile(), NOON, "english", {})
    return Values(DESK.library(), facts, runtime)


def reason(block: Block, occasion: Occasion = CHAT, **runtime: object) -> str | None:
    return why_out(block, occasion, values(**runtime))


def test_a_block_without_conditions_is_always_in() -> None:
    assert reason(DESK.block("b")) is None
    assert why_in(DESK.block("b"), values()) == "always"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"enabled": False}, "switched off"),
        ({"target": "prefill"}, "its target is prefill, not the system prompt"),
        ({"type": "multi_turn"}, "holds messages, not text"),
        ({"category": "summary"}, "category summary is told only when asked for"),
        ({"category": "cortex"}, "category cortex is told only when asked for"),
        ({"modes": ("beat", "live")}, "only for mode beat or live, this is chat"),
        ({"variant_condition": "compact"}, "only for variant compact, this is default"),
        ({"requires_any": ("note", "mood")}, "needs note or mood; nothing given"),
        ({"requires_all": ("name", "note")}, "needs note; not given"),
        ({"requires_none": ("name", "note")}, "gives way to name"),
        ({"variants": {"other": Variant("x")}}, "has no wording for variant default"),
        ({"variants": {"default": Variant(" ")}}, "left out on purpose in variant default"),
    ],
)
def test_each_condition_that_fails_says_so(fields: dict[str, Any], expected: str) -> None:
    assert reason(DESK.block("b", **fields)) == expected


@pytest.mark.parametrize(
    "fields",
    [
        {"modes": ("beat", "chat")},
        {"variant_condition": "default"},
        {"requires_any": ("note", "name")},
        {"requires_all": ("name",)},
        {"requires_none": ("note", "unheard_of")},
        {"position": "system_prompt_append", "category": "summary"},
        {"position": "history"},
    ],
)
def test_conditions_that_hold_keep_nothing_out(fields: dict[str, Any]) -> None:
    assert reason(DESK.block("b", **fields)) is None


def test_requirements_look_at_every_phase() -> None:
    for key in ("name", "clock"):
        assert reason(DESK.block("b", requires_any=(key,))) is None
    assert reason(DESK.block("b", requires_any=("note",)), note="x") is None


@pytest.mark.parametrize("blank", ["", " \n\t", None, []])
def test_a_blank_value_meets_no_requirement(blank: object) -> None:
    assert reason(DESK.block("b", requires_any=("note",)), note=blank)
    assert reason(DESK.block("b", requires_all=("note",)), note=blank)
    assert reason(DESK.block("b", requires_none=("note",)), note=blank) is None


def test_a_value_that_is_not_text_meets_a_requirement() -> None:
    assert reason(DESK.block("b", requires_any=("note",)), note=0) is None


@pytest.mark.parametrize(("category", "inside"), [("summary", True), ("persona", False)])
def test_a_category_filter_takes_only_that_category(category: Category, inside: bool) -> None:
    occasion = Occasion("default", "english", category="summary")
    assert (reason(DESK.block("b", category=category), occasion) is None) is inside


def test_the_reason_to_be_in_names_what_was_given() -> None:
    block = DESK.block("b", requires_any=("note", "name"))
    assert why_in(block, values()) == "name given"
