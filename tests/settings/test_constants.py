"""What nobody has a reason to turn is a constant; a home that sets it opens, and is told."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from mentis import create_home, open_settings
from mentis.errors import SettingsError
from mentis.settings.constant import RetiredSettingWarning
from mentis.settings.settings import Settings, constants, describe
from mentis.settings.sources import FILE, load_settings


def load(folder: Path, text: str, **environ: str) -> tuple[Settings, list[str]]:
    (folder / FILE).write_text(text, encoding="utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        settings = load_settings(folder, environ)
    assert all(isinstance(one.message, RetiredSettingWarning) for one in caught)
    return settings, [str(one.message) for one in caught]


def test_a_constant_says_what_it_is_and_why_and_is_no_setting() -> None:
    found = constants()
    assert found
    assert [key for key, one in found.items() if not (one.doc and one.reason.endswith("."))] == []
    assert {".".join(key) for key in found}.isdisjoint(one.key for one in describe())


def test_every_key_that_became_a_constant_still_loads_without_an_effect_and_is_told(
    tmp_path: Path,
) -> None:
    lines = [f"[{key[0]}]\n{key[1]} = 3\n" for key in constants()]
    for line, (key, constant) in zip(lines, constants().items(), strict=True):
        settings, said = load(tmp_path, line)
        (notice,) = settings.notices
        assert (notice.key, notice.origin) == (".".join(key), "mentis.toml:2")
        assert (notice.given, notice.constant) == (3, constant.value)
        assert getattr(getattr(settings.model, key[0]), key[1]) == constant.value
        assert said == [notice.message]
        assert ".".join(key) not in {one.key for one in settings.effective()}


def test_a_variable_without_an_effect_is_told_by_its_name(tmp_path: Path) -> None:
    settings, said = load(tmp_path, "", MENTIS_RUN__POLL="9")
    assert settings.model.run.poll == 1.0
    (line,) = said
    assert line == (
        "environment MENTIS_RUN__POLL: run.poll has no effect any more, it is always 1.0. It wakes"
        " an agent that sleeps: a look at a folder, seldom enough to cost nothing. Take it out."
    )


def test_settings_that_are_turned_are_told_of_nothing(tmp_path: Path) -> None:
    settings, said = load(tmp_path, "[run]\ninterval = 5\n")
    assert (settings.notices, said) == ((), [])


def test_a_constant_is_not_set_and_its_old_line_is_taken_out(tmp_path: Path) -> None:
    home = create_home(tmp_path / "home")
    with pytest.raises(SettingsError, match=r"run.poll was not changed: .* always 1\.0") as refused:
        open_settings(home, {}).set("run.poll", 5)
    assert refused.value.hint == constants()[("run", "poll")].reason
    file = home / FILE
    before = file.read_text(encoding="utf-8")
    file.write_text(f"{before}\n[run]\npoll = 5\n", encoding="utf-8")
    assert open_settings(home, {}).unset("run.poll").before == 5
    assert "poll" not in file.read_text(encoding="utf-8")
