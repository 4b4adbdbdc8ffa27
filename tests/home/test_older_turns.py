"""What an older Mentis left of a conversation has its place once an agent is opened, and is shown
there until then.
"""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.codec.forms import to_json
from mentis.errors import StoreDamaged
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.record.record import Record, open_record
from mentis.record.verify_home import verify_home
from mentis.stores.older_turns import ENDING, ERASED_TURNS
from mentis.stores.postgres.database import PostgresDatabase
from mentis.stores.postgres.ledger import PostgresLedger
from mentis.stores.turn_move import MOVED
from mentis.values.ending import Ending
from mentis.values.entry import Verdict
from mentis.values.mark import Mark
from mentis.values.part import MediaPart
from mentis.values.recalled import Stimulus
from mentis.values.turn import Turn

from .killed_move import PLACES

pytestmark = pytest.mark.anyio
KILLED = Path(__file__).with_name("killed_move.py")
PICTURE = MediaPart("image", "image/png", data=b"PICTUREMARK")
TALK = ["ASKEDMARK", "One.", "Again?", "Two."]
TABLES = ("turns", "media", "turn_media")


def opened(home: Path, *replies: str) -> Agent:
    return Agent.open(home, parts=Parts(provider=ScriptedProvider(replies)))


async def talked(home: Path) -> Path:
    async with opened(home, "One.", "Two.") as agent:
        await agent.chat(Stimulus(TALK[0], attachments=(PICTURE,)))
        await agent.chat(TALK[2])
    return home


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    return await talked(create_home(tmp_path / "home"))


@pytest.fixture
async def split(tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Its ledger is on a server, and its turns are in the home."""
    home, schema = create_home(tmp_path / "split"), tmp_path.name.lower()
    settings = home / "mentis.toml"
    chosen = f'[ledger]\nstore = "postgres"\nschema_name = "{schema}"\n'
    settings.write_text(settings.read_text().replace("[ledger]\n", chosen))
    monkeypatch.setenv("LEDGER_URL", postgres_url)
    await talked(home)
    with (
        PostgresDatabase(postgres_url, schema=schema) as server,
        server.session() as connection,
        closing(sqlite3.connect(home / "mentis.db")) as file,
        file,
    ):
        for table in TABLES:
            rows = connection.execute(f"SELECT * FROM {table}".encode()).fetchall()  # noqa: S608  # of this test
            columns = ", ".join("?" * len(rows[0]))
            into = f"{table} (id, agent, session, number, turn)" if table == "turns" else table
            file.executemany(f"INSERT INTO {into} VALUES ({columns})", rows)  # noqa: S608  # of this test
            connection.execute(f"DELETE FROM {table}".encode())  # noqa: S608  # of this test
    return home


def verdict(home: Path) -> Verdict:
    (found,) = verify_home(home)
    return found


def everything(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


def in_file(home: Path) -> list[int]:
    """How many rows the home's own database has of each table of conversations."""
    with closing(sqlite3.connect(home / "mentis.db")) as file:
        counts = (f"SELECT count(*) FROM {table}" for table in TABLES)  # noqa: S608  # of this test
        return [file.execute(count).fetchone()[0] for count in counts]


def texts(turns: Sequence[Turn]) -> list[str]:
    return [turn.text for turn in turns]


def put_mark(home: Path, mark: Mark) -> None:
    statement = "INSERT INTO marks (agent, kind, key, value) VALUES (?, ?, ?, ?)"
    with open_record(home, readonly=True) as record:
        row, store = (record.agent, mark.kind, mark.key, json.dumps(mark.value)), record.store
        if isinstance(store, PostgresLedger):
            store.unit(record.agent, lambda unit: unit.execute(statement, row))
            return
    with closing(sqlite3.connect(home / "mentis.db")) as file, file:
        file.execute(statement, row)


def unwritten(home: Path, *, written: bool = False) -> None:
    """As a process that was killed between the last entry and its turns, or right after them."""
    with open_record(home, readonly=True) as record:
        turns = record.talk.turns(record.agent, "main")
    ending = Ending("main/000000002/x", 2, "complete", turns[3:])
    with closing(sqlite3.connect(home / "mentis.db")) as file, file:
        if written:
            file.execute("UPDATE turns SET ending = ? WHERE number >= 2", (ending.name,))
        else:
            asked = to_json(replace(turns[2], state="pending")).decode()
            file.execute("UPDATE turns SET turn = ? WHERE number = 2", (asked,))
            file.execute("DELETE FROM turns WHERE number = 3")
    value = {"session": "main", "ending": to_json(ending).decode()}
    put_mark(home, Mark(ENDING, ending.name, value))


def standing(record: Record) -> list[Mark]:
    kinds = (ENDING, ERASED_TURNS, MOVED)
    return [mark for kind in kinds for mark in record.store.marks(record.agent, kind)]


def killed(home: Path, place: str) -> None:
    command = [sys.executable, str(KILLED), str(home), place]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.fixture(params=["home", "split"])
def older(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("written", [False, True])
async def test_what_a_turn_came_to_is_shown_and_then_written_once_where_it_was_left(
    older: Path, *, written: bool
) -> None:
    unwritten(older, written=written)
    found = verdict(older)
    assert (found.findings, len(found.notes)) == ((), int(not written))
    async with opened(older, "Three.") as agent:
        assert texts(agent.history()) == TALK
        assert {turn.state for turn in agent.history()} == {"complete"}
        result = await agent.chat("And?")
        assert texts(result.composed.request.conversation_history) == TALK
    with open_record(older) as record:
        assert standing(record) == []
        assert texts(record.store.turns(record.agent, "main")) == [*TALK, "And?", "Three."]
    found = verdict(older)
    assert (found.findings, found.notes) == ((), ())


async def test_words_that_a_tombstone_has_erased_are_shown_to_nobody_and_then_go(
    home: Path,
) -> None:
    with closing(sqlite3.connect(home / "mentis.db")) as file:
        rows = file.execute("SELECT turn, number FROM turns WHERE number < 2").fetchall()
    with open_record(home) as record:
        record.erase(0, [], reason="asked for")
    with closing(sqlite3.connect(home / "mentis.db")) as file, file:
        file.executemany("UPDATE turns SET turn = ? WHERE number = ?", rows)
    put_mark(home, Mark(ERASED_TURNS, "0", {"session": "main", "turns": [0, 1], "fields": []}))
    found = verdict(home)
    assert (found.findings, len(found.notes)) == ((), 1)
    async with opened(home) as agent:
        assert texts(agent.history()) == ["", "", *TALK[2:]]
    with open_record(home) as record:
        assert standing(record) == []
    assert b"ASKEDMARK" not in everything(home)
    assert verdict(home).notes == ()


@pytest.mark.parametrize(
    ("wrong", "attack"),
    [
        ("replace(value, 'Two.', 'No!!')", "edited"),
        ("replace(value, 'turns', 'tunes')", "unreadable"),
        ("'{}'", "unreadable"),
    ],
)
async def test_what_waits_to_be_written_is_bound_like_every_turn(
    home: Path, wrong: str, attack: str
) -> None:
    unwritten(home)
    with closing(sqlite3.connect(home / "mentis.db")) as file, file:
        changed = f"UPDATE marks SET value = {wrong} WHERE kind = '{ENDING}'"  # noqa: S608  # of this test
        assert file.execute(changed).rowcount == 1
    for _ in range(2):
        assert attack in [finding.attack for finding in verdict(home).findings]
        if attack == "unreadable":
            with pytest.raises(StoreDamaged, match="what a turn came to cannot be read"):
                opened(home)
        else:
            opened(home).close()
        with open_record(home) as record:
            assert record.repair().verdict.findings


async def test_turns_move_to_the_server_of_their_ledger_with_what_is_attached(split: Path) -> None:
    assert (in_file(split), verdict(split).findings) == ([4, 1, 1], ())
    async with opened(split, "Three.") as agent:
        assert agent.history()[0].parts[0] == PICTURE
        assert texts(agent.history()) == TALK
        await agent.chat("And?")
    assert in_file(split) == [0, 0, 0]
    for words in (b"ASKEDMARK", b"PICTUREMARK"):
        assert words not in everything(split)
    with open_record(split) as record:
        assert texts(record.store.turns(record.agent, "main")) == [*TALK, "And?", "Three."]
        assert standing(record) == []
    found = verdict(split)
    assert (found.findings, found.notes) == ((), ())


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "written",
    [pytest.param(None, marks=pytest.mark.slow, id="whole"), pytest.param(False, id="unwritten")],
)
async def test_a_move_that_is_killed_after_any_write_is_ended_by_the_next_one(
    split: Path, place: str, *, written: bool | None
) -> None:
    if written is not None:
        unwritten(split, written=written)
    killed(split, place)
    assert verdict(split).findings == ()
    async with opened(split, "Three.") as agent:
        assert texts(agent.history()) == TALK
        assert agent.history()[0].parts[0] == PICTURE
        await agent.chat("And?")
        assert texts(agent.history()) == [*TALK, "And?", "Three."]
    with open_record(split) as record:
        assert standing(record) == []
    assert (in_file(split), verdict(split).findings) == ([0, 0, 0], ())


async def test_turns_that_came_to_the_file_after_they_were_copied_stay_there(
    split: Path, caplog: pytest.LogCaptureFixture
) -> None:
    killed(split, "copy")
    with closing(sqlite3.connect(split / "mentis.db")) as file, file:
        more = "INSERT INTO turns (agent, session, number, turn) SELECT agent, session, 4, turn"
        file.execute(f"{more} FROM turns WHERE number = 0")
    for _ in range(2):
        async with opened(split) as agent:
            assert texts(agent.history()) == TALK
    assert in_file(split)[0] == 5
    assert "turns of session 'main' stay in" in caplog.text
