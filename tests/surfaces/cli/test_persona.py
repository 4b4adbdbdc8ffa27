from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Mentis


def told(mentis: Mentis, home: Path, *args: str) -> str:
    done = mentis("--home", home, "compose", "Hi", *args)
    assert done.code == 0, done.err
    return done.out


def test_personas_are_listed_shown_and_made(mentis: Mentis, home: Path) -> None:
    assert "ada" in mentis("--home", home, "persona", "list").out
    assert 'name = "Ada"' in mentis("--home", home, "persona", "show").out
    assert mentis("--home", home, "persona", "new", "bob", "--name", "Bob").code == 0
    found: Any = json.loads(mentis("--home", home, "persona", "list", "--json").out)
    assert [persona["id"] for persona in found] == ["ada", "bob"]
    assert "Bob" in told(mentis, home, "--persona", "bob")
    again = mentis("--home", home, "persona", "new", "bob")
    assert again.code == 1
    assert "already there" in again.err
    assert "choose one with --persona" in mentis("--home", home, "persona", "show").err


def test_of_very_many_personas_a_page_is_shown_and_no_other_file_is_read(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mentis.surfaces.cli.pages.PAGE", 2)
    for name in ("bob", "eve"):
        assert mentis("--home", home, "persona", "new", name).code == 0
    (home / "personas" / "zoe").mkdir()
    (home / "personas" / "zoe" / "persona.toml").write_text("no toml", encoding="utf-8")
    shown = mentis("--home", home, "persona", "list")
    assert ("bob" in shown.out, "eve" in shown.out) == (True, False)
    assert "there are more: add --after bob" in shown.err
    rest = mentis("--home", home, "persona", "list", "--after", "bob")
    assert ("eve" in rest.out, "zoe" in rest.out, rest.err) == (True, True, "")


def test_the_default_persona_is_taken_and_named_by_every_command_that_takes_it(
    mentis: Mentis, home: Path
) -> None:
    assert mentis("--home", home, "persona", "new", "bob", "--name", "Bob").code == 0
    assert "mentis persona use ID" in mentis("--home", home, "chat", "Hi").err
    assert "bob is the default" in mentis("--home", home, "persona", "use", "bob").err
    rows: Any = json.loads(mentis("--home", home, "persona", "list", "--json").out)
    assert [(row["id"], row["default"]) for row in rows] == [("ada", False), ("bob", True)]
    assert "bob (default)" in mentis("--home", home, "persona", "list").out
    for args in (("compose", "Hi"), ("memory", "list"), ("chat", "Hi"), ("status", "latest")):
        assert "persona bob: the default of this home" in mentis(*args, "--home", home).err
    named = mentis("--home", home, "chat", "Hi", "--persona", "ada", "--json")
    assert (named.code, named.err) == (0, "")
    assert "default" not in mentis("--home", home, "cost").err, "it counts the whole home"


def test_a_default_persona_that_is_not_there_is_refused_and_one_that_went_is_named(
    mentis: Mentis, home: Path
) -> None:
    refused = mentis("--home", home, "persona", "use", "eve")
    assert (refused.code, "no persona 'eve'" in refused.err) == (1, True)
    mentis("--home", home, "persona", "new", "bob")
    mentis("--home", home, "persona", "use", "bob")
    (home / "personas" / "bob" / "persona.toml").unlink()
    assert (
        "the default persona 'bob' is not in this home" in mentis("--home", home, "chat", "Hi").err
    )


@pytest.mark.parametrize("persona_id", ["../bob", "Bob", "a/b", ""])
def test_a_persona_never_lies_outside_the_home(mentis: Mentis, home: Path, persona_id: str) -> None:
    done = mentis("--home", home, "persona", "new", persona_id)
    assert done.code == 1
    assert "[outside-home]" in done.err


@pytest.mark.parametrize("name", ['Bob"\nevil = "x', "", "  ", "tab\tbed"])
def test_a_name_that_cannot_be_one_is_refused(mentis: Mentis, home: Path, name: str) -> None:
    done = mentis("--home", home, "persona", "new", "bob", "--name", name)
    assert done.code == (1 if name else 0), "no name at all is the id"
    assert (home / "personas" / "bob").exists() == (not name)


@pytest.mark.parametrize("name", ['B"ob', "C:\\new", "B\\1ob", "Bób 😀"])
def test_any_other_name_is_kept_as_it_is(mentis: Mentis, home: Path, name: str) -> None:
    assert mentis("--home", home, "persona", "new", "bob", "--name", name).code == 0
    found: Any = json.loads(mentis("--home", home, "persona", "show", "bob", "--json").out)
    assert found["name"] == name


def test_one_broken_persona_does_not_hide_the_others(mentis: Mentis, home: Path) -> None:
    (home / "personas" / "bob").mkdir()
    (home / "personas" / "bob" / "persona.toml").write_text("broken")
    done = mentis("--home", home, "persona", "list")
    assert done.code == 0
    assert "Ada" in done.out
    assert "not TOML" in done.out


def test_memory_files_are_empty_until_written_and_each_write_can_be_undone(
    mentis: Mentis, home: Path
) -> None:
    assert "empty" in mentis("--home", home, "persona", "files").out
    assert "cello" not in told(mentis, home)
    write = ("persona", "files", "memory", "--text", "- Lena plays the cello.", "-m", "she said")
    assert mentis("--home", home, *write).code == 0
    assert "cello" in told(mentis, home)
    assert "cello" in mentis("--home", home, "persona", "files", "memory").out
    assert "she said" in mentis("--home", home, "persona", "history", "memory").out
    assert "+- Lena" in mentis("--home", home, "persona", "history", "memory", "--diff").out
    assert mentis("--home", home, "persona", "undo", "memory").code == 0
    assert "cello" not in told(mentis, home)
    assert mentis("--home", home, "persona", "files", "--text", "x").code == 2
    assert mentis("--home", home, "persona", "files", "diary").code == 2


def test_a_file_over_its_limit_is_refused_or_cut_with_the_cut_shown(
    mentis: Mentis, home: Path, tmp_path: Path
) -> None:
    long = tmp_path / "long.md"
    long.write_text("- word\n" * 1200 + "- the end")
    refused = mentis("--home", home, "persona", "files", "soul", "--from-file", long)
    assert refused.code == 1
    assert "8000" in refused.err
    cut = mentis("--home", home, "persona", "files", "soul", "--from-file", long, "--truncate")
    assert cut.code == 0
    assert "- the end" in cut.err


def test_a_write_that_drops_most_of_a_file_needs_force(mentis: Mentis, home: Path) -> None:
    lines = "\n".join(f"- fact number {n} about the garden" for n in range(20))
    mentis("--home", home, "persona", "files", "memory", "--text", lines)
    short = ("persona", "files", "memory", "--text", "- gone")
    assert mentis("--home", home, *short).code == 1
    assert mentis("--home", home, *short, "--force").code == 0
    assert mentis("--home", home, "persona", "reset", "memory").code == 0
    assert mentis("--home", home, "persona", "undo", "memory").code == 0


def test_autofill_prints_a_draft_and_writes_it_only_when_accepted(
    mentis: Mentis, home: Path, tmp_path: Path
) -> None:
    settings = home / "mentis.toml"
    said = json.dumps({"name": "Tea", "description": "leaves and time"})
    text = settings.read_text(encoding="utf-8")
    start, end = text.index("replies = ["), text.index("]", text.index("replies = ["))
    changed = f"{text[:start]}replies = [{json.dumps(said)}{text[end:]}"
    settings.write_text(changed, encoding="utf-8")
    persona = home / "personas" / "ada" / "persona.toml"
    before = persona.read_text(encoding="utf-8")
    done = mentis("--home", home, "persona", "autofill", "knowledge", "tea", "--json")
    assert done.code == 0, done.err
    assert "nothing was written" in done.err
    assert persona.read_text(encoding="utf-8") == before
    kept = tmp_path / "draft.json"
    kept.write_text(done.out.replace("leaves and time", "leaves, water, time"), encoding="utf-8")
    later = mentis("--home", home, "persona", "autofill", "knowledge", "--draft", kept)
    assert later.code == 0, later.err
    assert 'description = "leaves, water, time"' in persona.read_text(encoding="utf-8")
    wrong = mentis("--home", home, "persona", "autofill", "scenario", "--draft", kept)
    assert wrong.code == 2
    again = mentis("--home", home, "persona", "autofill", "knowledge", "tea", "--accept")
    assert "[[knowledge]]" in again.out
    assert 'description = "leaves and time"' in persona.read_text(encoding="utf-8")


def test_a_persona_is_committed_compared_and_gone_back_to(mentis: Mentis, home: Path) -> None:
    done = mentis("--home", home, "persona", "commit", "-m", "as we began", "--memories")
    assert "commit 1: 4 files, 0 blocks, 0 memories" in done.err
    mentis("--home", home, "persona", "files", "soul", "--text", "- I changed.")
    assert "+- I changed." in mentis("--home", home, "persona", "diff").out
    back = mentis("--home", home, "persona", "checkout", "1")
    assert "back at commit 1: soul.md" in back.err
    assert "mentis persona checkout 2" in back.err
    assert "no difference" in mentis("--home", home, "persona", "diff", "1").out
    listed: Any = json.loads(mentis("--home", home, "persona", "log", "--json").out)
    assert [one["message"] for one in listed] == ["before going back to 1", "as we began"]
    assert mentis("--home", home, "persona", "checkout", "9").code == 2
