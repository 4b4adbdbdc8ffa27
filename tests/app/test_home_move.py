"""A home moves into a database and back, the same in all it holds, or it stays as it is."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from mentis.app.agent import Agent
from mentis.app.home_move import lay_out_home, move_home, move_home_back
from mentis.call.scripted import ScriptedProvider
from mentis.errors import HomeMissing, StoreConflict, StoreLocked, UsageError
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.home.view import discard_view, pull_view, push_view, view_status
from mentis.memories.memories import open_memories
from mentis.prompts.cognition import open_cognition
from mentis.prompts.personas import Personas
from mentis.prompts.prompts import Prompts
from mentis.record.record import open_record
from mentis.record.verify_home import verify_home
from mentis.settings.change import open_settings
from mentis.stores.files.blobs import FileBlobs
from mentis.stores.files.home import Home
from mentis.stores.postgres.database import PostgresDatabase
from mentis.values.memories import MemoryDraft
from mentis.values.part import MediaPart
from mentis.values.recalled import Stimulus

pytestmark = pytest.mark.anyio
_SCHEMAS = count(1)
PICTURE = MediaPart("image", "image/png", data=b"PICTUREMARK")
NOTE = "- Lena plays the cello."


@pytest.fixture
def schema() -> str:
    return f"moved_{next(_SCHEMAS)}"


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    """With something of each kind in it."""
    path = create_home(tmp_path / "home")
    async with opened(path, "One.") as agent:
        await agent.chat(Stimulus("Hello", attachments=(PICTURE,)))
    with open_memories(path) as memories:
        await memories.remember(MemoryDraft("Lena lives in Graz."))
    with Personas.open(path) as personas:
        personas.memory("ada").write("memory", NOTE, words="she told me")
    with open_cognition(path) as mind:
        mind.add_goal("cello", "learn the cello")
    FileBlobs(Home(path).blobs).keep(b"a result")
    (path / "tool.sh").write_text("#!/bin/sh\n")
    (path / "tool.sh").chmod(0o700)
    return path


def opened(home: Path, *replies: str) -> Agent:
    return Agent.open(home, parts=Parts(provider=ScriptedProvider(replies)))


def said(home: Path) -> list[str]:
    with open_record(home, readonly=True) as record:
        (session,) = record.ledger.sessions(record.agent)
        return [one.text for one in record.ledger.turns(record.agent, session)]


def findings(home: Path) -> list[str]:
    return [finding.message for one in verify_home(home) for finding in one.findings]


async def test_a_home_that_was_moved_goes_on_talking_on_two_machines_and_comes_back_whole(
    home: Path, tmp_path: Path, postgres_url: str, schema: str
) -> None:
    moved = move_home(home, postgres_url, schema=schema)
    assert (moved.rows["turns"], moved.rows["memories"], moved.blobs) == (2, 1, 1)
    assert [(home / moved.aside / name).exists() for name in ("blobs", "mentis.db")] == [True, True]
    assert not (home / "mentis.db").exists()
    other = lay_out_home(tmp_path / "other", postgres_url, home / "secret.key", schema=schema)
    assert (other / "tool.sh").stat().st_mode & 0o100
    async with opened(home, "Two.") as here, opened(other, "Three.") as there:
        await here.chat("And here?")
        await there.chat("And there?")
    talk = ["Hello", "One.", "And here?", "Two.", "And there?", "Three."]
    assert said(home) == said(other) == talk
    for one in (home, other):
        assert findings(one) == []
        with Personas.open(one) as personas:
            assert personas.memory("ada").read("memory").text == NOTE
        with open_memories(one) as memories:
            assert [kept.text for kept in memories.list()] == ["Lena lives in Graz."]
        with open_cognition(one) as mind:
            assert "learn the cello" in str(mind.state())
    back = move_home_back(home)
    assert (back.rows["turns"], back.blobs, findings(home)) == (6, 1, [])
    assert (home / "personas/ada/memory/memory.md").read_text() == NOTE
    assert said(home)[-1] == "Three."
    with PostgresDatabase(postgres_url, schema=schema) as server:
        assert server.read("SELECT count(*) FROM ledger") == [(0,)]
    with pytest.raises(HomeMissing, match="not in its database any more"):
        opened(other)


async def test_what_is_edited_on_one_machine_is_there_on_the_other_and_nothing_is_overwritten(
    home: Path, tmp_path: Path, postgres_url: str, schema: str
) -> None:
    move_home(home, postgres_url, schema=schema)
    other = lay_out_home(tmp_path / "other", postgres_url, home / "secret.key", schema=schema)
    (home / "profile.toml").write_text('name = "Lena"\n')
    (home / "tool.sh").unlink()
    assert view_status(home).changed == ("profile.toml", "tool.sh")
    assert push_view(home) == ("profile.toml", "tool.sh")
    async with opened(other):  # whoever opens it opens the newest
        assert (other / "profile.toml").read_text() == 'name = "Lena"\n'
    assert not (other / "tool.sh").exists()
    (home / "profile.toml").write_text('name = "Eva"\n')
    (other / "profile.toml").write_text('name = "Mia"\n')
    push_view(home)
    for refused in (push_view, pull_view):
        with pytest.raises(StoreConflict, match=r"profile\.toml"):
            refused(other)
    assert discard_view(other) == ("profile.toml",)
    assert (other / "profile.toml").read_text() == 'name = "Eva"\n'
    assert (other / "profile.toml.mine").read_text() == 'name = "Mia"\n'
    assert view_status(other).changed == ()


async def test_edits_of_prompts_and_settings_are_kept_with_their_history(
    home: Path, tmp_path: Path, postgres_url: str, schema: str
) -> None:
    move_home(home, postgres_url, schema=schema)
    open_settings(home, {}).set("persona", "ada")
    with Prompts.open(home) as prompts:
        prompts.editor.save("style", variants={"default": "Ours."})
    push_view(home)
    other = lay_out_home(tmp_path / "other", postgres_url, home / "secret.key", schema=schema)
    async with opened(other) as agent:
        assert [one.words for one in agent.block_revisions("style")]


async def test_a_home_that_somebody_works_in_is_not_moved(
    home: Path, postgres_url: str, schema: str
) -> None:
    with open_record(home) as record:
        now = record.clock.now()
        record.ledger.take_lease(record.agent, "run", "loop far:1 x", now=now, seconds=60)
    with pytest.raises(StoreLocked, match="has the lease"):
        move_home(home, postgres_url, schema=schema)
    assert (home / "mentis.db").exists()
    assert said(home) == ["Hello", "One."]


async def test_a_schema_that_holds_something_takes_no_home(
    home: Path, tmp_path: Path, postgres_url: str, schema: str
) -> None:
    move_home(home, postgres_url, schema=schema)
    second = create_home(tmp_path / "second")
    before = (second / "mentis.toml").read_bytes()
    with pytest.raises(StoreConflict, match="something lies in"):
        move_home(second, postgres_url, schema=schema)
    assert (second / "mentis.toml").read_bytes() == before
    with pytest.raises(UsageError, match="on a server already"):
        move_home(home, postgres_url, schema=schema)


async def test_a_record_that_does_not_hold_is_not_moved(
    home: Path, postgres_url: str, schema: str
) -> None:
    with open_record(home) as record, record.database.write() as connection:
        connection.execute("UPDATE ledger SET source = 'else' WHERE idx = 0")
    with pytest.raises(Exception, match="does not hold"):
        move_home(home, postgres_url, schema=schema)
    assert said(home) == ["Hello", "One."]
    with PostgresDatabase(postgres_url, schema=schema) as server:
        assert server.read("SELECT count(*) FROM ledger") == [(0,)]
