"""A history of status windows moves into a record; what is in a record is not taken back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.status.test_history import history

from mentis import create_home
from mentis.errors import MentisError, UsageError
from mentis.homes import import_file, plan_file_import, undo_import
from mentis.status.statuses import open_statuses


def test_a_history_becomes_entries_that_stay(tmp_path: Path) -> None:
    home = create_home(tmp_path / "home")
    file = tmp_path / "status_window_history.json"
    file.write_text(json.dumps(history(3)), encoding="utf-8")
    plan = plan_file_import(home, file)
    assert [(one.part, one.becomes) for one in plan.parts] == [("entries (3)", "entries of ada")]
    assert import_file(home, file).state == "recorded"
    with open_statuses(home) as statuses:
        assert statuses.import_history(file.read_bytes()).known == 3
    with pytest.raises(UsageError, match="no import to undo"):
        undo_import(home)


def test_a_history_with_an_entry_that_does_not_verify_is_refused(tmp_path: Path) -> None:
    home = create_home(tmp_path / "home")
    told = history(2)
    told["entries"][1]["status_window"]["goal"] = "another"
    (tmp_path / "h.json").write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(MentisError):
        import_file(home, tmp_path / "h.json")
    assert not list((home / "imports").glob("0*"))
