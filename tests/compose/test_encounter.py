from __future__ import annotations

from datetime import timedelta

import pytest

from mentis.compose.computed import Facts
from mentis.compose.encounter import Encounter, ago, last_encounter
from mentis.library.load import load_shipped
from mentis.values.persona import Persona, Profile

from .conftest import NOON

WORDS = load_shipped().words


def facts(language: str = "english") -> Facts:
    return Facts(Persona("bo", "Bo"), Profile(), NOON, language, WORDS)


@pytest.mark.parametrize(
    ("gap", "said"),
    [
        (timedelta(seconds=-5), "a few seconds ago"),
        (timedelta(seconds=45), "a few seconds ago"),
        (timedelta(seconds=46), "a minute ago"),
        (timedelta(seconds=90), "a minute ago"),
        (timedelta(seconds=91), "2 minutes ago"),
        (timedelta(minutes=45), "45 minutes ago"),
        (timedelta(minutes=90), "an hour ago"),
        (timedelta(minutes=91), "2 hours ago"),
        (timedelta(hours=22), "22 hours ago"),
        (timedelta(hours=36), "a day ago"),
        (timedelta(hours=37), "2 days ago"),
        (timedelta(days=25), "25 days ago"),
        (timedelta(days=45), "a month ago"),
        (timedelta(days=46), "2 months ago"),
        (timedelta(days=319), "10 months ago"),
        (timedelta(days=320), "a year ago"),
        (timedelta(days=547), "a year ago"),
        (timedelta(days=549), "2 years ago"),
        (timedelta(days=3653), "10 years ago"),
    ],
)
def test_a_gap_is_said_in_round_words(gap: timedelta, said: str) -> None:
    assert ago(gap, facts()) == said


def test_the_sentence_depends_on_where_it_was_and_whether_at_all() -> None:
    hour_ago = NOON - timedelta(hours=1)
    assert last_encounter(Encounter(), facts()) == "This is the first time you two talk."
    assert last_encounter(Encounter(hour_ago, here=True), facts()) == (
        "The person last wrote to you an hour ago."
    )
    assert last_encounter(Encounter(hour_ago), facts("german")) == (
        "Euer letztes Gespräch war vor einer Stunde."
    )
    assert last_encounter(Encounter(hour_ago), facts("klingon")) == (
        "Your last conversation was an hour ago."
    )


def test_a_library_without_words_says_nothing() -> None:
    mute = Facts(Persona("bo", "Bo"), Profile(), NOON, "english", {})
    assert last_encounter(Encounter(NOON), mute) == ""
    assert last_encounter(Encounter(), mute) == ""
