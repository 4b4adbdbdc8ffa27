"""The page on personas names every field, and its example fills every one of them."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from mentis import Personas, create_home
from mentis.errors import PersonaError
from mentis.library.people import load_persona
from mentis.prompts.persona_fields import FIELDS, with_fields
from mentis.values.persona import ExampleExchange, Expression, Persona, Profile, Trait

PAGE = (Path(__file__).parents[2] / "docs" / "concepts" / "personas.md").read_text(encoding="utf-8")
PARTS = (Persona, Trait, Expression, ExampleExchange)


def test_every_field_of_a_persona_can_be_filled() -> None:
    assert {field.name for field in FIELDS} == {field.name for field in fields(Persona)} - {
        "id",
        "trust",
        "macros",
    }  # what an import says of it


def test_the_page_names_every_field() -> None:
    named = {field.name for kind in (*PARTS, Profile) for field in fields(kind)}
    assert [name for name in sorted(named) if f"`{name}`" not in PAGE] == []


def test_the_example_of_the_page_fills_every_field() -> None:
    found = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    persona = load_persona(found[1], "personas/bob/persona.toml")
    assert [field.name for field in fields(Persona) if not getattr(persona, field.name)] == [
        "macros"
    ]
    for part in (*persona.traits, *persona.expression, *persona.scenarios, *persona.dialogue):
        assert [field.name for field in fields(part) if not getattr(part, field.name)] == []


def test_the_python_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    found = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    exec(found[1], {})  # noqa: S102  # our own page
    assert capsys.readouterr().out == "Ahoy.\n"


def test_fields_that_a_persona_cannot_have_are_refused_and_nothing_is_written(
    tmp_path: Path,
) -> None:
    home = create_home(tmp_path / "home")
    with Personas.open(home) as personas:
        for wrong in ({"mood": "merry"}, {"age": "old"}, {"dialogue": [{"user": "Hi"}]}):
            with pytest.raises(PersonaError):
                personas.create("bob", name="Bob", fields=wrong)
        assert personas.ids() == ("ada",)


def test_a_copy_keeps_its_remarks_where_nothing_was_set(tmp_path: Path) -> None:
    home = create_home(tmp_path / "home")
    with Personas.open(home) as personas:
        fields_set = {"greeting": "Ahoy.", "traits": [{"name": "Dry"}]}
        text = personas.create("bob", name="Bob", source="ada", fields=fields_set).read_text(
            "utf-8"
        )
        made = personas.read("bob")
    assert "# A way of speaking, a sentence in it, and what marks it." in text
    assert (made.greeting, [one.name for one in made.traits]) == ("Ahoy.", ["Dry"])
    assert [one.name for one in made.knowledge] == ["Computing", "Language"]


def test_a_new_field_stands_before_the_remark_on_the_tables_below_it() -> None:
    text = 'name = "Bob"  # his name\n\n# A trait.\n[[traits]]\nname = "Warm"\n'
    made = with_fields(text, {"greeting": "Ahoy.", "name": "Bo"})
    assert made == (
        'name = "Bo"  # his name\ngreeting = "Ahoy."\n\n# A trait.\n[[traits]]\nname = "Warm"\n'
    )
