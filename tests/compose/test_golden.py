"""The shipped prompts as a model sees them. A change here is read by a person before it is kept.

`UPDATE_GOLDEN=1 pytest tests/compose/test_golden.py` writes them anew.
"""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from mentis.compose.compose import Composed
from mentis.library.load import load_persona, load_shipped, shipped_persona
from mentis.values.persona import Profile
from mentis.values.span import join_spans
from mentis.values.trust import Trust

from .conftest import Desk

GOLDEN = Path(__file__).parent / "golden"
MORNING = datetime(2026, 1, 1, 9, 30)  # noqa: DTZ001  # the caller's local time
ADA = load_persona(shipped_persona("ada"), "personas/ada/persona.toml")
ROBIN = Profile("Robin", info="Likes long walks.")
SET = [
    ("default", "english"),
    ("default", "german"),
    ("compact", "english"),
    ("compact", "german"),
    ("experimental", "english"),
]


def told(variant: str, language: str, profile: Profile = ROBIN) -> Composed:
    desk = Desk(replace(ADA, language=language), profile)
    return desk.compose(load_shipped(), variant=variant, now=MORNING)


def shown(composed: Composed) -> str:
    lasting = join_spans(composed.request.system_instruction)
    turn = join_spans(composed.request.runtime_ctx.spans)
    return f"{lasting}\n\n======== turn ========\n\n{turn}\n"


@pytest.mark.parametrize(("variant", "language"), SET)
def test_ada_is_told_exactly_this(variant: str, language: str) -> None:
    file = GOLDEN / f"{variant}-{language}.txt"
    text = shown(told(variant, language))
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize(("variant", "language"), SET)
def test_nothing_is_left_unresolved_and_only_the_clock_is_moved(
    variant: str, language: str
) -> None:
    trace = told(variant, language).trace
    assert trace.unresolved == ()
    assert [block.block for block in trace.blocks if block.moved] == ["time"]
    assert trace.degraded == ()


@pytest.mark.parametrize("language", ["english", "german"])
def test_the_compact_prompt_stays_small(language: str) -> None:
    assert len(shown(told("compact", language))) <= 1500


def test_a_person_without_a_name_is_not_told_of() -> None:
    trace = told("compact", "english", Profile(name="")).trace
    reasons = {block.block: block.reason for block in trace.blocks}
    assert reasons["user_info"] == "needs user_name or user_info; nothing given"


def test_the_constitution_comes_first_and_has_its_own_trust() -> None:
    for variant, language in SET:
        first = told(variant, language).request.system_instruction[0]
        assert (first.block, first.trust) == ("constitution", Trust.CONSTITUTION)
