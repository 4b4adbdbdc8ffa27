from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.engines.gloss import detect, gloss, load_glossary
from mentis.values.function_words import fold


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("show me the open windows", "en"),
        ("zeig mir die offenen Fenster", "de"),
        ("montre-moi les fenêtres ouvertes", "fr"),
        ("mostre as janelas que estão abertas", "pt"),
        ("muéstrame las ventanas que están abiertas", "es"),
    ],
)
def test_the_language_is_told_by_its_words(text: str, language: str) -> None:
    assert detect(text, [fold(word) for word in text.split()]) == language


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("lösche die alte Datei", "delete remove old file"),
        ("quand ouvre le musée", "when open museum"),
        ("compre um bilhete de avião", "buy ticket flight fly plane"),
        ("mañana lloverá en la playa", "tomorrow rain beach"),
        ("¿qué tiempo hará el sábado?", "weather saturday"),
    ],
)
def test_a_sentence_becomes_its_english_words(text: str, english: str) -> None:
    assert set(english.split()) <= set(gloss(text).split())


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("wo ist die Garagenkamera", "garage camera"),
        ("zeig mir die Budgettabelle von gestern", "budget table"),  # a part is English
        ("was sagt das Gesundheitsamt", "health"),  # joined by an s
        ("das Download-Verzeichnis ist voll", "download folder"),
        ("er hat das Essen gekocht", "cook"),
        ("despiértame mañana a las seis", "wake up"),
        ("muéstramelo en la pantalla grande", "show"),
        ("donne-moi la liste, dis-moi tout", "list"),
    ],
)
def test_words_are_known_in_other_forms_and_joined_to_others(text: str, english: str) -> None:
    assert set(english.split()) <= set(gloss(text).split())


def test_signs_and_words_that_say_nothing_are_left_out() -> None:
    assert gloss("¿qué tiempo hará mañana?").split()[0] == "what"
    assert "?" not in gloss("¿qué tiempo hará mañana?")
    assert "'" not in gloss("j'aimerais l'heure d'aujourd'hui")


def test_english_stays_as_it_is_and_a_file_is_called_one() -> None:
    assert gloss("Turn the lights OFF, please!") == "Turn the lights OFF, please!"
    assert gloss("open plan.txt") == "open file plan.txt"


def test_paths_and_addresses_are_not_translated() -> None:
    assert "example.org/post/12" in gloss("was schreibt die Seite example.org/post/12")


def test_an_address_is_called_what_it_is() -> None:
    assert gloss("write to ana@example.org") == "write to email address ana@example.org"
    assert "web page url" in gloss("resume https://example.com/a?b=c")
    assert "web page url" in gloss("was gibt es Neues auf beispiel.de")
    assert gloss("run main.py at 10.30, e.g. now") == "run file main.py at 10.30, e.g. now"


def test_only_the_name_itself_is_called_a_file_or_an_address() -> None:
    assert gloss("see -plan.txt") == "see -file plan.txt"
    assert gloss("see --a-b.txt.bak") == "see --file a-b.txt.bak"
    assert gloss("to ..ana+x@mail.example.org.") == "to ..email address ana+x@mail.example.org."
    assert gloss("x ana@example") == "x ana@example"


@pytest.mark.parametrize("part", ["a-", "a.", "a+", "a.+", "-", "a@"])
def test_a_hostile_text_is_read_in_no_time_however_long_it_is(part: str) -> None:
    text = part * 400_000
    assert gloss(text) == text


def test_names_are_looked_for_where_the_text_is_read() -> None:
    long = "so " * 4000
    assert gloss(f"plan.txt {long}plan.txt") == f"file plan.txt {long}plan.txt"


def test_where_the_learned_words_come_from_is_written_down() -> None:
    import json
    from importlib.resources import files

    data = json.loads((files("mentis.engines") / "data/learned.json").read_text(encoding="utf-8"))
    allowed = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "MIT"}
    assert {source["licence"] for source in data["sources"]} <= allowed
    assert len(load_glossary().words["fr"]) > 3000


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    assert gloss(text) == gloss(text)
