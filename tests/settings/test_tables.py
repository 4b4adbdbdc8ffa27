"""Tables of mentis.toml come and go, and no other byte changes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from mentis.errors import SettingsError, UsageError
from mentis.settings.tables import add_table, remove_table, restore

BEFORE = '# mine\nname = "x"  # kept\n\n[routes]\ndefault = { replies = ["[tools.weather]"] }\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "mentis.toml").write_text(BEFORE, encoding="utf-8")
    return tmp_path


def text(home: Path) -> str:
    return (home / "mentis.toml").read_text(encoding="utf-8")


def test_a_table_is_added_at_the_end(home: Path) -> None:
    add_table(home, "tools", "time", {"command": ["uvx", 'a "b"'], "keys": {"k": "V"}, "url": "é"})
    assert text(home).startswith(BEFORE)
    assert tomllib.loads(text(home))["tools"] == {
        "time": {"command": ["uvx", 'a "b"'], "keys": {"k": "V"}, "url": "é"}
    }


def test_what_was_added_is_removed_with_all_below_it_and_nothing_else(home: Path) -> None:
    add_table(home, "tools", "time", {"command": ["a"]})
    middle = text(home)
    (home / "mentis.toml").write_text(
        middle + "[tools.time.acts.now]\nidempotent = true\n\n[store]\nbusy_seconds = 1\n",
        encoding="utf-8",
    )
    remove_table(home, "tools", "time")
    assert text(home) == BEFORE + "\n[store]\nbusy_seconds = 1\n"


def test_the_only_table_of_a_section_is_removed_where_the_section_has_a_header(home: Path) -> None:
    (home / "mentis.toml").write_text("[routes]\n# none yet\n", encoding="utf-8")
    add_table(home, "routes", "fast", {"preset": "groq"})
    remove_table(home, "routes", "fast")
    assert text(home).strip() == "[routes]\n# none yet"


def test_adding_and_restoring_changes_nothing(home: Path) -> None:
    restore(home, add_table(home, "tools", "time", {"command": ["a"]}))
    assert text(home) == BEFORE


def test_a_name_that_is_taken_or_not_there_is_refused(home: Path) -> None:
    add_table(home, "tools", "time", {"command": ["a"]})
    with pytest.raises(UsageError, match="already"):
        add_table(home, "tools", "time", {"command": ["b"]})
    with pytest.raises(UsageError, match=r"there is no tools\.other"):
        remove_table(home, "tools", "other")


@pytest.mark.parametrize(
    "written", ['tools = { time = { command = ["a"] } }\n', "[tools]\ntime.command = ['a']\n"]
)
def test_what_is_written_in_another_way_is_left_to_its_owner(home: Path, written: str) -> None:
    (home / "mentis.toml").write_text(written, encoding="utf-8")
    with pytest.raises(SettingsError, match="cannot be changed for you") as refused:
        remove_table(home, "tools", "time")
    assert refused.value.hint == "mentis settings unset tools.time"
    assert text(home) == written
