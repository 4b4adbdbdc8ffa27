"""`mentis replay` and `mentis fork`."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from .conftest import Mentis


@pytest.fixture
def talked(mentis: Mentis, home: Path) -> Path:
    mentis("--home", home, "chat", "Hello")
    (home.parent / "style.md").write_text("Speak like a pirate.\n")
    return home


def test_replay_says_whether_every_byte_is_the_same(mentis: Mentis, talked: Path) -> None:
    done = mentis("--home", talked, "replay", "0")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("entry 0, session main: byte-identical, ")
    told = mentis("--home", talked, "replay", "0", "--json", "--explain").json()
    assert (told["identical"], told["apart"]) == (True, None)
    assert "style" in str(told["blocks"])
    body = mentis("--home", talked, "replay", "0", "--body")
    assert (len(body.out.encode()), body.code) == (told["bytes"], 0)
    explained = mentis("--home", talked, "replay", "0", "--explain")
    assert "embedding calls: 0" in explained.out
    assert mentis("--home", talked, "replay", "0", "--body", "--json").code == 2


def test_replay_exits_with_1_and_names_the_place_when_it_is_not(
    mentis: Mentis, talked: Path
) -> None:
    mentis("--home", talked, "chat", "Again")
    with closing(sqlite3.connect(talked / "mentis.db")) as connection, connection:
        connection.execute("UPDATE turns SET turn = replace(turn, 'Hello', 'Hallo')")
    done = mentis("--home", talked, "replay", "1")
    assert done.code == 1
    assert "not the same: the first difference is in bytes " in done.out
    assert "user turn 0" in done.out
    gone = mentis("--home", talked, "replay", "7")
    assert (gone.code, gone.err.count("\n")) == (2, 2)
    assert "there is no entry 7" in gone.err
    assert mentis("--home", talked, "replay", "0", "--live").code == 2


def test_fork_shows_the_difference_and_goes_on_only_when_asked(
    mentis: Mentis, talked: Path
) -> None:
    change = f"style={talked.parent / 'style.md'}"
    done = mentis("--home", talked, "fork", "0", "--block", change)
    assert done.code == 0
    assert "\n+Speak like a pirate.\n" in done.out
    assert "tokens as it was" in done.err
    assert "the first difference is at byte" in done.err
    assert len(mentis("--home", talked, "ledger", "show", "--json").out) > 0
    assert mentis("--home", talked, "replay", "1").code == 2  # nothing was recorded
    script = talked.parent / "replies.json"
    script.write_text('["Arr."]')
    told = mentis("--home", talked, "fork", "0", "--block", change, "--script", script, "--json")
    answer = told.json()["answer"]
    assert isinstance(answer, dict)
    assert (answer["text"], answer["session"]) == ("Arr.", "fork-0")
    assert mentis("--home", talked, "replay", "1").code == 0
    live = mentis("--home", talked, "fork", "0", "--block", change, "--live")
    assert live.out.endswith("\nOne.\n")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--block", "style"), "is not ID=FILE"),
        (("--block", "style=none.md"), "none.md cannot be read"),
        (("--block", "stile={style}"), "had no block 'stile'"),
        (("--block", "style={style}", "--live", "--script", "x"), "not with both"),
        (("--block", "style={style}", "--script", "x.txt"), "x.txt cannot be read"),
        ((), "--block"),
    ],
)
def test_a_fork_that_makes_no_sense_is_refused(
    mentis: Mentis, talked: Path, args: tuple[str, ...], words: str
) -> None:
    given = [arg.format(style=talked.parent / "style.md") for arg in args]
    done = mentis("--home", talked, "fork", "0", *given)
    assert done.code in (1, 2)
    assert words in done.err
