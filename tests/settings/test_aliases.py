"""The names that settings had before load for ever; what is read and written has those of now."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from mentis import create_home, open_settings
from mentis.errors import SettingsError
from mentis.settings.aliases import OLDER_KEYS, OLDER_VALUES
from mentis.settings.settings import Settings, describe
from mentis.settings.sources import FILE, load_settings

CASES = [
    ("cortexEnabled", "persona_memory", False),
    ("experimentalMode", "experimental_variant", True),
    ("nachgedankeEnabled", "afterthoughts", True),
]


def load(folder: Path, text: str, **environ: str) -> Settings:
    (folder / FILE).write_text(text, encoding="utf-8")
    return load_settings(folder, environ)


def value_of(settings: Settings, key: str) -> tuple[object, str]:
    return next((one.value, one.origin) for one in settings.effective() if one.key == key)


def test_every_key_is_small_letters_and_every_older_one_leads_to_a_setting() -> None:
    keys = {one.key for one in describe()}
    assert [key for key in keys if key.replace("NAME", "name") != key.lower()] == []
    assert {".".join(key) for key in (*OLDER_KEYS.values(), *OLDER_VALUES)} <= keys
    assert {".".join(key) for key in OLDER_KEYS}.isdisjoint(keys)


def test_an_alias_stays_in_its_section() -> None:
    assert [old for old, now in OLDER_KEYS.items() if old[:-1] != now[:-1]] == []


@pytest.mark.parametrize(("old", "new", "value"), CASES)
def test_an_older_name_loads_from_the_file_and_from_a_variable_without_a_word(
    tmp_path: Path, old: str, new: str, value: bool
) -> None:
    assert {key[-1] for key in OLDER_KEYS} == {case[0] for case in CASES}
    said = str(value).lower()
    filed = load(tmp_path, f"[features]\n{old} = {said}\n")
    assert value_of(filed, f"features.{new}") == (value, f"mentis.toml:2 (as {old})")
    assert filed.notices == ()
    variable = f"MENTIS_FEATURES__{old.upper()}"
    given = load(tmp_path, "", **{variable: said})
    assert value_of(given, f"features.{new}") == (value, f"environment {variable}")


@pytest.mark.parametrize(
    ("old", "new"), [("selten", "rare"), ("mittel", "medium"), ("hoch", "frequent")]
)
def test_an_older_value_loads_as_the_one_of_now(tmp_path: Path, old: str, new: str) -> None:
    assert OLDER_VALUES[("afterthought", "mode")][old] == new
    assert load(tmp_path, f'[afterthought]\nmode = "{old}"\n').model.afterthought.mode == new
    variables = {"MENTIS_AFTERTHOUGHT__MODE": old}
    assert load(tmp_path, "", **variables).model.afterthought.mode == new


def test_both_names_may_say_the_same_and_never_two_things(tmp_path: Path) -> None:
    text = "[features]\ncortexEnabled = false\npersona_memory = {}\n"
    assert not load(tmp_path, text.format("false")).model.features.persona_memory
    with pytest.raises(SettingsError) as refused:
        load(tmp_path, text.format("true"))
    for name in ("features.cortexEnabled (line 2)", "features.persona_memory (line 3)"):
        assert name in refused.value.message


def test_two_variables_for_one_setting_are_refused_by_name(tmp_path: Path) -> None:
    both = {"MENTIS_FEATURES__CORTEXENABLED": "0", "MENTIS_FEATURES__PERSONA_MEMORY": "1"}
    with pytest.raises(SettingsError) as refused:
        load(tmp_path, "", **both)
    assert all(name in refused.value.message for name in both)


def test_a_variable_counts_over_the_file_whichever_name_each_uses(tmp_path: Path) -> None:
    old = load(tmp_path, "[features]\npersona_memory = true\n", MENTIS_FEATURES__CORTEXENABLED="0")
    assert not old.model.features.persona_memory
    new = load(tmp_path, "[features]\ncortexEnabled = true\n", MENTIS_FEATURES__PERSONA_MEMORY="0")
    assert not new.model.features.persona_memory


def test_a_wrong_value_is_told_with_the_name_and_place_it_has_in_the_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r":2:1: features.cortexEnabled: .*'perhaps'"):
        load(tmp_path, "[features]\ncortexEnabled = 'perhaps'\n")


def test_what_is_written_has_the_name_of_now(tmp_path: Path) -> None:
    home = create_home(tmp_path / "home")
    file = home / FILE
    old = "[features]\ncortexEnabled = true  # told\nprompt_caching = true\n"
    file.write_text(f"{file.read_text()}\n{old}", encoding="utf-8")
    change = open_settings(home, {}).set("features.cortexEnabled", False)
    assert (change.key, change.before, change.after) == ("features.persona_memory", True, False)
    text = file.read_text(encoding="utf-8")
    assert tomllib.loads(text)["features"] == {"persona_memory": False, "prompt_caching": True}
    assert "persona_memory = false  # told" in text
    assert open_settings(home, {}).set("afterthought.mode", "selten").after == "rare"


def test_an_older_line_is_taken_out_by_either_name(tmp_path: Path) -> None:
    home = create_home(tmp_path / "home")
    for name in ("features.cortexEnabled", "features.persona_memory"):
        file = home / FILE
        before = file.read_text(encoding="utf-8")
        file.write_text(f"{before}\n[features]\ncortexEnabled = false\n", encoding="utf-8")
        assert open_settings(home, {}).unset(name).after is None
        assert "cortexEnabled" not in file.read_text(encoding="utf-8")
        file.write_text(before, encoding="utf-8")
