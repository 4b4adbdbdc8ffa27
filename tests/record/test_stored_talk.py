"""A long conversation is read in pieces, and whole where a piece does not tell everything."""

from __future__ import annotations

import pytest

from mentis.home.system import RandomIds, SystemClock
from mentis.record.agent_record import AgentRecord
from mentis.record.stored_talk import StoredTalk
from mentis.stores.memory.ledger import LedgerInMemory
from mentis.values.part import MediaPart, TextPart
from mentis.values.turn import Turn

LENGTH = 300


class CountingLedger(LedgerInMemory):
    """Counts the turns that are handed out."""

    def __init__(self) -> None:
        super().__init__()
        self.read = 0

    def turns(
        self, agent: str, session: str, *, since: int = 0, before: int | None = None
    ) -> tuple[Turn, ...]:
        found = super().turns(agent, session, since=since, before=before)
        self.read += len(found)
        return found

    def last_turns(
        self, agent: str, session: str, count: int, *, before: int | None = None
    ) -> tuple[tuple[int, Turn], ...]:
        already = self.read  # the double itself goes through all of them
        found = super().last_turns(agent, session, count, before=before)
        self.read = already + len(found)
        return found


@pytest.fixture
def ledger() -> CountingLedger:
    made = CountingLedger()
    for number in range(LENGTH):
        made.add_turn("home/ada", "desk", Turn("user", (TextPart(f"Number {number}"),)))
    made.read = 0
    return made


def talk(ledger: CountingLedger) -> StoredTalk:
    record = AgentRecord("home/ada", ledger, SystemClock(), RandomIds())
    return StoredTalk(record, "desk")


def test_it_is_the_conversation(ledger: CountingLedger) -> None:
    whole, read = ledger.turns("home/ada", "desk"), talk(ledger)
    assert len(read) == LENGTH
    assert tuple(read) == whole
    assert (read[-1], read[290:310], read[64:66]) == (whole[-1], whole[290:], whole[64:66])
    with pytest.raises(IndexError):
        read[LENGTH]


def test_a_few_turns_of_a_long_conversation_are_read_without_the_others(
    ledger: CountingLedger,
) -> None:
    read = talk(ledger)
    assert [read[place].text for place in (298, 299, 297)] == [
        "Number 298",
        "Number 299",
        "Number 297",
    ]
    assert ledger.read < 100


def test_a_turn_with_an_attachment_has_its_bytes(ledger: CountingLedger) -> None:
    made = Turn("user", (TextPart("Look"), MediaPart("image", "image/png", data=b"png")))
    ledger.add_turn("home/ada", "desk", made)
    assert talk(ledger)[LENGTH] == made
