"""An erasure empties the turns of its own entry, whoever began it, and whatever others said."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.errors import StoreDamaged, StoreLocked
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.record import rotation as record_rotation
from mentis.record.record import Record, open_record
from mentis.record.segments import SegmentFolder
from mentis.record.verify_home import verify_home
from mentis.stores import sql_ledger
from mentis.stores.column import write_value
from mentis.stores.older_turns import ERASED_TURNS, OlderWrites
from mentis.values.entry import Draft, Verdict
from mentis.values.json import JsonObject
from mentis.values.mark import Mark
from mentis.values.rendering import Rendering
from mentis.values.route import Route
from mentis.values.turn_writes import TurnWrites, emptied

pytestmark = pytest.mark.anyio
ERASED = Mark(ERASED_TURNS, "3", {"session": "main", "turns": [0, 1], "fields": ["turn"]})


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    path = create_home(tmp_path / "home")
    await ask(path, "May ADA?", "May Bob?", "May Eve?")
    return path


async def ask(home: Path, *messages: str) -> None:
    """Each is answered with the same word."""
    parts = Parts(provider=ScriptedProvider(["Yes."] * len(messages)))
    async with Agent.open(home, parts=parts) as agent:
        for message in messages:
            await agent.chat(message)


def verdict(home: Path) -> Verdict:
    (found,) = verify_home(home)
    return found


def empty_alone(record: Record, *numbers: int) -> None:
    """As an older Mentis, killed before it wrote the tombstone."""
    turns = record.store.turns(record.agent, "main")
    with record.database.write() as connection:
        for number in numbers:
            left = write_value(emptied(turns[number]))
            connection.execute("UPDATE turns SET turn = ? WHERE number = ?", (left, number))


def standing(record: Record) -> list[int]:
    """The turns of which the words are in the database."""
    turns = record.store.turns(record.agent, "main")
    return [number for number, turn in enumerate(turns) if turn.parts]


def put_mark(home: Path, value: JsonObject) -> None:
    with open_record(home) as record:
        mark, note = Mark(ERASED_TURNS, "0", value), Draft("note", "test", {})
        record.store.append(record.agent, [note], record.stamp(), marks=[mark])


@pytest.mark.parametrize("index", [0, 1, 2])
@pytest.mark.parametrize("count", [1, 2], ids=["message", "answer"])
async def test_what_an_older_mentis_began_is_ended_and_takes_no_turn_with_the_same_words(
    home: Path, index: int, count: int
) -> None:
    own = (2 * index, 2 * index + 1)
    with open_record(home) as record:
        empty_alone(record, *own[:count])
        found = verdict(home)
        assert not found.intact
        assert any("the same `mentis ledger erase` ends it" in note for note in found.notes)
        record.erase(index, [], reason="asked for")
        assert standing(record) == [n for n in range(6) if n not in own]
    assert (verdict(home).findings, verdict(home).notes) == ((), ())


async def test_a_turn_said_after_an_older_mentis_was_killed_stays(home: Path) -> None:
    with open_record(home) as record:
        empty_alone(record, 4, 5)
    await ask(home, "May Kim?")
    with open_record(home) as record:
        record.erase(2, [], reason="asked for")
        assert standing(record) == [0, 1, 2, 3, 6, 7]
    assert verdict(home).intact


async def test_two_erasures_of_an_older_mentis_are_each_ended_as_its_own(home: Path) -> None:
    with open_record(home) as record:
        empty_alone(record, 0, 1, 4)
        record.erase(2, [], reason="asked for")
        assert standing(record) == [2, 3]
        record.erase(0, [], reason="asked for")
        assert standing(record) == [2, 3]
    assert verdict(home).intact


class Interrupted(ScriptedProvider):
    """Another process asks and is answered while this one waits for its answer."""

    def __init__(self, home: Path) -> None:
        super().__init__(["Yes."])
        self._home = home

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        await ask(self._home, "May Bob?")
        async with super().open(rendering, route) as events:
            yield events


@pytest.mark.parametrize(("index", "own"), [(0, [1, 2]), (1, [0, 3])])
async def test_answers_in_another_order_than_the_questions_are_erased_each_with_its_own(
    tmp_path: Path, index: int, own: list[int]
) -> None:
    home = create_home(tmp_path / "two")
    async with Agent.open(home, parts=Parts(provider=Interrupted(home))) as agent:
        await agent.chat("May ADA?")
    with open_record(home) as record:
        texts = [turn.text for turn in record.talk.turns(record.agent, "main")]
        assert texts == ["May ADA?", "May Bob?", "Yes.", "Yes."]
        record.erase(index, [], reason="asked for")
        assert standing(record) == [n for n in range(4) if n not in own]
    assert verdict(home).intact


async def test_where_an_answer_was_changed_that_of_another_entry_is_not_erased_for_it(
    home: Path,
) -> None:
    with closing(sqlite3.connect(home / "mentis.db")) as connection, connection:
        connection.execute("UPDATE turns SET turn = replace(turn, 'Yes.', 'No!') WHERE number = 1")
    with open_record(home) as record:
        erased = record.turns_to_empty(record.entry(0), list(record.entry(0).body))
        assert erased is not None
        assert (erased.numbers, erased.missing) == ((0,), 1)
        record.erase(0, [], reason="asked for")
        assert standing(record) == [1, 2, 3, 4, 5]


async def test_a_segment_that_was_not_erased_yet_takes_no_turn_with_the_same_words(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with open_record(home) as record:
        record_rotation.rotate(record, 2)
        with monkeypatch.context() as patch:
            patch.setattr(SegmentFolder, "erase", killed)
            with pytest.raises(KeyboardInterrupt):
                record.erase(0, [], reason="asked for")
        assert not verdict(home).intact
        record.erase(0, [], reason="asked for")
        assert standing(record) == [2, 3, 4, 5]
    assert verdict(home).intact


async def test_turns_that_cannot_be_emptied_keep_the_fields_of_their_entry(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> None:
        raise StoreLocked("another process is writing", hint="try again")

    with open_record(home) as record:
        with monkeypatch.context() as patch:
            patch.setattr(sql_ledger, "write_turns", busy)
            with pytest.raises(StoreLocked):
                record.erase(0, ["digests"], reason="asked for")
        assert standing(record) == [0, 1, 2, 3, 4, 5]
        assert {"turn", "digests"} <= record.entry(0).body.keys()
        record.erase(0, [], reason="asked for")
        assert (standing(record), record.entry(0).body) == ([2, 3, 4, 5], {})
    assert (verdict(home).findings, verdict(home).notes) == ((), ())


@pytest.mark.parametrize("key", ["x", "-1"])
async def test_a_mark_under_another_name_is_damage(key: str) -> None:
    assert OlderWrites.read(ERASED).writes == TurnWrites("main", emptied=(0, 1))
    with pytest.raises(StoreDamaged, match="which turns were erased"):
        OlderWrites.read(Mark(ERASED_TURNS, key, ERASED.value))


@pytest.mark.parametrize(
    ("wrong", "attack"),
    [
        ({"session": "main", "turns": [2], "fields": []}, "edited"),
        ({"session": "main", "turns": [True], "fields": []}, "unreadable"),
        ({"session": "main", "turns": "2", "fields": []}, "unreadable"),
        ({"session": 1, "turns": [], "fields": []}, "unreadable"),
        ({}, "unreadable"),
    ],
)
async def test_a_mark_that_somebody_put_there_is_found(
    home: Path, wrong: JsonObject, attack: str
) -> None:
    put_mark(home, wrong)
    assert attack in [finding.attack for finding in verdict(home).findings]


async def test_an_unreadable_mark_is_found_where_nothing_was_said(tmp_path: Path) -> None:
    home = create_home(tmp_path / "silent")
    put_mark(home, {})
    assert [finding.attack for finding in verdict(home).findings] == ["unreadable"]
