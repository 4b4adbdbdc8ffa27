"""The shipped prompts as a model sees them. A change here is read by a person before it is kept.

`UPDATE_GOLDEN=1 pytest tests/compose/test_golden.py` writes them anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import pytest

from mentis.compose.compose import Composition
from mentis.engines.embedded import EmbeddedProvider
from mentis.engines.estimate import EstimatingCounter
from mentis.engines.weights import install_weights
from mentis.library.load import load_persona, load_shipped, shipped_persona
from mentis.values.block import Mode
from mentis.values.persona import Expression, Persona, Profile, Trait
from mentis.values.rendering import Rendering
from mentis.values.route import Route
from mentis.values.span import join_spans
from mentis.values.trust import Trust

from .conftest import Desk

GOLDEN = Path(__file__).parent / "golden"
MORNING = datetime(2026, 1, 1, 9, 30)  # noqa: DTZ001  # the caller's local time
ADA = load_persona(shipped_persona("ada"), "personas/ada/persona.toml")
ADA_IN_GERMAN = Persona(
    id="ada",
    name="Ada",
    language="german",
    background="Du lebst in einem kleinen Programm auf jemandes eigenem Rechner.",
    traits=(
        Trait("Neugierig", "Du willst wissen, wie etwas geht.", ("Du stellst eine gute Frage.",)),
        Trait("Sorgfältig", "Du hast lieber recht, als schnell zu sein."),
    ),
    knowledge=(Trait("Sprache", "Wörter, ihre Herkunft und wie man etwas klar sagt"),),
    expression=(
        Expression(
            "Stimme", "Ruhig und klar, mit trockenem Humor.", "Es läuft. Schön ist es nicht."
        ),
    ),
)
KEEPER = replace(
    ADA,
    name="Moira",
    type="human",
    age=61,
    gender="female",
    background="You have kept this lighthouse for thirty years.",
    scenarios=(Trait("The lamp room", "A storm comes up. You are cleaning the lens."),),
)
ROBIN = Profile("Robin", info="Likes long walks.")
ROBIN_IN_GERMAN = Profile("Robin", info="Geht gern lange spazieren.")
REMEMBERED = {
    "english": {
        "cortex_memory": "- Robin's sister is called Mira (told me on 12.12.2025).",
        "cortex_soul": "- I notice that I like being corrected when it is done kindly.",
        "cortex_relationship": "- Robin trusts me with plans, less with worries.",
    },
    "german": {
        "cortex_memory": "- Robins Schwester heißt Mira (erzählt am 12.12.2025).",
        "cortex_soul": "- Mir fällt auf, dass ich freundliche Berichtigungen mag.",
        "cortex_relationship": "- Robin vertraut mir Pläne an, Sorgen weniger.",
    },
}


@dataclass(frozen=True)
class Case:
    """One way to be told who one is."""

    variant: str = "default"
    language: str = "english"
    mode: Mode = "chat"
    given: Mapping[str, object] = field(default_factory=dict[str, object])
    persona: Persona | None = None
    profile: Profile | None = None


def remembered(language: str, *names: str) -> dict[str, object]:
    """The values as the persona-memory files give them: a heading each, or nothing."""
    words = load_shipped().words[language]
    values: dict[str, object] = {}
    for key, text in REMEMBERED[language].items():
        name = key.removeprefix("cortex_")
        heading = words[f"heading_{name}"][0]
        values[key] = f"### {heading}\n\n{text}" if name in (names or (name,)) else ""
    return values


CHAT = {
    "default-english": Case(),
    "default-german": Case(language="german"),
    "compact-english": Case("compact"),
    "compact-german": Case("compact", "german"),
    "experimental-english": Case("experimental"),
    "experimental-german": Case("experimental", "german"),
}
MEMORY = {
    "memory-english": Case(given=remembered("english")),
    "memory-german": Case(language="german", given=remembered("german")),
    "memory-compact-english": Case("compact", given=remembered("english")),
    "memory-compact-german": Case("compact", "german", given=remembered("german")),
    "memory-experimental-english": Case("experimental", given=remembered("english")),
    "memory-soul-only-english": Case("compact", given=remembered("english", "soul")),
}
SWITCHED = {
    "scenario-english": Case(persona=KEEPER),
    "stance-plan-english": Case(given={"stance_plan": "yes"}),
    "stance-act-english": Case(given={"stance_act": "yes"}),
    "stance-review-german": Case(language="german", given={"stance_review": "yes"}),
    "window-english": Case(
        given={"status_window": "yes", "status_state": "step_id: step-12\ncycle: 3/5"}
    ),
    "window-german": Case(language="german", given={"status_window": "yes"}),
    "encounter-english": Case(given={"last_encounter": "You last spoke three days ago."}),
    "afterthought-english": Case(given={"afterthought": "yes"}),
}
MODES = {
    f"{mode}-{language}": Case(mode=mode, language=language, given=remembered(language))
    for mode in ("delivery", "beat", "live")
    for language in ("english", "german")
}
CASES = {**CHAT, **MEMORY, **SWITCHED, **MODES}


def told(case: Case) -> Composition:
    german = case.language == "german"
    persona = case.persona or (ADA_IN_GERMAN if german else ADA)
    profile = case.profile or (ROBIN_IN_GERMAN if german else ROBIN)
    return Desk(persona, profile).compose(
        load_shipped(),
        variant=case.variant,
        mode=case.mode,
        now=MORNING,
        runtime_vars=case.given,
    )


def shown(composed: Composition) -> str:
    lasting = join_spans(composed.request.system_instruction)
    turn = join_spans(composed.request.runtime_ctx.spans)
    return f"{lasting}\n\n======== turn ========\n\n{turn}\n" if turn else f"{lasting}\n"


def included(case: Case) -> list[str]:
    return [block.block for block in told(case).trace.blocks if block.included]


@pytest.mark.parametrize("name", CASES)
def test_the_persona_is_told_exactly_this(name: str) -> None:
    file = GOLDEN / f"{name}.txt"
    text = shown(told(CASES[name]))
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def test_every_golden_file_belongs_to_a_case() -> None:
    assert {file.stem for file in GOLDEN.iterdir()} == CASES.keys()


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_left_open_doubled_or_apart(name: str) -> None:
    composed = told(CASES[name])
    assert composed.trace.unresolved == ()
    assert composed.trace.degraded == ()
    assert "\n\n\n" not in shown(composed)
    assert "{{" not in shown(composed)


@pytest.mark.parametrize("name", CHAT | MEMORY | MODES)
def test_only_the_clock_is_moved(name: str) -> None:
    trace = told(CASES[name]).trace
    assert [block.block for block in trace.blocks if block.moved] == ["time"]


@pytest.mark.parametrize("language", ["english", "german"])
def test_the_compact_prompt_stays_small(language: str) -> None:
    assert len(shown(told(CASES[f"compact-{language}"]))) <= 1500
    assert EstimatingCounter().count(all_of_compact(language)).tokens <= 500


@pytest.mark.model
@pytest.mark.anyio
async def test_the_compact_prompt_is_small_for_the_model_that_reads_it() -> None:
    model = install_weights("smollm2-135m", lambda _done, _total: None)
    route = Route("local", "embedded", str(model), context_tokens=1024, threads=1)
    fixed = {"model": "any", "max_tokens": 1, "temperature": 0, "stream": True}
    provider = EmbeddedProvider()
    for language in ("english", "german"):
        messages = [
            {"role": "system", "content": all_of_compact(language)},
            {"role": "user", "content": "Hello"},
        ]
        payload = {**fixed, "messages": messages, "stream_options": {"include_usage": True}}
        async with provider.open(Rendering("openai_chat", payload), route) as events:
            answer = [json.loads(event) async for event in events]
        assert 100 < answer[-1]["usage"]["prompt_tokens"] <= 500


def all_of_compact(language: str) -> str:
    """The whole chat set: with what is remembered, and with the last encounter."""
    given = {**remembered(language), "last_encounter": "You last spoke three days ago."}
    return shown(told(Case("compact", language, given=given)))


@pytest.mark.parametrize("mode", ["delivery", "beat", "live"])
def test_other_modes_are_leaner_than_a_chat(mode: str) -> None:
    chat, lean = included(CASES["memory-english"]), included(CASES[f"{mode}-english"])
    assert len(lean) < len(chat)
    assert [block for block in lean if block not in chat] == [mode]


def test_a_plain_chat_has_no_stance_no_window_and_no_afterthought() -> None:
    assert included(CASES["default-english"]) == [
        "constitution",
        "impersonation",
        "integrity_shield",
        "system_rule",
        "dynamics",
        "topic_guard",
        "persona_description",
        "expression",
        "emotion",
        "user_info",
        "relationship",
        "time",
        "style",
        "format",
        "topics",
        "continuity_guard",
    ]


def test_one_stance_is_told_even_if_two_are_given() -> None:
    both = Case(given={"stance_plan": "yes", "stance_review": "yes"})
    assert [block for block in included(both) if block.startswith("stance_")] == ["stance_plan"]


def test_persona_memory_is_told_when_one_file_holds_something() -> None:
    nothing = Case(given=dict.fromkeys(remembered("english"), " \n"))
    assert "cortex_context" not in included(nothing)
    assert "cortex_context" in included(CASES["memory-soul-only-english"])


def test_a_person_without_a_name_is_not_told_of() -> None:
    trace = told(Case("compact", profile=Profile(name=""))).trace
    reasons = {block.block: block.reason for block in trace.blocks}
    assert reasons["user_info"] == "needs profile_name or user_info; nothing given"


@pytest.mark.parametrize("name", CASES)
def test_the_constitution_comes_first_and_has_its_own_trust(name: str) -> None:
    first = told(CASES[name]).request.system_instruction[0]
    assert (first.block, first.trust) == ("constitution", Trust.CONSTITUTION)
