"""What waits for a yes, or has one, is what the entries say of it, or `verify` names it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from mentis.act import entries
from mentis.act.approvals import Approvals
from mentis.act.mcp.told import PinChange
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ledger.recipes import holds
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.record.record import Record, open_record
from mentis.record.verify_home import verify_home
from mentis.stores.memory import AcceptedInMemory
from mentis.tools.pins import Pins
from mentis.values.act import ActCall, Decision, TaintedValue, WaitingAct
from mentis.values.action import Action
from mentis.values.entry import Draft
from mentis.values.mark import Mark

PUT = Draft("note", "test", {})
WHEN = {"since": "2026-01-01", "expires": "9999-01-01"}


def asked(key: str, agent: str, **payload: object) -> WaitingAct:
    call = ActCall(Action("send", payload), key, agent)
    decision = Decision("wait", "ask", tainted=(TaintedValue("text", "hello", "web"),))
    return WaitingAct(call, "sha256:1", "python", False, decision, **WHEN)


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    """One act waits, one has a yes that nobody has used, and a tool is trusted."""
    with open_record(create_home(tmp_path / "home"), parts=Parts(clock=FixedClock())) as record:
        for key in ("waits", "yes"):
            act = asked(key, record.agent, text="hello", amount=2.0)
            draft, mark = entries.waiting_draft(act), entries.waiting_mark(act)
            record.ledger.append(record.agent, [draft], record.stamp(), marks=[mark])
        approvals(record).approve("yes", by="ada")
        pins(record).record([PinChange("mcp:notes", "notes.add", "sha256:a", "pinned")])
        assert told(record) == []
        yield record


def approvals(record: Record) -> Approvals:
    return Approvals(
        record.ledger,
        record.stamp(),
        AcceptedInMemory(),
        agent=record.agent,
        clock=record.clock,
        ids=CountingIds(),
        genuine=holds,
    )


def pins(record: Record) -> Pins:
    return Pins(record.ledger, record.stamp(), record.agent)


def told(record: Record) -> list[tuple[str, str]]:
    (verdict,) = verify_home(record.home.path)
    return [(one.attack, one.message) for one in verdict.findings]


def sql(record: Record, statement: str, *given: object) -> None:
    with closing(sqlite3.connect(record.home.path / "mentis.db")) as connection, connection:
        assert connection.execute(statement, given).rowcount == 1


NAMES = {
    "waits": "act waits, which waits for a yes,",
    "yes": "the yes to act yes",
    "notes.add": "the trust in the definition of tool `notes.add`",
}


@pytest.mark.parametrize(
    ("key", "old", "new"),
    [
        ("waits", "hello", "pay"),
        ("yes", "hello", "pay"),
        ("yes", "sha256:1", "sha256:2"),
        ("yes", "9999-01-01", "9999-12-31"),
        ("notes.add", "sha256:a", "sha256:b"),
    ],
)
def test_what_was_granted_and_is_changed_by_another_program_is_named(
    record: Record, key: str, old: str, new: str
) -> None:
    sql(record, "UPDATE marks SET value = replace(value, ?, ?) WHERE key = ?", old, new, key)
    ((attack, message),) = told(record)
    assert attack == "edited"
    assert message.startswith(f"{NAMES[key]} is not as entry")


@pytest.mark.parametrize("key", list(NAMES))
def test_what_was_granted_and_is_taken_away_by_another_program_is_named_until_it_is_repaired(
    record: Record, key: str
) -> None:
    sql(record, "DELETE FROM marks WHERE key = ?", key)
    assert told(record) == [("deleted", f"{NAMES[key]} is gone")]
    assert record.repair().entry is not None
    assert told(record) == []


@pytest.mark.parametrize("kind", ["waiting", "approved", "pin"])
def test_a_grant_that_another_program_puts_in_is_named_and_a_repair_takes_it_away(
    record: Record, kind: str
) -> None:
    whole = entries.waiting_mark(asked("planted", record.agent, text="pay")).value
    value = {"digest": "sha256:c", "source": "mcp:notes"} if kind == "pin" else whole
    mark = Mark(kind, "planted", value)
    record.store.append(record.agent, [PUT], record.stamp(), marks=[mark])
    ((attack, message),) = told(record)
    assert attack == "inserted"
    assert message.endswith("stands here, and no entry says so")
    assert record.repair().entry is not None
    assert told(record) == []
    assert record.store.mark(record.agent, kind, "planted") is None


def test_a_yes_that_was_changed_is_taken_away_by_a_repair_and_what_is_decided_is_no_finding(
    record: Record,
) -> None:
    sql(record, "UPDATE marks SET value = replace(value, 'hello', 'pay') WHERE key = 'yes'")
    assert len(told(record)) == 1
    record.repair()
    assert told(record) == []
    assert record.store.marks(record.agent, entries.APPROVED) == ()
    approvals(record).deny("waits", by="ada")
    assert told(record) == []


def test_an_act_of_an_older_mentis_whose_entry_says_less_is_no_finding(record: Record) -> None:
    act = asked("old", record.agent, text="hello")
    draft = entries.waiting_draft(act)
    head = {name: draft.body["act"][name] for name in ("key", "type", "stage", "mode")}  # type: ignore[index]
    older = replace(draft, body={**draft.body, "act": head})
    mark = entries.waiting_mark(act)
    record.ledger.append(record.agent, [older], record.stamp(), marks=[mark])
    assert told(record) == []


def test_a_definition_that_is_approved_later_is_the_one_that_counts(record: Record) -> None:
    pins(record).approve(
        PinChange("mcp:notes", "notes.add", "sha256:b", "changed", "sha256:a"), by="ada"
    )
    assert told(record) == []
    sql(record, "UPDATE marks SET value = replace(value, 'sha256:b', 'sha256:a') WHERE kind='pin'")
    assert [attack for attack, _ in told(record)] == ["edited"]
