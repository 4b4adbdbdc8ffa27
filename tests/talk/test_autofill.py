"""A field of a persona is drafted by the model and written only once its owner accepts it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast, get_args

import pytest

from mentis import Agent, Parts, Personas, create_home, open_record
from mentis.call.scripted import ScriptedProvider
from mentis.errors import PersonaError, ReplyError, UsageError
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.values.persona_draft import DraftKind, PersonaDraft

pytestmark = pytest.mark.anyio

KINDS: tuple[DraftKind, ...] = get_args(DraftKind)
ANSWERS: dict[DraftKind, dict[str, Any]] = {
    "persona_type": {"name": "Fox", "description": "You are a fox with a red coat."},
    "core_trait": {"name": "Stubborn", "description": "You stay.", "behaviours": ["You ask."]},
    "knowledge": {"name": "Tea", "description": "leaves, water, time"},
    "scenario": {"name": "A pier", "description": "You sit by the sea.", "behaviours": ["Gulls."]},
    "expression_style": {
        "name": "Dry", "description": "Short.", "example": "Hm.", "characteristics": ["You pause."]
    },
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


async def drafted(
    home: Path, kind: DraftKind, *replies: str, wish: str = "more so"
) -> PersonaDraft:
    parts = Parts(provider=ScriptedProvider(replies), clock=FixedClock(), ids=CountingIds())
    agent = Agent.open(home, parts=parts)
    try:
        return await agent.autofill(kind, wish)
    finally:
        agent.close()


def file_of(home: Path) -> str:
    return (home / "personas" / "ada" / "persona.toml").read_text(encoding="utf-8")


def entries(home: Path) -> list[dict[str, Any]]:
    with open_record(home) as record:
        return [cast("dict[str, Any]", entry.body) for entry in record.last(9)]


@pytest.mark.parametrize("kind", KINDS)
async def test_each_kind_is_asked_for_recorded_and_filled_in_once_accepted(
    home: Path, kind: DraftKind
) -> None:
    before = file_of(home)
    said = {**ANSWERS[kind], "unasked": 1}
    answer = f"Here it is {{so}}:\n```json\n{json.dumps(said)}\n```"
    draft = await drafted(home, kind, answer)
    assert (draft.kind, draft.name) == (kind, ANSWERS[kind]["name"])
    assert draft.entry is not None
    assert file_of(home) == before
    with Personas.open(home) as personas:
        personas.accept_draft("ada", draft)
        after = personas.read("ada")
    found: dict[DraftKind, object] = {
        "persona_type": after.type,
        "core_trait": after.traits[-1].name,
        "knowledge": after.knowledge[-1].name,
        "scenario": after.scenarios[-1:] and after.scenarios[-1].name,
        "expression_style": after.expression[-1].name,
    }
    wanted = ANSWERS[kind]["description" if kind == "persona_type" else "name"]
    assert found[kind] == wanted
    assert [line for line in before.splitlines() if line.startswith("#")] == [
        line for line in file_of(home).splitlines() if line.startswith("#")
    ]


async def test_the_question_is_bound_by_an_entry_that_says_what_it_was_for(home: Path) -> None:
    draft = await drafted(home, "core_trait", json.dumps(ANSWERS["core_trait"]))
    turn = entries(home)[draft.entry or 0]["turn"]
    assert (turn["inner"], turn["field"], turn["drafted"]) == ("autofill", "core_trait", True)


@pytest.mark.parametrize(
    "answer", ["I would rather not.", '{"name": ""}', '{"name": "A", "behaviours": 1}']
)
async def test_an_answer_that_is_no_draft_is_an_error_and_recorded(home: Path, answer: str) -> None:
    with pytest.raises(ReplyError, match="no draft of core_trait"):
        await drafted(home, "core_trait", answer)
    (turn,) = [one["turn"] for one in entries(home) if "turn" in one]
    assert turn["drafted"] is False


async def test_a_wish_is_needed(home: Path) -> None:
    with pytest.raises(UsageError, match="few words"):
        await drafted(home, "knowledge", "x", wish=" ")


async def test_a_field_of_the_same_name_gives_way(home: Path) -> None:
    with Personas.open(home) as personas:
        count = len(personas.read("ada").traits)
        personas.accept_draft("ada", PersonaDraft("core_trait", "Warm", "You glow."))
        traits = personas.read("ada").traits
        personas.accept_draft("ada", PersonaDraft("core_trait", "New", "You are new."))
    assert len(traits) == count
    assert 'description = "You are new."\n\n[[knowledge]]' in file_of(home)
    assert traits[0].description == "You glow."


async def test_a_file_that_cannot_be_changed_is_left_alone(home: Path) -> None:
    path = home / "personas" / "ada" / "persona.toml"
    path.write_text('id = "ada"\nname = "Ada"\ntraits = 3\n', encoding="utf-8")
    with Personas.open(home) as personas, pytest.raises(PersonaError, match="no list of tables"):
        personas.accept_draft("ada", PersonaDraft("core_trait", "Warm"))
