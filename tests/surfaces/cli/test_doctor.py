"""`mentis doctor`: logs of other programs, read where there is no home."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from tests.doctor.logs import ClaudeSession, long_session

from mentis.values.reply import Usage

from .conftest import Mentis
from .paid import Paid, make_home, open_paid


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


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person with Claude Code, and one long session of yesterday."""
    person = tmp_path / "person"
    monkeypatch.setenv("HOME", str(person))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(person / ".claude"))
    monkeypatch.setenv("CODEX_HOME", str(person / ".codex"))
    monkeypatch.setenv("MENTIS_CONFIG", str(tmp_path / "config"))
    long_session().write(person / ".claude" / "projects")
    return person


def test_a_patch_is_shown_applied_measured_and_taken_back(mentis: Mentis, user: Path) -> None:
    settings = user / ".claude" / "settings.json"
    refused = mentis("doctor", "--apply")
    assert refused.code == 2
    assert not settings.exists()
    done = mentis("doctor", "--apply", "--yes")
    assert '+    "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"' in done.out
    assert "CLAUDE_CODE_AUTO_COMPACT_WINDOW" in settings.read_text()
    measured = mentis("doctor", "--since-fix")
    assert "env.CLAUDE_CODE_AUTO_COMPACT_WINDOW = '100000'" in measured.out
    assert "not calls enough" in measured.err
    assert "nothing can be changed safely" in mentis("doctor", "--apply", "--yes").out
    undone = mentis("doctor", "--undo", "--yes", "--json").json()
    assert undone["left"] == ""
    assert settings.read_text() == "{}\n"
    assert mentis("doctor", "--undo", "--yes").code == 1
    assert mentis("doctor", "--since-fix").code == 1


def test_only_a_finding_that_there_is_can_be_applied(mentis: Mentis, user: Path) -> None:
    wrong = mentis("doctor", "--apply", "--finding", "hope", "--yes")
    assert (wrong.code, "no finding is called 'hope'" in wrong.err) == (1, True)
    done = mentis("doctor", "--apply", "--finding", "context", "--yes", "--json").json()
    assert len(cast("list[object]", done["changed"])) == 1
    assert (user / ".claude" / "settings.json").exists()


def test_the_page_is_written_beside_the_report(mentis: Mentis, folder: Path) -> None:
    page = folder / "page.html"
    done = mentis("doctor", folder, "--html", page)
    assert str(page) in done.err
    assert page.read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.anyio
async def test_a_home_of_ours_is_read_like_other_logs(mentis: Mentis, tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    async with open_paid(home, Paid(("Yes.", Usage(1700, 40, cache_read=500)))) as agent:
        await agent.chat("Hi")
    told = mentis("doctor", home, "--json").json()
    total = cast("dict[str, object]", told["total"])
    assert (total["calls"], total["input"], total["cached"]) == (1, 1700, 500)
