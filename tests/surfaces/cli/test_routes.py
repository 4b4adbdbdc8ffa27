"""`mentis routes`: presets, adding and removing, and what was learned."""

from __future__ import annotations

from pathlib import Path

import pytest

from mentis.facts.presets import PRESETS
from mentis.home.create import create_home
from mentis.home.learned_facts import LearnedFacts
from mentis.settings.sources import load_settings
from mentis.values.learned import LearnedFact

from .conftest import Mentis


def test_presets_are_listed_with_the_page_each_was_read_from(mentis: Mentis) -> None:
    done = mentis("routes", "presets")
    assert done.code == 0
    assert all(name in done.out for name in PRESETS)
    assert "groq: read on 2026-11-16 from https://console.groq.com/docs/openai" in done.err
    assert len(mentis("routes", "presets", "--json").json()["presets"]) == len(PRESETS)  # pyright: ignore[reportArgumentType]  # a list


def test_a_route_is_added_at_a_preset_and_taken_out_again(mentis: Mentis, home: Path) -> None:
    before = (home / "mentis.toml").read_text()
    done = mentis(
        "routes", "add", "fast", "--preset", "mistral", "--model", "small", "--home", home
    )
    assert done.code == 0
    assert "its key is read from MISTRAL_API_KEY" in done.err
    route = load_settings(home, {}).route("fast")
    assert (route.url, route.key_env) == ("https://api.mistral.ai/v1", "MISTRAL_API_KEY")
    assert route.facts == {"option_names": ["seed=random_seed"]}
    assert mentis("routes", "add", "fast", "--preset", "xai", "--model", "m", "--home", home).code
    assert mentis("routes", "remove", "fast", "--home", home).code == 0
    assert (home / "mentis.toml").read_text().strip() == before.strip()


def test_a_new_home_is_as_before_when_its_only_route_is_taken_out(
    mentis: Mentis, tmp_path: Path
) -> None:
    home = create_home(tmp_path / "new")
    before = (home / "mentis.toml").read_text()
    added = mentis("routes", "add", "fast", "--preset", "groq", "--model", "m", "--home", home)
    assert added.code == 0
    assert mentis("routes", "remove", "fast", "--home", home).code == 0
    assert (home / "mentis.toml").read_text().strip() == before.strip()


def test_settings_are_shown_as_the_file_would_say_them(mentis: Mentis, home: Path) -> None:
    shown = mentis("settings", "--home", home).out
    row = next(line for line in shown.splitlines() if line.startswith("routes.default.caching "))
    assert row.split()[1] == "true"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--preset", "grok"), "there is no preset 'grok'"),
        (("--preset", "azure"), "https://RESOURCE.openai.azure.com/openai/v1"),
        ((), "a route needs a place"),
        (("--url", "http://elsewhere.example/v1", "--key-env", "KEY"), "https"),
    ],
)
def test_a_route_that_would_not_work_is_not_written(
    mentis: Mentis, home: Path, given: tuple[str, ...], said: str
) -> None:
    before = (home / "mentis.toml").read_text()
    done = mentis("routes", "add", "fast", "--model", "m", *given, "--home", home)
    assert done.code != 0
    assert said in done.err
    assert (home / "mentis.toml").read_text() == before


def test_what_was_learned_is_shown_and_forgotten(mentis: Mentis, home: Path) -> None:
    assert (
        mentis("routes", "add", "r", "--preset", "groq", "--model", "m", "--home", home).code == 0
    )
    route = load_settings(home, {}).route("r")
    lesson = LearnedFact("refuses", "top_k", "property 'top_k' is unsupported")
    LearnedFacts(home).learn(route, lesson, time="2026-11-16T12:00:00+00:00")
    shown = mentis("routes", "learned", "r", "--home", home)
    assert "it takes no top_k" in shown.out
    assert (
        "learned on 2026-11-16: it takes no top_k"
        in mentis("routes", "check", "r", "--home", home).err
    )
    assert mentis("routes", "learned", "r", "--forget", "--json", "--home", home).json()[
        "forgotten"
    ]
    assert "top_k" not in mentis("routes", "learned", "--home", home).out
