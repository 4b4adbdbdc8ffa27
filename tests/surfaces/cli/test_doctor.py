"""`mentis doctor`: logs of other programs, read where there is no home."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from tests.doctor.logs import ClaudeSession, long_session

from .conftest import Mentis


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    long_session().write(tmp_path)
    made = ClaudeSession()
    made.answer(5000)
    made.answer(100, found=0)
    made.write(tmp_path)
    return tmp_path


def test_it_says_where_the_money_went_and_what_to_change(mentis: Mentis, folder: Path) -> None:
    told = mentis("doctor", folder).out
    assert told.index("the context, read again") < told.index("what the models wrote")
    assert "1. The growing context is read again in every call" in told
    assert "(usage only); saves $" in told
    assert "CLAUDE_CODE_AUTO_COMPACT_WINDOW" in told
    assert "results of Bash" in told


def test_it_needs_no_home_and_makes_none(
    mentis: Mentis, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MENTIS_HOME", str(tmp_path / "nowhere"))
    total = cast("dict[str, object]", mentis("doctor", folder, "--json").json()["total"])
    assert total["calls"] == 62
    assert not (tmp_path / "nowhere").exists()


def test_a_budget_for_waste_decides_the_exit_code(mentis: Mentis, folder: Path) -> None:
    done = mentis("doctor", folder, "--max-waste", "0.1%", "--json")
    assert done.code == 1
    assert done.json()["within"] is False
    within = mentis("doctor", folder, "--max-waste", "50%")
    assert "within the budget" in within.out
    wrong = mentis("doctor", folder, "--max-waste", "much")
    assert (wrong.code, "is no share" in wrong.err) == (2, True)


def test_scenarios_stand_beside_what_was_paid(mentis: Mentis, folder: Path) -> None:
    told = mentis("doctor", folder, "--what-if", "life=1h", "--what-if", "compact=50k").out
    assert "compact=50000" in told
    assert "life=1h" in told
    assert "no scenario" in mentis("doctor", folder, "--what-if", "magic").err


def test_without_logs_it_says_where_it_looked(
    mentis: Mentis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "MENTIS_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    failed = mentis("doctor")
    assert failed.code == 1
    assert "no log of a program was found" in failed.err
    assert "projects" in failed.err
