"""`mentis witness`, and witnesses among the anchors, by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.surfaces.witness.test_witness import say, watching

Mentis = Callable[..., Any]


def test_a_witness_is_made_shown_and_told_what_to_watch(mentis: Mentis, tmp_path: Path) -> None:
    folder = tmp_path / "w"
    made = mentis("witness", "init", folder, "--name", "witness.example/w1")
    assert made.out.startswith("witness.example/w1+")
    assert "mentis witness watch" in made.err
    key = made.out.strip()
    again = mentis("witness", "init", folder, "--name", "witness.example/w1")
    assert (again.code, "already" in again.err) == (2, True)
    assert mentis("witness", "init", tmp_path / "x", "--name", "a b").code == 2
    assert mentis("witness", "show", tmp_path / "nowhere").code == 2
    assert mentis("witness", "watch", folder, "example.org/home", "--key", "short").code == 1
    assert mentis("witness", "watch", folder, "example.org/home", "--key", "A" * 43 + "=").code == 0
    told = mentis("witness", "show", folder, "--json").json()
    assert told["key"] == key
    assert [one["origin"] for one in told["watched"]] == ["example.org/home"]


def test_a_home_is_watched_from_the_command_line(
    mentis: Mentis, home: Path, tmp_path: Path
) -> None:
    def ledger(*words: str | Path) -> Any:  # noqa: ANN401
        return mentis("--home", home, "ledger", *words)

    say(home, 2)
    with watching(tmp_path / "w") as witness:
        url, _, key = witness.anchor.removeprefix("witness:").partition("#")
        refused = ledger("anchor", "add", "--witness", url, "--key", key)
        assert (refused.code, "is not watched here" in refused.err) == (1, True)
        assert ledger("anchor", "add", "--witness", url).code == 2
        origin = ledger("checkpoint", "--json").json()["note"].splitlines()[0].rpartition("/")[0]
        public = _public_key(home)
        assert mentis("witness", "watch", witness.folder.path, origin, "--key", public).code == 0
        assert ledger("anchor", "add", "--witness", url, "--key", key).code == 0
        assert "2 of 2" in ledger("anchor", "list").out
        assert ledger("anchor", "quorum", "2").code == 2
        assert ledger("anchor", "quorum", "1").out == "1\n"
        seen = mentis("witness", "show", witness.folder.path)
        assert origin in seen.out
        verified = mentis("--home", home, "verify")
        assert verified.code == 0
        assert "witnessed: 2 of 2 entries, by witness.example/w1 at " in verified.out
        asked = ledger("anchor", "remove", "--witness", url, "--key", key)
        assert (asked.code, "ledger anchor quorum 0" in asked.err) == (2, True)
        assert ledger("anchor", "quorum", "0").code == 0
        assert ledger("anchor", "remove", "--witness", url, "--key", key).code == 0
        assert ledger("anchor", "list", "--json").json()["anchors"] == []


def _public_key(home: Path) -> str:
    import tomllib

    return tomllib.loads((home / "mentis.toml").read_text())["ledger"]["public_key"]
