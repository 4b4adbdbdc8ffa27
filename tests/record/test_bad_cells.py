"""One bad cell or file is a finding of its agent; all others still get their verdict."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.errors import StoreDamaged
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.record import rollback as record_rollback
from mentis.record import rotation as record_rotation
from mentis.record.record import open_record
from mentis.record.verify_home import verify_home
from mentis.status.statuses import open_statuses
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.entry import Draft, Verdict

pytestmark = pytest.mark.anyio
COPY = "idx, time, source, kind, ruleset, prev, fields, hash, body, salts, recipe, delivery"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = create_home(tmp_path / "home")
    drafts = [Draft("note", "test", {"n": n}, delivery=f"mail-{n}") for n in range(4)]
    with open_record(path) as record:
        record.ledger.append(record.agent, drafts, record.stamp())
    return path


@pytest.fixture
async def talked(tmp_path: Path) -> Path:
    path = create_home(tmp_path / "home")
    replies = ScriptedProvider(["Yes.", "No.", "Maybe."])
    async with Agent.open(path, parts=Parts(provider=replies)) as agent:
        for text in ("May I delete it?", "May I keep it?", "And now?"):
            await agent.chat(text)
    return path


def change(home: Path, *statements: str) -> None:
    with closing(sqlite3.connect(home / "mentis.db")) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def verdicts(home: Path) -> dict[str, Verdict]:
    return {verdict.agent: verdict for verdict in verify_home(home)}


def attacks(home: Path) -> list[str]:
    return [finding.attack for finding in verdicts(home)["home/ada"].findings]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("x'7a7a'", "b'zz'"),
        ("cast(x'7aff' AS TEXT)", r"'z\udcff'"),
        ("'zz/..'", "'zz/..'"),
        ("'zz/a' || char(0)", r"'zz/a\x00'"),
        ("'zz/a' || char(10) || 'ok'", r"'zz/a\nok'"),
    ],
)
def test_entries_of_a_name_that_no_agent_can_have_are_a_finding_of_their_own(
    home: Path, name: str, told: str
) -> None:
    change(home, f"INSERT INTO ledger SELECT {name}, {COPY} FROM ledger")  # noqa: S608 - ours
    found = verdicts(home)
    assert found.keys() == {"home/ada", told}
    assert found["home/ada"].intact
    assert [finding.column for finding in found[told].findings] == ["agent"]
    (copied, other) = sorted(verify_home(home, ledger=home / "mentis.db"), key=lambda v: v.intact)
    assert (copied.agent, other.agent) == (told, "home/ada")


@pytest.mark.parametrize("what", ["pipe", "folder", "link", "garbage", "odd"])
def test_what_is_no_segment_is_named_and_never_waited_for(home: Path, what: str) -> None:
    with open_record(home) as record:
        record_rotation.rotate(record, 2)
    (segment,) = (home / "ledger" / "ada").iterdir()
    planted = segment.with_name("segment-0000000009-0000000010.jsonl")
    head, _, _ = segment.read_bytes().partition(b"\n")
    make = {
        "pipe": lambda: os.mkfifo(planted),
        "folder": planted.mkdir,
        "link": lambda: planted.symlink_to(segment),
        "garbage": lambda: planted.write_bytes(b"garbage"),
        "odd": lambda: planted.write_bytes(head.replace(b'"first":0', b'"first":[]') + b"\n"),
    }
    make[what]()
    assert "unreadable" in attacks(home)


def test_a_number_that_nothing_can_follow_is_a_finding_and_stops_the_start(home: Path) -> None:
    change(home, "UPDATE ledger SET idx = 9223372036854775807 WHERE idx = 3")
    assert "deleted" in attacks(home)


@pytest.mark.parametrize(
    "row",
    [
        "'x', 1, 'never', 0",
        "'x', 'one', '2026-01-01T00:00:00Z', 0",
        "x'00', 1, '', 0",
        "'x', 9223372036854775807, '2026-01-01T00:00:00Z', 0",
        "'x', 0, '2026-01-01T00:00:00Z', 0",
    ],
)
def test_a_lease_that_cannot_be_read_is_told_by_health(home: Path, row: str) -> None:
    change(home, f"INSERT OR REPLACE INTO leases VALUES ('home/ada', 'consume', {row})")  # noqa: S608 - ours
    with open_statuses(home) as statuses:
        health = statuses.health()
    assert (health.status, "cannot be read" in health.reason) == ("RED", True)


def test_a_fence_that_no_other_can_follow_is_damage_for_a_watcher(home: Path) -> None:
    row = "'home/ada', 'consume', 'x', 9223372036854775807, '2026-01-01T00:00:00Z', 0"
    change(home, f"INSERT OR REPLACE INTO leases VALUES ({row})")  # noqa: S608 - ours
    with Database(home / "mentis.db") as database:
        ledger = SqliteLedger(database)
        now = datetime(2027, 1, 1, tzinfo=UTC)
        with pytest.raises(StoreDamaged, match="its fence is 9223372036854775807"):
            ledger.take_lease("home/ada", "consume", "watcher", now=now, seconds=30)


# Conversations


async def test_a_conversation_as_it_was_is_no_finding(talked: Path) -> None:
    assert attacks(talked) == []


async def test_answers_that_have_changed_places_are_named(talked: Path) -> None:
    change(
        talked,
        "UPDATE turns SET number = 100 WHERE number = 1",
        "UPDATE turns SET number = 1 WHERE number = 3",
        "UPDATE turns SET number = 3 WHERE number = 100",
    )
    assert attacks(talked) == ["reordered"]


async def test_questions_that_have_changed_places_are_named(talked: Path) -> None:
    change(
        talked,
        "UPDATE turns SET number = 100 WHERE number = 0",
        "UPDATE turns SET number = 0 WHERE number = 2",
        "UPDATE turns SET number = 2 WHERE number = 100",
    )
    assert attacks(talked) == ["reordered", "reordered"]


@pytest.mark.parametrize("session", ["main", "another"])
async def test_a_turn_that_no_entry_speaks_of_is_named(talked: Path, session: str) -> None:
    number = 6 if session == "main" else 0
    change(
        talked,
        f"INSERT INTO turns (agent, session, number, turn) SELECT agent, '{session}', {number},"  # noqa: S608 - ours
        " replace(turn, 'Yes.', 'I was never asked.') FROM turns WHERE number = 1",
    )
    assert attacks(talked) == ["inserted"]


async def test_a_question_that_was_never_ended_is_a_remark(talked: Path) -> None:
    change(
        talked,
        "INSERT INTO turns (agent, session, number, turn) SELECT agent, session, 6,"
        " replace(turn, 'complete', 'pending') FROM turns WHERE number = 0",
    )
    verdict = verdicts(talked)["home/ada"]
    assert verdict.intact
    assert any("turn 6 of session 'main' was begun and never ended" in n for n in verdict.notes)


async def test_a_turn_whose_entry_was_given_up_is_a_remark(talked: Path) -> None:
    change(talked, "DELETE FROM ledger WHERE idx = 2")
    with open_record(talked) as record:
        record_rollback.accept_rollback(record, reason="disk")
    verdict = verdicts(talked)["home/ada"]
    assert verdict.intact
    assert any(
        "turn 5 of session 'main' is in no entry, which may have" in n for n in verdict.notes
    )


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE turns SET turn = '{}' WHERE number = 1",
        "UPDATE turns SET turn = x'00' WHERE number = 1",
        "UPDATE turns SET number = 9 WHERE number = 5",
        "UPDATE turns SET session = x'6d' WHERE number = 5",
    ],
)
async def test_a_turn_that_cannot_be_read_is_a_finding(talked: Path, statement: str) -> None:
    change(talked, statement)
    assert "unreadable" in attacks(talked)


async def test_another_role_is_another_turn(talked: Path) -> None:
    change(
        talked,
        """UPDATE turns SET turn = replace(turn, '"role":"assistant"', '"role":"user"')
        WHERE number = 1""",
    )
    assert attacks(talked) == ["edited"]


# What was moved out


@pytest.mark.parametrize("delivery", ["NULL", "'future'", "x'00'"])
def test_a_delivery_that_was_changed_among_the_dropped_is_named(home: Path, delivery: str) -> None:
    with open_record(home) as record:
        record_rotation.rotate(record, 2)
    assert attacks(home) == []
    change(home, f"UPDATE dropped SET delivery = {delivery} WHERE idx = 1")  # noqa: S608 - ours
    assert attacks(home)[0] == ("unreadable" if delivery.startswith("x") else "edited")


def test_a_delivery_that_was_erased_is_no_finding(home: Path) -> None:
    with open_record(home) as record:
        record_rotation.rotate(record, 2)
        record.erase(1, ["delivery"], reason="asked to")
    assert attacks(home) == []
