from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from mentis.compose.computed import SHIPPED, ComputedPlaceholder, Facts
from mentis.compose.placeholders import Filling, PlaceholderCache, Values, as_text
from mentis.values.library import Library
from mentis.values.persona import Persona, Profile
from mentis.values.placeholder import Placeholder
from mentis.values.stability import Stability
from mentis.values.trust import Trust

PERSONA = Persona("bo", "Bo", age=None)
PROFILE = Profile("Robin", interested_in=("maps", "walks"))
MORNING = datetime(2026, 1, 1, 9, 30)  # noqa: DTZ001  # the caller's local time


def placeholder(**fields: Any) -> Placeholder:  # noqa: ANN401  # as the value has them
    given: dict[str, Any] = {
        "phase": "static",
        "source": "persona_config",
        "stability": Stability.STABLE,
    }
    return Placeholder("key", **{**given, **fields})


def look_up(
    one: Placeholder | None,
    runtime: Mapping[str, object] | None = None,
    computed: Mapping[str, ComputedPlaceholder] = SHIPPED,
) -> Filling | None:
    library = Library("test", (), {"key": one} if one else {}, {})
    facts = Facts(PERSONA, PROFILE, MORNING, "english", {})
    return Values(library, facts, runtime or {}, computed=computed).get("key")


def test_a_static_value_is_read_from_the_persona_or_the_profile() -> None:
    assert look_up(placeholder(source_path="name")) == Filling("Bo", "persona")
    from_profile = placeholder(source="user_profile", source_path="name")
    assert look_up(from_profile) == Filling("Robin", "profile")


def test_a_list_is_joined_with_its_separator() -> None:
    joined = placeholder(source="user_profile", source_path="interested_in", join_separator=" and ")
    assert look_up(joined) == Filling("maps and walks", "profile")


@pytest.mark.parametrize("path", ["age", "nothing", "name.upper", "__class__", "", "name.name"])
def test_where_there_is_no_value_the_default_stands_in(path: str) -> None:
    assert look_up(placeholder(source_path=path, default=18)) == Filling("18", "registry")


def test_an_empty_text_is_a_value_and_no_default_replaces_it() -> None:
    assert look_up(placeholder(source_path="gender", default="x")) == Filling("", "persona")


def test_without_value_and_default_there_is_nothing() -> None:
    assert look_up(placeholder(source_path="age")) is None
    assert look_up(None) is None


def test_an_owners_static_placeholder_is_its_default() -> None:
    assert look_up(placeholder(source="static", default=("a", "b"))) == Filling("a, b", "registry")


def test_a_computed_value_comes_from_its_function() -> None:
    computed = placeholder(phase="computed", source="computed", compute_function="current_time")
    assert look_up(computed) == Filling("09:30", "clock", Trust.RUNTIME)
    described = placeholder(
        phase="computed", source="computed", compute_function="persona_type_description"
    )
    assert look_up(described) == Filling("AI", "persona")


def test_an_unknown_function_falls_back_to_the_default() -> None:
    unknown = placeholder(phase="computed", source="computed", compute_function="x", default="-")
    assert look_up(unknown) == Filling("-", "registry")


def test_code_may_add_functions() -> None:
    mine = {**SHIPPED, "moon": ComputedPlaceholder(lambda facts: ["full", facts.now.year])}
    moon = placeholder(phase="computed", source="computed", compute_function="moon")
    assert look_up(moon, computed=mine) == Filling("full, 2026", "clock", Trust.RUNTIME)
    lasting = {"moon": ComputedPlaceholder(lambda _: None, clocked=False)}
    assert look_up(moon, computed=lasting) == Filling("", "persona")


def test_a_function_that_fails_leaves_the_default_and_says_so() -> None:
    def fail(_: Facts) -> object:
        raise ValueError("no moon")

    for clocked in (True, False):
        broken = {"moon": ComputedPlaceholder(fail, clocked=clocked)}
        moon = placeholder(phase="computed", source="computed", compute_function="moon")
        reason = "moon failed (ValueError: no moon); the default was told"
        assert look_up(moon, computed=broken) == Filling("", "registry", reason=reason)
        with_default = replace(moon, default="new")
        assert look_up(with_default, computed=broken) == Filling("new", "registry", reason=reason)


@pytest.mark.parametrize(
    ("source", "path", "text"),
    [
        ("persona_config", "persona_settings.name", "Bo"),
        ("user_profile", "user_name", "Robin"),
        ("user_profile", "persona_language", "english"),
    ],
)
def test_paths_of_the_origin_system_lead_to_the_same_fields(
    source: str, path: str, text: str
) -> None:
    found = look_up(placeholder(source=source, source_path=path))
    assert found is not None
    assert found.text == text


@pytest.mark.parametrize("source", ["custom", "user"])
def test_placeholders_an_owner_made_have_their_default(source: str) -> None:
    assert look_up(placeholder(source=source, default="x")) == Filling("x", "registry")


def test_the_same_variable_gives_the_same_filling_again() -> None:
    known = PlaceholderCache()
    facts = Facts(PERSONA, PROFILE, MORNING, "english", {})

    def get(value: object) -> Filling | None:
        return Values(Library("test", (), {}, {}), facts, {"key": value}, known=known).get("key")

    first = get("x")
    assert get("x") is first
    assert get(1) == Filling("1", "runtime", Trust.RUNTIME, Stability.TURN)
    assert get(True) == Filling("True", "runtime", Trust.RUNTIME, Stability.TURN)
    changing = ["a"]
    assert get(changing) == Filling("a", "runtime", Trust.RUNTIME, Stability.TURN)
    changing.append("b")
    assert get(changing) == Filling("a, b", "runtime", Trust.RUNTIME, Stability.TURN)


def test_a_runtime_key_that_is_not_given_has_no_value_whatever_its_default() -> None:
    assert look_up(placeholder(phase="runtime", source="runtime", default="x")) is None


def test_a_runtime_variable_wins_over_every_phase() -> None:
    given = Filling("mine", "runtime", Trust.RUNTIME)
    assert look_up(placeholder(source_path="name"), {"key": "mine"}) == given
    assert look_up(None, {"key": "mine"}) == replace(given, stability=Stability.TURN)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (3, "3"),
        (2.5, "2.5"),
        (True, "True"),
        (["a", 1, ("b", None)], "a|1|b|"),
        ({"a": 1}, "{'a': 1}"),
        ([], ""),
    ],
)
def test_values_that_are_not_text_are_rendered(value: object, text: str) -> None:
    assert as_text(value, "|") == text


def test_white_space_counts_as_empty() -> None:
    values = Values(
        Library("test", (), {}, {}),
        Facts(PERSONA, PROFILE, MORNING, "english", {}),
        {"blank": " \n", "full": " x ", "zero": 0},
    )
    assert not values.has_text("blank")
    assert not values.has_text("absent")
    assert values.has_text("full")
    assert values.has_text("zero")


def test_an_unregistered_key_lasts_a_turn_if_it_is_given() -> None:
    facts = Facts(PERSONA, PROFILE, MORNING, "english", {})
    values = Values(Library("test", (), {}, {}), facts, {"given": 1})
    assert values.stability("given") is Stability.TURN
    assert values.stability("other") is Stability.STABLE
