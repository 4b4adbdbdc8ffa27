"""init, settings, compose, render, status: what a person types around a conversation."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from mentis.record.record import open_record
from mentis.values.entry import Draft

from .conftest import Mentis


def test_init_makes_a_home_that_works_and_says_what_is_in_it(
    mentis: Mentis, tmp_path: Path
) -> None:
    done = mentis("init", tmp_path / "new")
    assert done.code == 0
    assert done.out == ""
    assert "personas/ada/persona.toml" in done.err
    ignored = (tmp_path / "new" / ".gitignore").read_text(encoding="utf-8")
    assert "*.db" in ignored
    readme = (tmp_path / "new" / "README.md").read_text(encoding="utf-8")
    assert "instruction" in readme
    assert mentis("--home", tmp_path / "new", "compose").code == 0


def test_init_never_overwrites(mentis: Mentis, home: Path) -> None:
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    done = mentis("init", home)
    assert done.code == 1
    assert "[home-exists]" in done.err
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


def test_init_says_what_a_shell_can_run_and_takes_no_empty_name(
    mentis: Mentis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = mentis("init", "my home")
    assert "Next: mentis --home 'my home' chat" in done.err
    assert "mentis init 'no home'" in mentis("--home", "no home", "compose").err
    unset = mentis("init", "")
    assert (unset.code, "has no name" in unset.err) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["my home"]


def test_init_takes_the_home_from_the_option(mentis: Mentis, tmp_path: Path) -> None:
    done = mentis("--home", tmp_path / "it", "init", "--json")
    assert done.json() == {"home": str(tmp_path / "it")}


def test_settings_shows_each_value_and_its_origin(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENTIS_STORE__BUSY_SECONDS", "9")
    done = mentis("--home", home, "settings")
    assert done.code == 0
    rows = {line.split()[0]: line for line in done.out.splitlines() if line.strip()}
    assert "environment MENTIS_STORE__BUSY_SECONDS" in rows["store.busy_seconds"]
    assert "mentis.toml:" in rows["routes.default.replies"]
    assert "default" in rows["limits.message_chars"]


def test_settings_without_a_home_shows_the_defaults(mentis: Mentis, tmp_path: Path) -> None:
    done = mentis("--home", tmp_path, "settings", "--json")
    assert done.code == 0
    assert done.json()["home"] is None


def test_a_typo_in_the_settings_is_named_with_its_place(mentis: Mentis, home: Path) -> None:
    path = home / "mentis.toml"
    path.write_text("format = 1\n[stor]\nbusy_seconds = 1\n[limits]\nmessage_char = 1\n")
    done = mentis("--home", home, "chat", "hi")
    assert done.code == 1
    lines = done.err.splitlines()
    assert f"{path}:2:2: unknown setting 'stor' (and 1 more)" in lines[0]
    assert f"{path}:5:1: unknown setting 'limits.message_char'" in lines[1]
    assert "did you mean 'store'?" in lines[2]


def test_compose_shows_blocks_tokens_and_the_prompt(mentis: Mentis, home: Path) -> None:
    done = mentis("--home", home, "compose", "Good morning!")
    assert done.code == 0
    assert "constitution" in done.out
    assert "tokens: system ~" in done.out
    assert "--- this turn ---" in done.out
    assert "session_title" not in done.out
    assert "blocks that belong to other prompts" in done.err
    assert "session_title" in mentis("--home", home, "compose", "--all").out
    composed = mentis("--home", home, "compose", "Good morning!", "--json").json()
    request = composed["request"]
    assert isinstance(request, dict)
    assert request["current_text"] == "Good morning!"


def test_compose_explains_what_stays_what_is_told_and_why(mentis: Mentis, home: Path) -> None:
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write('\n[recall]\nembedder = "off"\n')
    known = mentis("--home", home, "memory", "add", "Lena plays the cello.").out.strip()
    done = mentis("--home", home, "compose", "--explain", "Who plays the cello?")
    assert done.code == 0
    assert "memories: new, the conversation begins" in done.out
    assert f"stay: {known}" in done.out
    assert "embedding calls: 0; memories kept out: 0" in done.out
    told = mentis("--home", home, "compose", "--explain", "--json", "Who plays the cello?").json()
    assert set(told) == {"placements", "candidates", "embedding_calls", "filtered", "degraded"}
    placements = cast("list[dict[str, object]]", told["placements"])
    assert [known] in [one["resident"] for one in placements if one["what"] == "memories"]
    assert "Lena" in mentis("--home", home, "compose", "Who plays the cello?").out


def test_compose_on_a_broken_persona_names_the_place(mentis: Mentis, home: Path) -> None:
    path = home / "personas" / "ada" / "persona.toml"
    path.write_text('id = "ada"\nname = "Ada"\nlangage = "english"\n')
    done = mentis("--home", home, "compose")
    assert done.code == 1
    assert f"{path}:3:1" in done.err
    assert "language" in done.err


def test_render_prints_payload_body_and_map(mentis: Mentis, home: Path) -> None:
    payload = mentis("--home", home, "render", "Hello").json()
    body = mentis("--home", home, "render", "Hello", "--body").out
    whole = mentis("--home", home, "render", "Hello", "--json").json()
    assert json.loads(body)["model"] == payload["model"]
    assert whole["payload"] == json.loads(body)
    assert str(whole["digest"]).startswith("sha256:")
    shown = mentis("--home", home, "render", "Hello", "--map")
    assert "/messages/0/content" in shown.out
    assert "char_name" in shown.out


def test_verify_of_a_fresh_home_is_ok(mentis: Mentis, home: Path) -> None:
    done = mentis("--home", home, "status", "verify")
    assert (done.code, done.out) == (0, "ok  nothing is recorded here\n")
    assert "cannot be seen" in done.err


def test_verify_names_the_entry_somebody_changed(
    mentis: Mentis, home: Path, tmp_path: Path
) -> None:
    for _ in range(3):
        assert mentis("--home", home, "chat", "hi").code in (0, 1)
    copy = tmp_path / "copy.db"
    shutil.copy(home / "mentis.db", copy)
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("UPDATE ledger SET source = 'me' WHERE idx = 1")
    whole = mentis("--home", home, "status", "verify")
    assert whole.code == 0
    assert "3 entries" in whole.out
    assert "cannot be seen" in whole.err
    done = mentis("--home", home, "status", "verify", "--ledger", copy)
    assert done.code == 1
    assert "BROKEN  home/ada" in done.out
    assert "entry 1, hash" in done.out
    report = mentis("--home", home, "status", "verify", "--ledger", copy, "--json")
    assert report.code == 1
    assert report.json()["intact"] is False


def test_a_copy_without_its_home_is_never_called_ok(
    mentis: Mentis, home: Path, tmp_path: Path
) -> None:
    with open_record(home) as record:
        record.ledger.append(record.agent, [Draft("note", "test", {"n": 1})], record.stamp())
    copy = shutil.copy(home / "mentis.db", tmp_path / "copy.db")
    done = mentis("--home", tmp_path, "status", "verify", "--ledger", copy)
    assert (done.code, done.out.partition(" ")[0]) == (1, "UNPINNED")
    assert "anybody could have written it" in done.err
    told = mentis("--home", tmp_path, "status", "verify", "--ledger", copy, "--json")
    (chain,) = cast("list[dict[str, object]]", told.json()["chains"])
    assert (told.code, chain["pinned"]) == (1, False)
    assert mentis("--home", home, "status", "verify", "--ledger", copy).out.startswith("ok")


def test_verify_of_a_file_that_is_no_ledger_says_so(mentis: Mentis, tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("this is not a database, though it is long enough to look at")
    done = mentis("status", "verify", "--ledger", tmp_path / "x.db")
    assert done.code == 1
    assert "[store-damaged]" in done.err
    assert mentis("status", "verify", "--ledger", tmp_path / "none.db").code == 2


def test_a_setting_is_set_and_unset_and_the_way_back_is_told(mentis: Mentis, home: Path) -> None:
    before = (home / "mentis.toml").read_text(encoding="utf-8")
    done = mentis("--home", home, "settings", "set", "limits.memory_chars", "900")
    assert done.code == 0, done.err
    assert "limits.memory_chars: not set -> 900" in done.err
    assert "to go back: mentis settings unset limits.memory_chars" in done.err
    assert "mentis.toml" in mentis("--home", home, "settings").out
    again = mentis("--home", home, "settings", "set", "limits.memory_chars", "901")
    assert "to go back: mentis settings set limits.memory_chars 900" in again.err
    wrong = mentis("--home", home, "settings", "set", "limits.memory_char", "900")
    assert wrong.code == 1
    assert "did you mean 'memory_chars'?" in wrong.err
    gone = mentis("--home", home, "settings", "unset", "limits.memory_chars", "--json")
    assert gone.json() == {
        "key": "limits.memory_chars", "before": 901, "after": None, "overridden_by": ""
    }  # fmt: skip
    assert before.splitlines()[0] in (home / "mentis.toml").read_text(encoding="utf-8")
