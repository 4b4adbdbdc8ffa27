"""A home tells at once what it lacks, and `status health` is a checklist of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mentis.stores.sqlite.memories import SqliteMemories

from .conftest import Mentis


def checks(mentis: Mentis, home: Path) -> dict[str, dict[str, str]]:
    told: Any = mentis("--home", home, "status", "health", "--json").json()
    return {one["name"]: one for one in told["checks"]}


def lose_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The home is opened where its key is not, as on another machine."""
    monkeypatch.setenv("MENTIS_CONFIG", str(tmp_path / "another-machine"))


def test_a_home_without_its_signing_key_says_so_before_anything_else(
    mentis: Mentis, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "signing key" not in mentis("--home", home, "chat", "Hello").err
    lose_key(monkeypatch, tmp_path)
    for command in (("chat", "Hello"), ("sessions", "list"), ("memory", "list", "--json")):
        first, *rest = mentis("--home", home, *command).err.splitlines()
        assert first.startswith("warning: the signing key of this home is missing: there is no ")
        assert first.endswith("restore it from your backup; checkpoints made with it stay valid")
        assert not any(line.startswith("warning:") for line in rest)


def test_a_key_that_is_missing_is_not_changed_and_nothing_is_begun(
    mentis: Mentis, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mentis("--home", home, "chat", "Hello")
    with monkeypatch.context() as elsewhere:
        lose_key(elsewhere, tmp_path)
        for command in (("--new-key",), ()):
            done = mentis("--home", home, "ledger", "checkpoint", *command)
            assert (done.code, "the signing key cannot be opened" in done.err) == (1, True)
    assert mentis("--home", home, "ledger", "checkpoint", "--new-key").code == 0


def test_a_record_whose_key_is_lost_can_still_be_handed_over(
    mentis: Mentis, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mentis("--home", home, "chat", "Hello")
    mentis("--home", home, "ledger", "checkpoint")
    lose_key(monkeypatch, tmp_path)
    mentis("--home", home, "chat", "Still there?")
    done = mentis("--home", home, "export", tmp_path / "ada.zip")
    assert done.code == 0, done.err
    assert "no checkpoint of now could be made: the newest has seen 1 of 2 entries" in done.err
    pin: Any = mentis("--home", home, "export", tmp_path / "again.zip", "--json").json()
    told = mentis(
        "ledger",
        "audit",
        tmp_path / "ada.zip",
        *("--origin", pin["origin"], "--key", pin["public_key"]),
    )
    assert (told.code, "has signed 1 of 2 entries" in told.out) == (0, True), told.out


def test_health_is_a_checklist_with_what_to_do(
    mentis: Mentis, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mentis("--home", home, "chat", "Hello")
    found = checks(mentis, home)
    assert {name: one["state"] for name, one in found.items()} == {
        "record": "ok",
        "signing key": "ok",
        "checkpoint": "ok",
        "anchors": "warn",
        "drafts": "ok",
        "disk": "ok",
        "permissions": "ok",
        "tools": "ok",
        "ticks": "ok",
        "memory files": "ok",
        "clock": "ok",
    }
    home.chmod(0o755)
    monkeypatch.setattr("mentis.app.home_checks.has_checker", lambda: False)
    lose_key(monkeypatch, tmp_path)
    found = checks(mentis, home)
    assert [name for name, one in found.items() if one["state"] != "ok"] == [
        "signing key",
        "checkpoint",
        "anchors",
        "permissions",
        "tools",
    ]
    assert all(one["remedy"] for one in found.values() if one["state"] != "ok")
    told = mentis("--home", home, "status", "health").out
    assert told.startswith(
        "YELLOW  the store can be written, but not all is well: signing key"
        " (1 failing, 4 to look at)\n"
    )
    assert "\n  fail  signing key   the signing key of this home is missing" in told
    assert "\n                      do: pip install 'mentis[tools]'" in told


def test_health_costs_the_same_in_a_home_of_any_size(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def whole(*_: object, **__: object) -> None:
        raise AssertionError("all memories were read")

    monkeypatch.setattr(SqliteMemories, "memories", whole)
    assert mentis("--home", home, "status", "health").code == 0
