"""One setting is set or taken out by its owner: checked first, everything else as it was."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from mentis import create_home, open_settings
from mentis.errors import SettingsError, UsageError


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


def text_of(home: Path) -> str:
    return (home / "mentis.toml").read_text(encoding="utf-8")


def test_a_setting_is_written_and_every_line_that_was_there_stays(home: Path) -> None:
    before = text_of(home)
    change = open_settings(home).set("routes.default.max_tokens", 64)
    assert (change.before, change.after) == (None, 64)
    after = text_of(home)
    assert [line for line in before.splitlines() if line not in after.splitlines()] == []
    assert tomllib.loads(after)["routes"] == {"default": {"max_tokens": 64}}
    open_settings(home).unset("routes.default.max_tokens")
    assert "max_tokens = 64" not in text_of(home)


def test_words_become_what_fits(home: Path) -> None:
    settings = open_settings(home)
    assert settings.set_text("routes.default.max_tokens", "64").after == 64
    assert settings.set_text("features.cortexEnabled", "false").after is False
    assert settings.set_text("routes.default.model", "some-model").after == "some-model"
    assert settings.set_text("routes.default.model", "7").after == "7"
    assert settings.set_text("routes.default.fallback", '["other"]').after == ["other"]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("routes.default.max_tokens", "many", "max_tokens"),
        ("routes.default.max_token", 3, "unknown setting"),
        ("name.inner", 3, "'name' is not a section"),
        ("limits.memory_chars", {1, 2}, "TOML cannot say"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_written(
    home: Path, key: str, value: object, said: str
) -> None:
    before = text_of(home)
    with pytest.raises(SettingsError, match="was not changed") as refused:
        open_settings(home).set(key, value)
    assert said in refused.value.message
    assert text_of(home) == before


def test_a_key_that_is_none_or_not_set_is_refused(home: Path) -> None:
    with pytest.raises(UsageError, match="is no key"):
        open_settings(home).set("routes default", 3)
    with pytest.raises(UsageError, match="is not set there"):
        open_settings(home).unset("routes.default.max_tokens")


def test_an_environment_variable_that_counts_instead_is_named(home: Path) -> None:
    environ = {"MENTIS_LIMITS__MEMORY_CHARS": "900"}
    change = open_settings(home, environ).set("limits.memory_chars", 700)
    assert change.overridden_by == "MENTIS_LIMITS__MEMORY_CHARS"


def test_a_route_in_one_line_is_changed_in_place(home: Path) -> None:
    path = home / "mentis.toml"
    line = 'default = { model = "x" } # mine'
    path.write_text(text_of(home).replace("[routes]", f"[routes]\n{line}"), encoding="utf-8")
    open_settings(home).set("routes.default.model", "y")
    assert 'default = { model = "y" } # mine' in text_of(home)
