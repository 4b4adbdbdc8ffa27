"""`mentis beat`, `mentis deliver` and `mentis live`, from the command line."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, cast

import pytest

from .conftest import Mentis


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_beat_shows_its_thought_and_is_in_the_log(mentis: Mentis, home: Path) -> None:
    done = mentis("beat", "curiosity", "--home", home)
    assert (done.code, done.out) == (0, "One.\n")
    assert done.err.strip().endswith("curiosity]")
    told = mentis("beat", "--home", home, "--json").json()
    assert (told["text"], told["stop"], told["outcomes"]) == ("One.", "end", [])
    waits = mentis("beat", "now", "--if-due", "--home", home)
    assert (waits.code, waits.out) == (0, "")
    assert waits.err.startswith("none is due before ")
    log = cast("list[dict[str, Any]]", mentis("beat", "log", "--home", home, "--json").json())
    assert [one["text"] for one in log] == ["One.", "One."]
    assert [one["kind"] for one in log] == ["curiosity", told["kind"]]
    assert "curiosity" in mentis("beat", "log", "--home", home).out


def test_the_old_name_of_a_beat_works_wherever_the_new_one_does(mentis: Mentis, home: Path) -> None:
    place = ("--target", "system_prompt", "--position", "system_prompt", "--text", "Chirp.")
    assert mentis("prompts", "new", "chirping", *place, "--home", home).code == 0
    manifest = home / "prompts/_meta/user_manifest.json"
    kept = json.loads(manifest.read_text("utf-8"))
    kept["prompts"]["chirping"]["modes"] = ["grillo"]
    manifest.write_text(json.dumps(kept), "utf-8")
    old, new = (
        mentis("prompts", "preview", "--mode", mode, "--home", home) for mode in ("grillo", "beat")
    )
    assert (old.code, old.out) == (0, new.out)
    assert "Chirp." in old.out
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write('[routes.grillo]\nreplies = ["Chirp, chirp."]\n')
    assert mentis("grillo", "curiosity", "--home", home).out == "Chirp, chirp.\n"
    (kept,) = json.loads(mentis("grillo", "log", "--home", home, "--json").out)
    assert kept["kind"] == "curiosity"
    assert mentis("prompts", "preview", "--mode", "cricket", "--home", home).code == 2


def test_a_kind_that_there_is_not_is_wrong_usage(mentis: Mentis, home: Path) -> None:
    done = mentis("beat", "gardening", "--home", home)
    assert (done.code, done.out) == (2, "")
    assert "there is no kind of beat 'gardening'" in done.err


def test_a_block_of_the_owner_is_a_kind_of_its_own(mentis: Mentis, home: Path) -> None:
    place = ("--target", "message", "--position", "user_message")
    made = mentis("prompts", "new", "beat_garden", *place, "--text", "Look out.", "--home", home)
    assert made.code == 0
    assert mentis("beat", "garden", "--home", home).out == "One.\n"


def test_where_nothing_came_nothing_is_delivered(mentis: Mentis, home: Path) -> None:
    assert mentis("deliver", "--home", home).err == "there is nothing to deliver\n"
    assert mentis("deliver", "--home", home, "--json").out == "[]\n"
    named = mentis("deliver", "abc", "--home", home)
    assert (named.code, named.out) == (2, "")


def test_a_voice_session_is_opened_and_kept_up_to_date(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = mentis("live", "--home", home)
    assert "Speaking aloud" in plain.out
    told = mentis("live", "--home", home, "--json").json()
    first = plain.out.splitlines()[0]  # the last line tells the time
    assert str(told["instructions"]).splitlines()[0] == first
    note = home / "note.txt"
    note.write_text("Buy bread.", encoding="utf-8")
    assert "note.txt: Buy bread." in mentis("live", "--attach", note, "--home", home).out
    monkeypatch.setattr("sys.stdin", io.StringIO('{"place": "The garden"}\n\n'))
    opening, moved, *_ = lines(mentis("live", "--updates", "--home", home).out)
    assert opening["instructions"].splitlines()[0] == first
    assert "The garden" in moved["text"]
    assert "summary_place" in moved["changed"]
    monkeypatch.setattr("sys.stdin", io.StringIO("nonsense\n"))
    assert mentis("live", "--updates", "--home", home).code == 1
