"""A home of earlier days, with names and keys of its time: it opens, and nothing is silent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import Mentis

OLD = """
[features]
cortexEnabled = false
[afterthought]
mode = "selten"
[run]
poll = 5
"""


@pytest.fixture
def old_home(home: Path) -> Path:
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write(OLD)
    return home


@pytest.mark.filterwarnings("always::mentis.settings.constant.RetiredSettingWarning")
def test_a_command_says_what_has_no_effect_any_more_and_nothing_of_older_names(
    mentis: Mentis, old_home: Path
) -> None:
    done = mentis("--home", old_home, "persona", "list")
    assert done.code == 0
    assert "run.poll has no effect any more, it is always 1.0" in done.err
    assert "UserWarning" not in done.err
    for name in ("cortexEnabled", "selten", "persona_memory"):
        assert name not in done.err


@pytest.mark.filterwarnings("ignore::mentis.settings.constant.RetiredSettingWarning")
def test_settings_shows_the_names_of_now_and_the_notices(mentis: Mentis, old_home: Path) -> None:
    told: Any = mentis("--home", old_home, "settings", "--json").json()
    rows = {one["key"]: (one["value"], one["origin"].partition(" ")[2]) for one in told["settings"]}
    assert rows["features.persona_memory"] == (False, "(as cortexEnabled)")
    assert rows["afterthought.mode"] == ("rare", "")
    assert "run.poll" not in rows
    assert [one["key"] for one in told["notices"]] == ["run.poll"]
    assert mentis("--home", old_home, "settings", "unset", "run.poll").code == 0
    assert mentis("--home", old_home, "settings", "--json").json()["notices"] == []


def test_an_older_name_is_written_as_the_one_of_now(mentis: Mentis, home: Path) -> None:
    done = mentis("--home", home, "settings", "set", "features.nachgedankeEnabled", "true")
    assert "features.afterthoughts: not set -> true" in done.err
    refused = mentis("--home", home, "settings", "set", "run.poll", "5")
    assert refused.code != 0
    assert "run.poll was not changed: it is no setting any more, and always 1.0" in refused.err
