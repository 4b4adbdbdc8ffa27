from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from mentis.compose.computed import (
    SHIPPED,
    Facts,
    char_core_traits,
    char_description,
    char_expression,
    char_knowledge,
    char_scenarios,
    cortex_persona_context,
    current_date,
    current_time,
    current_weekday,
    persona_type_description,
)
from mentis.values.persona import ExampleExchange, Expression, Persona, Profile, Trait

WORDS = {
    "english": {
        "weekdays": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
        "persona_type_ai": ("A mind in a machine.",),
        "label_age": ("Age",),
        "label_gender": ("Gender",),
        "label_traits": ("Nature",),
        "label_knowledge": ("Knows",),
        "label_scenarios": ("Place",),
        "label_example": ("Sounds like",),
    },
    "german": {"weekdays": ("Mo", "Di", "Mi", "Do", "Fr", "Sa", "So")},
}
CALM = Trait("Calm", "slow to anger", ("waits",))
BO = Persona(
    "bo",
    "Bo",
    type="sailor",
    age=40,
    gender="male",
    background=" From the coast. ",
    traits=(CALM, Trait("Dry")),
    knowledge=(Trait("Knots", "all of them", ("bowline",)),),
    expression=(Expression("Gruff", "few words", "Aye.", ("grunts",)),),
    scenarios=(Trait("Harbour", "at dusk"),),
)


def facts(persona: Persona = BO, language: str = "english") -> Facts:
    early = datetime(2026, 3, 5, 7, 4)  # noqa: DTZ001  # the caller's local time
    return Facts(persona, Profile(), early, language, WORDS)


def test_the_clock_is_told_as_day_month_year_and_hour_minute() -> None:
    assert current_date(facts()) == "05.03.2026"
    assert current_time(facts()) == "07:04"


def test_the_weekday_is_told_in_the_personas_language_else_in_english() -> None:
    assert current_weekday(facts(language="german")) == "Do"
    assert current_weekday(facts(language="klingon")) == "Thu"


def test_a_library_without_weekdays_tells_none() -> None:
    empty = Facts(BO, Profile(), facts().now, "english", {})
    assert current_weekday(empty) == ""


def test_traits_have_a_line_and_their_behaviours_indented() -> None:
    assert char_core_traits(facts()) == "Calm: slow to anger\n  - waits\nDry"
    assert char_knowledge(facts()) == "  - Knots: all of them\n    - bowline"
    assert char_expression(facts()) == "Gruff: few words\nSounds like: Aye.\n  - grunts"
    assert char_scenarios(facts()) == "Harbour: at dusk"


def test_a_known_type_has_a_sentence_and_any_other_speaks_for_itself() -> None:
    assert persona_type_description(facts(Persona("a", "A"))) == "A mind in a machine."
    assert persona_type_description(facts()) == "sailor"


def test_the_description_joins_what_there_is_with_labels_from_the_library() -> None:
    assert char_description(facts()) == (
        "sailor\nAge: 40\nGender: male\n\n"
        "Nature:\nCalm: slow to anger\n  - waits\nDry\n\n"
        "Knows:\n  - Knots: all of them\n    - bowline\n\n"
        "Gruff: few words\nSounds like: Aye.\n  - grunts\n\n"
        "Place:\nHarbour: at dusk\n\n"
        "From the coast."
    )


def test_an_ai_has_no_scenario() -> None:
    persona = Persona("a", "A", scenarios=(Trait("Harbour"),))
    assert char_description(facts(persona)) == "A mind in a machine."


def test_the_context_for_memory_is_identity_core_and_background() -> None:
    assert cortex_persona_context(facts()) == (
        "sailor\nAge: 40\nGender: male\nCalm: slow to anger\n  - waits\nDry\nFrom the coast."
    )
    assert cortex_persona_context(facts(Persona("a", "A"))) == "A mind in a machine."


def test_a_way_of_speaking_may_be_a_name_alone() -> None:
    assert char_expression(facts(Persona("a", "A", expression=(Expression("Gruff"),)))) == "Gruff"


def test_what_ships_cannot_be_changed_from_outside() -> None:
    with pytest.raises(TypeError):
        SHIPPED["moon"] = SHIPPED["current_time"]  # pyright: ignore[reportIndexIssue]  # the point


def test_examples_of_a_talk_are_the_last_lines_of_the_description() -> None:
    talk = (ExampleExchange("Rain?", "Yes."), ExampleExchange("Sun?", "No."))
    told = char_description(facts(replace(BO, dialogue=talk)))
    assert told.endswith("Sounds like:\nUser: Rain?\nBo: Yes.\n\nUser: Sun?\nBo: No.")
    assert char_description(facts()) + "\n\n" + told[told.index("Sounds like:\nUser") :] == told
