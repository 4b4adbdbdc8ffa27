"""Homes that earlier trees made open today, verify, replay as they did, and go on.

They lie in `tests/homes`, whose README says which tree made which.
"""

from __future__ import annotations

import hashlib
import sqlite3
import tarfile
from contextlib import closing
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

import anyio
import pytest

from mentis import Agent
from mentis.ports.screener import ListedScreener
from mentis.testing import ScriptedProvider

from .golden_files import compare
from .stage import GoldenClock, GoldenIds, command_line, parts_of

HOMES = Path(__file__).parents[1] / "homes"
NAMES = sorted(path.name.partition(".")[0] for path in HOMES.glob("*.tar.xz"))
SECRET = b"homes secret, thirty-two letters"
NEWEST = "cffbb2b"
SPLIT = "split"  # its ledger is in PostgreSQL
# After all of them were made, and before the act that waits in them expires.
NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)


def unpacked(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with tarfile.open(HOMES / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    monkeypatch.setenv("MENTIS_CONFIG", str(folder / "config"))
    return folder / "home"


def load(folder: Path, url: str) -> None:
    """The rows of a split home's ledger into a database that has none of that schema."""
    connect = import_module("psycopg").connect
    with connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS split CASCADE")
        connection.execute((folder / "ledger.sql").read_text(encoding="utf-8"))


def told(home: Path, *words: str) -> dict[str, object]:
    code, out, err = command_line(*words, "--home", str(home))
    place = str(home.parent)
    shown = [text.replace(place, "FOLDER").splitlines() for text in (out, err)]
    return {"exit": code, "out": shown[0], "err": shown[1]}


def opened(home: Path, *replies: str) -> Agent:
    parts = parts_of(
        provider=ScriptedProvider(replies),
        clock=GoldenClock(NOW),
        ids=GoldenIds(),
        secret=SECRET,
        screener=ListedScreener({}),
    )
    return Agent.open(home, parts=parts)


async def gone_on(home: Path) -> dict[str, object]:
    """A new turn where one was broken off, and one in a session with two turns."""
    async with opened(home, "I am back.", "Still well.") as agent:
        found = {
            one.name: [
                f"{turn.role} {turn.state} {turn.text}" for turn in agent.history(session=one.name)
            ]
            for one in agent.sessions()
        }
        before = len(agent.entries())
        turns = [await agent.chat("Are you there?", session="broken"), await agent.chat("And now?")]
        fresh = agent.entries()[before:]
        return {
            "sessions": found,
            "sent": [hashlib.sha256(turn.rendering.body()).hexdigest() for turn in turns],
            "entries": [{"kind": one.kind, "hash": one.hash, "body": one.body} for one in fresh],
            "replays": [agent.replay(turn.entry.index).identical for turn in turns],
        }


def kinds(home: Path) -> list[str]:
    with closing(opened(home)) as agent:
        return [entry.kind for entry in agent.entries()]


def whole_story(home: Path) -> dict[str, object]:
    before = told(home, "status", "verify")
    assert before["exit"] == 0, before
    here = kinds(home)
    turns = [index for index, kind in enumerate(here) if kind == "turn"]
    story = {
        "kinds": here,
        "verify": before,
        "replays": {str(index): told(home, "replay", str(index)) for index in turns},
        "acts": told(home, "acts", "log", "--json"),
        "memories": told(home, "memory", "list", "--json"),
        "gone on": anyio.run(gone_on, home),
    }
    after = told(home, "status", "verify")
    assert after["exit"] == 0, after
    return {**story, "verify after": after}


@pytest.mark.parametrize("name", [name for name in NAMES if name != SPLIT])
def test_a_home_of_an_earlier_tree_verifies_replays_and_goes_on(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = unpacked(name, tmp_path, monkeypatch)
    compare(f"homes/{name}", whole_story(home))


def test_a_home_whose_ledger_is_in_postgresql_verifies_replays_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres_url: str
) -> None:
    home = unpacked(SPLIT, tmp_path, monkeypatch)
    load(tmp_path, postgres_url)
    monkeypatch.setenv("LEDGER_URL", postgres_url)
    compare(f"homes/{SPLIT}", whole_story(home))


def test_a_changed_entry_of_a_packed_home_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a home that verifies would say nothing."""
    home = unpacked(NEWEST, tmp_path, monkeypatch)
    with closing(sqlite3.connect(home / "mentis.db")) as connection, connection:
        connection.execute("UPDATE ledger SET body = replace(body, 'main', 'mein') WHERE idx = 1")
    assert told(home, "status", "verify")["exit"] == 1
