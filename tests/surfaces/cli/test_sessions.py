"""`mentis sessions`, `mentis afterthought`, and the chat that begins or asks again."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event

import pytest

from mentis.surfaces.cli import chat_loop, chat_terminal
from mentis.surfaces.cli.answer_show import AnswerPrinter
from mentis.talk import idle_plan as quiet
from mentis.turn.turn import TurnResult

from .conftest import Mentis


def test_a_conversation_is_begun_asked_again_titled_and_shown(mentis: Mentis, home: Path) -> None:
    where = ("--home", home)
    first = mentis("chat", "--first", *where)
    assert (first.code, first.out) == (0, "One.\n")
    again = mentis("chat", "--regenerate", *where)
    assert again.code == 2
    assert "nobody has said anything" in again.err
    asked = mentis("chat", "Hello", "--json", *where)
    assert asked.json()["text"] == "One."  # the script begins anew with each process
    edited = mentis("sessions", "edit", "main", "1", "Good day", *where)
    assert (edited.code, edited.out) == (0, "One.\n")
    titled = mentis("sessions", "title", "main", "A first talk", *where)
    assert titled.out == "A first talk\n"
    asked_for = mentis("sessions", "title", "main", "--json", *where)
    assert asked_for.json() == {"title": "One", "entry": 4, "fallback": False}
    found = mentis("sessions", "search", "a good day", *where)
    assert found.out == "main 3  user: Good day\n"
    (hit,) = json.loads(mentis("sessions", "search", "good", "--json", *where).out)
    assert (hit["session"], hit["role"], hit["text"]) == ("main", "user", "Good day")
    (listed,) = json.loads(mentis("sessions", "list", "--json", *where).out)
    assert (listed["title"], listed["told"], listed["replaced"]) == ("One", 3, 2)
    shown = json.loads(mentis("sessions", "show", "main", "--json", *where).out)
    assert [(turn["kind"], turn["counts"]) for turn in shown] == [
        ("said", True),
        ("said", False),
        ("said", False),
        ("said", True),
        ("said", True),
        ("title", True),
        ("title", True),
    ]
    table = mentis("sessions", "show", *where).out
    assert "replaced" in table
    assert "replaces 1" in table
    verified = mentis("status", "verify", "--json", *where)
    assert verified.code == 0
    assert "said anew as turn 3" in verified.out


def test_long_lists_are_shown_by_pages_and_a_program_gets_all_of_them(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mentis.surfaces.cli.pages.PAGE", 2)
    where = ("--home", home)
    for session in ("x1", "x2", "x3"):
        assert mentis("chat", f"Hello {session}", "--session", session, *where).code == 0
    assert mentis("chat", "And?", "--session", "x1", *where).code == 0
    listed = mentis("sessions", "list", *where)
    assert "x2" in listed.out
    assert "x3" not in listed.out
    assert "there are more: add --after x2" in listed.err
    assert "x3" in mentis("sessions", "list", "--after", "x2", *where).out
    assert len(json.loads(mentis("sessions", "list", "--json", *where).out)) == 3
    nowhere = mentis("sessions", "list", "--after", "x9", *where)
    assert (nowhere.code, "--after x9" in nowhere.err) == (2, True)
    shown = mentis("sessions", "show", "x1", *where)
    assert "Hello x1" in shown.out
    assert "And?" not in shown.out
    assert "there are more: add --after 1" in shown.err
    assert "And?" in mentis("sessions", "show", "x1", "--after", "1", *where).out
    newest = mentis("sessions", "show", "x1", "--newest", "--limit", "1", *where)
    assert "Hello x1" not in newest.out
    assert "there are more: add --after 3" in newest.err
    before = mentis("sessions", "show", "x1", "--newest", "--after", "3", "--json", *where)
    assert [turn["number"] for turn in json.loads(before.out)] == [0, 1, 2]
    assert mentis("sessions", "show", "x1", "--after", "x", *where).code == 2
    every = json.loads(mentis("prompts", "list", "--json", *where).out)["blocks"]
    first, second, third = [block["id"] for block in every][:3]
    assert f"there are more: add --after {second}" in mentis("prompts", "list", *where).err
    after = mentis("prompts", "list", "--after", first, "--limit", "2", "--json", *where).out
    assert [block["id"] for block in json.loads(after)["blocks"]] == [second, third]


def test_the_scope_decides_what_is_told_of_other_conversations(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = ("--home", home)
    assert mentis("chat", "The tide turns.", "--session", "x1", *where).code == 0
    assert mentis("beat", "curiosity", *where).out == "One.\n"
    ask = ("And?", "--session", "x2", *where)
    plain = mentis("render", *ask, "--body")
    assert "tide" not in plain.out
    assert "[Thoughts and diary entries]\\n- One." in plain.out
    recent = mentis("render", *ask, "--scope", "recent", "--body").out
    assert "x1: user: The tide turns." in recent
    assert (
        "[session:x1]\\nThe tide turns."
        in mentis("render", *ask, "--scope", "unified", "--body").out
    )
    assert "x1: user: The tide turns." in mentis("compose", *ask, "--scope", "recent").out
    assert "The tide turns." in mentis("live", "--scope", "unified", *where).out
    monkeypatch.setenv("MENTIS_CONVERSATIONS__SCOPE", "recent")
    assert mentis("render", *ask, "--body").out == recent
    assert mentis("chat", "--scope", "local", *ask).code == 0
    assert mentis("chat", "--scope", "all", *ask).code == 2
    assert mentis("chat", "--regenerate", "--scope", "local", *where).code == 2


def test_a_message_that_failed_is_kept_and_not_counted_as_told(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = ("--home", home)
    assert mentis("chat", "Hello", *where).code == 0
    monkeypatch.setenv("MENTIS_BUDGETS__DAY_TOKENS", "1")
    assert mentis("chat", "And now?", *where).code == 1
    (listed,) = json.loads(mentis("sessions", "list", "--json", *where).out)
    assert (listed["turns"], listed["told"], listed["unanswered"]) == (3, 2, [2])


def test_an_afterthought_is_asked_for_and_told(mentis: Mentis, home: Path) -> None:
    where = ("--home", home)
    assert "has not said anything" in mentis("afterthought", *where).err
    mentis("chat", "Hello", *where)
    thought = mentis("afterthought", "--json", *where)
    assert thought.json() == {
        "session": "main",
        "decision": "wait",
        "thought": "One.",
        "text": None,
        "entries": [1],
    }
    done = mentis("sessions", "summarise", *where)
    assert (done.code, done.out) == (0, "")
    assert "no older turns" in done.err


def test_what_begins_by_itself_takes_no_message(mentis: Mentis, home: Path) -> None:
    done = mentis("chat", "--first", "Hello", "--home", home)
    assert done.code == 2
    assert "--first takes no message" in done.err


def test_on_a_terminal_the_persona_writes_once_more_while_nobody_does(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toml = (home / "mentis.toml").read_text(encoding="utf-8")
    replies = toml.replace('"Two."', '"I forgot something. [afterthought_ok]"')
    on = '\n[features]\nnachgedankeEnabled = true\n[afterthought]\nmode = "hoch"\n'
    (home / "mentis.toml").write_text(replies + on, encoding="utf-8")
    monkeypatch.setattr(quiet, "PHASES", ((0.0, 0.0), (3600.0, 3600.0)))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    wrote, lines, show_end = Event(), iter(["Hello"]), chat_loop.show_end

    def read_line(_prompt: str) -> str:
        for line in lines:
            return line
        assert wrote.wait(60)
        raise EOFError

    def tell(result: TurnResult, printer: AnswerPrinter) -> None:
        show_end(result, printer)
        wrote.set()

    monkeypatch.setattr(chat_terminal, "read_line", read_line)
    monkeypatch.setattr(chat_loop, "show_end", tell)
    done = mentis("chat", "--home", home)
    assert (done.code, done.out) == (0, "One.\nThree.\n")
    shown = json.loads(mentis("sessions", "show", "--json", "--home", home).out)
    assert [turn["kind"] for turn in shown] == ["said", "said", "thought", "said"]


def test_the_last_exchange_is_taken_back_and_an_earlier_answer_is_told_again(
    mentis: Mentis, home: Path
) -> None:
    where = ("--home", home)
    mentis("chat", "Hello", *where)
    toml = (home / "mentis.toml").read_text(encoding="utf-8")
    (home / "mentis.toml").write_text(toml.replace('"One."', '"Better."'), encoding="utf-8")
    mentis("chat", "--regenerate", *where)
    listed = json.loads(mentis("sessions", "answers", "--json", *where).out)
    assert [one["text"] for one in listed] == ["One.", "Better."]
    done = mentis("sessions", "answers", "--restore", "0", *where)
    assert "is told again" in done.err
    assert mentis("sessions", "undo", *where).code == 0
    shown = json.loads(mentis("sessions", "show", "--json", *where).out)
    assert [one["kind"] for one in shown if one["counts"]] == ["undo"]
