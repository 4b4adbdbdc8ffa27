"""`mentis move`, `mentis view` and `mentis init --database`: a home in a database, by commands."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import pytest

from mentis.surfaces.cli.main import run

_SCHEMAS = count(1)


@pytest.fixture
def schema() -> str:
    return f"commands_{next(_SCHEMAS)}"


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert run(list(words)) == code, capsys.readouterr().err
    out, err = capsys.readouterr()
    return out if code == 0 else err


def test_a_home_is_moved_shown_elsewhere_edited_there_and_brought_back(
    tmp_path: Path, postgres_url: str, schema: str, capsys: pytest.CaptureFixture[str]
) -> None:
    home, other = str(tmp_path / "home"), str(tmp_path / "other")
    told(capsys, "init", home, "--json")
    moved = told(capsys, "--home", home, "move", postgres_url, "--schema", schema, "--yes")
    assert "lies in PostgreSQL" in moved
    laid = ("--database", postgres_url, "--schema", schema, "--secret", f"{home}/secret.key")
    assert "shows the home" in told(capsys, "init", other, *laid)
    told(capsys, "--home", other, "settings", "set", "limits.memory_chars", "4000")
    shown = json.loads(told(capsys, "--home", home, "settings", "--json"))
    assert "4000" in json.dumps(shown)
    (tmp_path / "home" / "profile.toml").write_text('name = "Lena"\n')
    assert "profile.toml" in told(capsys, "--home", home, "view")
    assert "profile.toml" in told(capsys, "--home", home, "view", "--push")
    status = json.loads(told(capsys, "--home", other, "view", "--json"))
    assert (status["shown"] < status["newest"], status["changed"]) == (True, [])
    back = json.loads(told(capsys, "--home", home, "move", "--back", "--yes", "--json"))
    assert back["files"] > 3
    assert (tmp_path / "home" / "profile.toml").read_text() == 'name = "Lena"\n'
    told(capsys, "--home", home, "verify")
    assert "moved away" in told(capsys, "--home", other, "settings", code=1)


def test_a_new_home_is_made_in_a_database(
    tmp_path: Path, postgres_url: str, schema: str, capsys: pytest.CaptureFixture[str]
) -> None:
    home = str(tmp_path / "home")
    assert "Made a home" in told(
        capsys, "init", home, "--database", postgres_url, "--schema", schema
    )
    assert "revision" in told(capsys, "--home", home, "view")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("move",), "say where to"),
        (("move", "postgresql://h/d", "--back"), "say where to"),
        (("view",), "nothing of it lies in a database"),
        (("move", "--back", "--yes"), "does not lie in a database"),
        (("move", "postgresql://u:secret@h/d", "--yes"), "holds a password"),
    ],
)
def test_what_cannot_be_done_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    home = str(tmp_path / "home")
    told(capsys, "init", home, "--json")
    assert run(["--home", home, *words]) in (1, 2)
    err = capsys.readouterr().err
    assert says in err
    assert "secret@" not in err
