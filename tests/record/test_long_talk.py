"""Of a long conversation as much is read as is told, or as is new: no more for being longer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mentis.home.create import create_home
from mentis.record.recent_thread import read_thread
from mentis.record.record import open_record
from mentis.talk.persona_reading import unread_turns
from mentis.values.entry import Draft
from mentis.values.part import TextPart
from mentis.values.turn import Turn
from mentis.values.turn_writes import TurnWrites

COUNT = 3_000
TOLD = 300  # messages that a prompt has room for


@dataclass
class Counted:
    """A record that counts how many turns of it are read."""

    record: Any
    read: list[int] = field(default_factory=list[int])

    @property
    def agent(self) -> str:
        return self.record.agent

    @property
    def ledger(self) -> Any:  # noqa: ANN401 - itself, with what it hands out counted
        return self

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - of the ledger
        found = getattr(self.record.ledger, name)
        if name not in ("turns", "turning_points"):
            return found

        def counted(*given: object, **more: object) -> Any:  # noqa: ANN401 - as it comes
            turns = found(*given, **more)
            self.read.append(len(turns))
            return turns

        return counted


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Counted]:
    said = [Turn("user" if n % 2 == 0 else "assistant", (TextPart(f"{n}"),)) for n in range(COUNT)]
    with open_record(create_home(tmp_path / "home"), "ada") as record:
        writes = TurnWrites("desk", turns=tuple(said))
        record.ledger.append(
            record.agent, [Draft("note", "test", {})], record.stamp(), turns=writes
        )
        yield Counted(record)


def test_a_turn_reads_of_a_long_conversation_what_its_prompt_has_room_for(talk: Counted) -> None:
    thread = read_thread(talk, "desk", lambda turns: TOLD + 1 if len(turns) > TOLD else 0)  # pyright: ignore[reportArgumentType]  # a record that counts
    assert len(thread.told) > TOLD
    assert thread.told[-1] == COUNT - 1
    assert thread.earlier == COUNT - len(thread.told)
    assert sum(talk.read) < COUNT / 2


def test_an_update_of_the_memory_files_reads_what_is_new(talk: Counted) -> None:
    new = unread_turns(talk, "desk", COUNT - 10)  # pyright: ignore[reportArgumentType]  # a record that counts
    assert list(new) == list(range(COUNT - 10, COUNT))
    assert sum(talk.read) == 10
    assert unread_turns(talk, "desk", COUNT + 5) == {}  # pyright: ignore[reportArgumentType]  # a record that counts
