from __future__ import annotations

import pytest

from mentis.errors import PersonaError
from mentis.library.people import load_persona, load_profile
from mentis.values.persona import Expression, Persona, Profile, Trait

FILE = "personas/bo/persona.toml"


def failure(text: str, file: str = FILE) -> PersonaError:
    with pytest.raises(PersonaError) as caught:
        load_persona(text, file)
    return caught.value


def test_the_folder_names_the_persona() -> None:
    assert load_persona('name = "Bo"', FILE) == Persona("bo", "Bo")
    assert load_persona('id = "bo"\nname = "Bo"', FILE) == Persona("bo", "Bo")


def test_all_fields_are_read() -> None:
    text = """
name = "Bo"
type = "human"
age = 40
gender = "male"
language = "german"
background = "From the coast."
[[traits]]
name = "Calm"
description = "slow to anger"
behaviours = ["waits", "listens"]
[[scenarios]]
name = "Harbour"
"""
    assert load_persona(text, FILE) == Persona(
        "bo",
        "Bo",
        type="human",
        age=40,
        gender="male",
        language="german",
        background="From the coast.",
        traits=(Trait("Calm", "slow to anger", ("waits", "listens")),),
        scenarios=(Trait("Harbour"),),
    )


def test_a_way_of_speaking_has_an_example_and_characteristics() -> None:
    text = """
name = "Bo"
[[expression]]
name = "Gruff"
description = "few words"
example = "Aye."
characteristics = ["grunts"]
[[expression]]
description = "quiet"
behaviours = ["whispers"]
"""
    assert load_persona(text, FILE).expression == (
        Expression("Gruff", "few words", "Aye.", ("grunts",)),
        Expression(description="quiet", characteristics=("whispers",)),
    )


def test_an_unknown_field_of_a_way_of_speaking_is_refused_at_its_place() -> None:
    error = failure('name = "Bo"\n[[expression]]\nexmaple = "Aye."\n')
    assert error.message == f"{FILE}:3:1: there is no field expression.0.exmaple"
    assert error.hint == "did you mean 'example'?"
    both = 'name = "Bo"\n[[expression]]\ncharacteristics = ["a"]\nbehaviours = ["b"]\n'
    assert failure(both).facts["line"] == 4
    assert failure('name = "Bo"\nexpression = ["a"]').facts["line"] == 2


def test_the_first_language_is_the_one_it_answers_in() -> None:
    persona = load_persona('name = "Bo"\nlanguages = ["german", "english"]', FILE)
    assert (persona.language, persona.languages) == ("german", ("german", "english"))
    both = load_persona('name = "Bo"\nlanguage = "german"\nlanguages = ["german"]', FILE)
    assert both.language == "german"
    assert load_persona('name = "Bo"\nlanguages = []', FILE) == Persona("bo", "Bo")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('language = "german"\nlanguages = ["english"]', ":2:12: the language is not the first"),
        ('languages = ["german", " "]', ":2:13: a language is empty"),
        ('languages = "german"', ":2:13: languages"),
        ("languages = [1]", ":2:"),
    ],
)
def test_wrong_languages_are_refused_at_their_place(lines: str, message: str) -> None:
    assert failure(f'name = "Bo"\n{lines}').message.startswith(f"{FILE}{message}")


def test_an_id_that_differs_from_the_folder_is_refused() -> None:
    error = failure('id = "al"\nname = "Bo"')
    assert error.message == f"{FILE}:1:6: id 'al' stands in folder 'bo'"


@pytest.mark.parametrize("bad", ["Bo", "../bo", "", "-bo", "b" * 65, "bö"])
def test_an_id_is_made_of_safe_characters(bad: str) -> None:
    assert "cannot be an id" in failure(f'id = "{bad}"\nname = "Bo"', "bo.toml").message


def test_a_persona_outside_a_folder_must_say_its_id() -> None:
    assert "id is missing" in failure('name = "Bo"', "persona.toml").message


def test_an_unknown_field_comes_with_a_suggestion_at_its_place() -> None:
    error = failure('nmae = "Bo"')
    assert error.message == f"{FILE}:1:1: there is no field nmae (and 1 more)"
    assert error.hint == "did you mean 'name'?"


def test_an_unknown_field_of_a_trait_is_measured_against_the_fields_of_traits() -> None:
    error = failure('name = "Bo"\n[[traits]]\nname = "x"\nbehaviors = ["y"]\n')
    assert error.message == f"{FILE}:4:1: there is no field traits.0.behaviors"
    assert error.hint == "did you mean 'behaviours'?"


def test_a_field_like_no_other_gets_the_list_of_fields() -> None:
    assert failure('name = "Bo"\nzzzz = 1').hint.startswith("the fields are: id, name, type")


@pytest.mark.parametrize(
    "line", ['age = "40"', "age = 1979-01-01", "gender = 3", 'traits = "calm"', "knowledge = [1]"]
)
def test_a_value_of_the_wrong_type_is_refused_not_bent(line: str) -> None:
    error = failure(f'name = "Bo"\n{line}')
    assert error.facts["line"] == 2


def test_an_empty_name_is_refused() -> None:
    assert failure('name = " "').message == f"{FILE}:1:8: the name is empty"


def test_broken_toml_is_located() -> None:
    assert failure('name = "Bo"\nage = = 3').message.startswith(f"{FILE}:2:7: not TOML")


def test_toml_that_ends_too_early_is_located_at_its_end() -> None:
    assert failure('name = "Bo"\nage =').message.startswith(f"{FILE}:2:6: not TOML")


def test_a_byte_order_mark_is_refused() -> None:
    assert failure('\ufeffname = "Bo"').message == f"{FILE}:1:1: begins with a byte order mark"


def test_toml_nested_too_deeply_is_refused() -> None:
    assert failure("x = " + "[" * 5000).message.startswith(FILE)


def test_a_profile_is_read() -> None:
    text = 'name = "Robin"\ninterested_in = ["walks", "maps"]\ninfo = "Lives in Bern."'
    assert load_profile(text, "profile.toml") == Profile(
        "Robin", interested_in=("walks", "maps"), info="Lives in Bern."
    )
    assert load_profile("", "profile.toml") == Profile()


def test_a_wrong_profile_is_refused_with_its_place() -> None:
    with pytest.raises(PersonaError, match=r"^profile\.toml:1:1: there is no field nam") as caught:
        load_profile('nam = "Robin"', "profile.toml")
    assert caught.value.hint == "did you mean 'name'?"
