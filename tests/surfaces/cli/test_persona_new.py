"""`mentis persona new` asks at a terminal and takes options elsewhere; the page shows how."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from fcntl import ioctl
from pathlib import Path
from typing import Any

import pytest

from mentis import create_home
from mentis.prompts.persona_fields import FIELDS

from .conftest import Mentis

PAGE = Path(__file__).parents[3] / "docs" / "concepts" / "personas.md"
PICTURE = re.compile(
    r"(<!-- picture: persona-new -->\n```text\n)(.*?)(```\n<!-- end of picture -->)", re.DOTALL
)
STUBBORN = {
    "name": "Stubborn",
    "description": "You do not give in when you are right.",
    "behaviours": ["You say it twice."],
}
TYPED = {
    "name": ["Bob"],
    "type": ["human"],
    "age": ["sixty-one", "61"],
    "gender": [""],
    "languages": ["english, german"],
    "background": ["You kept the light of a small harbour for thirty years."],
    "traits": ["*stubborn", "Dry: You use few words.", ""],
    "knowledge": ["Knots: how to tie them, and which one holds", ""],
    "expression": [""],
    "scenarios": ["The kitchen below the lamp: It is November, the wind is up.", ""],
    "greeting": ["*looks up* Ahoy. Mind the step."],
    "dialogue": ["Will it rain? => Look out of the window.", ""],
}


def drafting(home: Path) -> Path:
    """A home whose model answers with a draft."""
    answers = json.dumps([json.dumps(STUBBORN)])
    toml = home / "mentis.toml"
    text = toml.read_text(encoding="utf-8")
    route = f"[routes.default]\nreplies = {answers}\n"
    text = re.sub(r"\[routes[^\]]*\]\n(replies.*\n)?", lambda _: route, text, count=1)
    toml.write_text(text, encoding="utf-8")
    return home


def at_a_terminal(folder: Path, command: list[str], answers: list[str]) -> tuple[int, str]:
    """What a terminal of 80 columns showed; each answer is typed once it was asked for."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    program = subprocess.Popen(
        [sys.executable, "-m", "mentis", *command],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown, seen, waiting = b"", 0, list(answers)
    while piece := _read(ours):
        shown += piece
        if waiting and re.search(rb"(^|\n)(> |.*\[Y/n\]: )$", shown[seen:]):
            seen = len(shown)
            os.write(ours, f"{waiting.pop(0)}\n".encode())
    os.close(ours)
    assert waiting == [], shown
    return program.wait(60), shown.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    assert select.select([terminal], [], [], 60)[0]
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the other side is closed
        return b""


def test_every_field_is_asked_for_and_the_page_shows_how_that_looks(tmp_path: Path) -> None:
    assert list(TYPED) == [field.name for field in FIELDS if field.question]
    home = drafting(create_home(tmp_path / "my-home"))
    answers = [line for lines in TYPED.values() for line in lines]
    command = ["--home", "my-home", "persona", "new", "bob"]
    code, shown = at_a_terminal(tmp_path, command, [*answers, "y"])
    assert code == 0, shown
    assert max(map(len, shown.splitlines())) <= 80
    shown = f"$ mentis persona new bob\n{shown.replace('my-home/', '')}"
    page = PAGE.read_text(encoding="utf-8")
    drawn = PICTURE.sub(lambda found: found[1] + shown + found[3], page)
    if os.environ.get("UPDATE_PICTURES"):
        PAGE.write_text(drawn, encoding="utf-8")
        page = drawn
    assert drawn == page, "UPDATE_PICTURES=1 draws it anew"
    text = (home / "personas" / "bob" / "persona.toml").read_text(encoding="utf-8")
    assert 'greeting = "*looks up* Ahoy. Mind the step."' in text
    assert text.index('name = "Dry"') < text.index('name = "Stubborn"')
    assert "Warm" not in text  # nothing of a persona that nobody named


def test_an_id_that_is_taken_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    create_home(tmp_path / "my-home")
    code, shown = at_a_terminal(tmp_path, ["--home", "my-home", "persona", "new", "ada"], [])
    assert (code, "already there" in shown, ">" in shown) == (1, True, False)


def new(mentis: Mentis, home: Path, *args: str) -> Any:  # noqa: ANN401  # JSON
    done = mentis("--home", home, "persona", "new", "bob", *args)
    assert done.code == 0, done.err
    return json.loads(mentis("--home", home, "persona", "show", "bob", "--json").out)


def test_options_fill_fields_without_a_question(mentis: Mentis, home: Path) -> None:
    given = {
        "age": "61",
        "languages": "german, english",
        "greeting": "Ahoy.",
        "traits": "Dry: You use few words.",
        "dialogue": "Rain? => Yes.",
    }
    made = new(mentis, home, "--blank", *(f"--set={name}={text}" for name, text in given.items()))
    assert made["traits"] == [
        {"name": "Dry", "description": "You use few words.", "behaviours": []}
    ]
    assert (made["name"], made["age"], made["language"]) == ("Bob", 61, "german")
    assert (made["greeting"], made["background"]) == ("Ahoy.", "")
    assert made["dialogue"] == [{"user": "Rain?", "reply": "Yes."}]
    told = mentis("--home", home, "compose", "Hi", "--persona", "bob").out
    assert "User: Rain?\nBob: Yes." in told


def test_what_is_set_takes_the_place_of_what_was_copied(mentis: Mentis, home: Path) -> None:
    made = new(mentis, home, "--set", "traits=Dry", "--set", "type=human")
    assert [one["name"] for one in made["traits"]] == ["Dry"]
    assert [one["name"] for one in made["knowledge"]] == ["Computing", "Language"]
    assert made["type"] == "human"


def test_a_model_drafts_a_field_out_of_a_few_words(mentis: Mentis, home: Path) -> None:
    made = new(mentis, drafting(home), "--blank", "--autofill", "traits=stubborn")
    assert made["traits"] == [STUBBORN]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--set", "mood=merry"), "no field 'mood'"),
        (("--set", "age=old"), "age is a number"),
        (("--set", "dialogue=hello"), "no =>"),
        (("--set", "greeting"), "no FIELD=TEXT"),
        (("--autofill", "greeting=kind"), "no model drafts the field greeting"),
        (("--blank", "--from", "ada"), "--blank copies nobody"),
    ],
)
def test_what_is_no_field_is_refused_and_nothing_is_made(
    mentis: Mentis, home: Path, args: tuple[str, ...], said: str
) -> None:
    done = mentis("--home", home, "persona", "new", "bob", *args)
    assert (done.code != 0, said in done.err) == (True, True), done.err
    assert not (home / "personas" / "bob").exists()


def test_a_draft_that_does_not_come_costs_nothing_else(mentis: Mentis, home: Path) -> None:
    done = mentis("--home", home, "persona", "new", "bob", "--autofill", "traits=stubborn")
    assert done.code == 0
    assert 'mentis persona autofill core_trait "stubborn" --persona bob' in done.err
    assert (home / "personas" / "bob" / "persona.toml").exists()
