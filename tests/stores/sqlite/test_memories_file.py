"""What is forgotten is not in the file any more, and an older file learns the new form."""

from __future__ import annotations

import sqlite3
import struct
from pathlib import Path

import pytest

from mentis.errors import StoreDamaged
from mentis.stores.sqlite import migrations
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.memories import SqliteMemories
from mentis.values.cognition import Memory
from mentis.values.memories import MemoryListing, Vector, text_digest
from mentis.values.trust import Trust

TEXT = "the combination of the cello case is 4711 " * 40
NUMBERS = struct.pack("<64f", *(number / 7 + 0.123 for number in range(64)))


def everything_on_disk(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir()))


def test_what_is_forgotten_is_in_no_file(database: Database, path: Path) -> None:
    store = SqliteMemories(database)
    for number in range(20):
        memory = Memory(f"m{number}", f"{TEXT} {number}")
        store.add("ada", [memory])
        store.keep_vectors("ada", "f", [Vector(memory.id, text_digest(memory.text), NUMBERS)])
    assert b"4711" in everything_on_disk(path.parent)
    for number in range(20):
        assert store.forget("ada", f"m{number}")
    left = everything_on_disk(path.parent)
    assert b"4711" not in left
    assert NUMBERS[:16] not in left
    assert NUMBERS[-16:] not in left


def test_dropped_vectors_are_in_no_file(database: Database, path: Path) -> None:
    store = SqliteMemories(database)
    memory = Memory("a", "tea")
    store.add("ada", [memory])
    store.keep_vectors("ada", "f", [Vector("a", text_digest("tea"), NUMBERS)])
    store.drop_vectors("ada", "f")
    assert NUMBERS[:16] not in everything_on_disk(path.parent)


def test_memories_of_an_older_file_are_still_there(path: Path) -> None:
    steps = migrations.MIGRATIONS
    before = steps[: steps.index(migrations._extend_memories)]  # pyright: ignore[reportPrivateUsage]  # the step in question
    connection = sqlite3.connect(path)
    for step in before:
        step(connection)
    old = '{"id":"a","text":"tea","kind":"fact","trust":"self","source":"chat","time":""}'
    connection.execute("INSERT INTO memories VALUES ('ada', 'a', ?)", (old,))
    connection.execute(f"PRAGMA application_id = {migrations.APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {len(before)}")
    connection.commit()
    connection.close()
    with Database(path) as database:
        store = SqliteMemories(database)
        kept = Memory("a", "tea", kind="fact", trust=Trust.SELF, source="chat")
        assert store.memories("ada") == (kept,)
        assert store.standing("ada").revision == 1
        assert store.page("ada", MemoryListing(kinds=("fact",), words=("tea", "chat"))) == (kept,)
        vector = Vector("a", text_digest("tea"), NUMBERS)
        assert store.keep_vectors("ada", "f", [vector]) == 1


def test_a_row_that_no_list_can_be_made_of_is_told_among_those_kept_back(path: Path) -> None:
    steps = migrations.MIGRATIONS
    before = steps[: steps.index(migrations._list_memories)]  # pyright: ignore[reportPrivateUsage]  # the step in question
    connection = sqlite3.connect(path)
    for step in before:
        step(connection)
    row = ("ada", "a", "{", "", 1)
    connection.execute(
        "INSERT INTO memories (agent, id, memory, text, revision) VALUES (?, ?, ?, ?, ?)", row
    )
    connection.execute(f"PRAGMA application_id = {migrations.APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {len(before)}")
    connection.commit()
    connection.close()
    with Database(path) as database:
        store = SqliteMemories(database)
        assert store.page("ada", MemoryListing()) == ()
        assert store.count("ada", MemoryListing(states=("quarantine",))) == 1
        with pytest.raises(StoreDamaged, match="cannot be read"):
            store.page("ada", MemoryListing(states=("quarantine",)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"kind":"fact"', '"kind":"poem"'),
        ('"kind":"fact"', '"kind":[]'),
        ('"trust":"self"', '"trust":"king"'),
        ('"tags":["x"]', '"tags":[1]'),
        ('"confidence":1.0', '"confidence":"1"'),
        ('"text":"tea"', '"text":7'),
        ('"text":"tea"', '"text":"tea","more":1'),
        ('"screening":null', '"screening":{"outcome":"fine"}'),
        ("{", "["),
        ("{", ""),
    ],
)
def test_a_row_somebody_changed_is_told(database: Database, old: str, new: str) -> None:
    store = SqliteMemories(database)
    store.add("ada", [Memory("a", "tea", kind="fact", trust=Trust.SELF, tags=("x",))])
    with database.write() as connection:
        connection.execute("UPDATE memories SET memory = replace(memory, ?, ?)", (old, new))
    with pytest.raises(StoreDamaged, match="a memory of `ada` cannot be read"):
        store.memories("ada")


def test_a_vector_somebody_changed_is_told(database: Database) -> None:
    store = SqliteMemories(database)
    store.add("ada", [Memory("a", "tea")])
    store.keep_vectors("ada", "f", [Vector("a", text_digest("tea"), NUMBERS)])
    with database.write() as connection:
        connection.execute("UPDATE memory_vectors SET vector = 7")
    with pytest.raises(StoreDamaged, match="a vector in the database is int"):
        store.vectors("ada", "f")
