"""`mentis compare` and `mentis eval answers`."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Mentis
from .paid import make_home

OTHER = '[routes.other]\nreplies = ["Who knows.", "Nobody."]\n'
MESSAGES = '{"message": "Who are you?", "contains": "One"}\nTell me a colour.\n'


@pytest.fixture
def talk(home: Path, tmp_path: Path) -> Path:
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n{OTHER}")
    path = tmp_path / "talk.txt"
    path.write_text(MESSAGES, encoding="utf-8")
    return path


def test_two_sides_are_shown_with_rates_intervals_cost_and_reasons(
    mentis: Mentis, home: Path, talk: Path
) -> None:
    done = mentis("compare", talk, "--b", "route=other", "--home", home)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0].split() == ["message", "A", "B"]
    assert lines[2].split("  ")[0] == "Who are you?"
    assert lines[2].split()[-6:] == ["1", "of", "1", "0", "of", "1"]
    assert lines[3].endswith("no check  no check")
    first, second = (line for line in lines if line.startswith(("A ", "B ")) and "script" in line)
    assert "1 of 1  100%  21% to 100%" in first
    assert "0 of 1    0%    0% to 79%" in second
    assert lines[-2].startswith("B passes 100 points less often (95 %: -100 to ")
    assert lines[-2].endswith("chance alone may explain it")
    assert lines[-1] == "B, Who are you?: does not contain 'One'"
    assert "at no cost" in done.err


def test_the_same_answers_are_judged_again_from_a_file(
    mentis: Mentis, home: Path, talk: Path, tmp_path: Path
) -> None:
    kept, asked = tmp_path / "kept.json", ("compare", talk, "--b", "route=other", "--home", home)
    first = mentis(*asked, "--keep", kept, "--json").json()
    again = mentis(*asked, "--replay", kept, "--json").json()
    assert again == {**first, "replayed": True}
    strict = mentis(*asked, "--replay", kept, "--regex", "Who")
    assert "A, Tell me a colour.: nothing matches 'Who'" in strict.out
    assert "nobody was asked" in strict.err


def test_a_block_from_a_file_and_functions_of_ones_own(
    mentis: Mentis, home: Path, tmp_path: Path
) -> None:
    brief, checks, talk = (tmp_path / name for name in ("brief.md", "checks.py", "talk.jsonl"))
    brief.write_text("Be brief.\n")
    checks.write_text("def short(answer):\n    return len(answer) < 5\n")
    talk.write_text('{"message": "Hi", "function": "short"}')
    side, own = f"block:style={brief}", ("--functions", checks)
    done = mentis("compare", talk, "--b", side, *own, "--answers", "--home", home)
    assert "+Be brief." in done.out
    assert "A (ok)> One." in done.out
    plan = mentis("compare", talk, "--b", side, *own, "--plan", "--home", home, "--json").json()
    assert (plan["calls"], plan["free"]) == (2, True)
    missing = mentis("compare", talk, "--b", side, "--home", home)
    assert missing.code == 1
    assert "there is no function 'short'" in missing.err
    assert "calls" not in missing.err, "before any price is told"


def test_what_costs_is_asked_first(mentis: Mentis, tmp_path: Path) -> None:
    home, talk = make_home(tmp_path / "home"), tmp_path / "talk.txt"
    talk.write_text("Hi")
    done = mentis("compare", talk, "--b", "route=other", "--home", home)
    assert done.code == 2
    assert "for at most $" in done.err
    assert "--yes" in done.err


@pytest.mark.parametrize("side", ["route", "colour=red", "block:style=nosuch.md"])
def test_a_side_that_is_none_is_told(mentis: Mentis, home: Path, talk: Path, side: str) -> None:
    done = mentis("compare", talk, "--b", side, "--home", home)
    assert done.code == 2
    assert "hint:" in done.err


def test_one_side_alone_is_measured_and_its_score_ends_the_command(
    mentis: Mentis, home: Path, talk: Path
) -> None:
    assert "say what B is" in mentis("compare", talk, "--home", home).err
    good = mentis("eval", "answers", talk, "--home", home)
    assert (good.code, "1 of 1" in good.out) == (0, True)
    low = mentis("eval", "answers", talk, "--side", "route=other", "--home", home)
    assert (low.code, "below 1" in low.err) == (1, True)
    assert mentis("eval", "answers", talk, "--contains", "x", "--min-score", "0", "--home", home)
