"""The service of status windows: every way in, and what becomes of a draft on each."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast
from zipfile import ZipFile

import pytest

from mentis.errors import (
    BadInput,
    HistoryBroken,
    NotCanonical,
    ProfileConflict,
    RolledBack,
    SettingsError,
    StoreConflict,
    StoreDown,
    StoreFull,
    WindowRefused,
)
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ledger.chain import make_stamp
from mentis.ledger.channel.folder import StatusFolder, delivery_of
from mentis.ledger.channel.writer import write_draft
from mentis.ledger.guardian.examples import good_window
from mentis.ledger.guardian.profiles import SHIPPED
from mentis.ledger.origin import hash_window, window_text
from mentis.ports.clock import FixedClock
from mentis.ports.entries import Stamp
from mentis.ports.ids import CountingIds
from mentis.ports.ledger_store import LedgerStore
from mentis.record import rotation as record_rotation
from mentis.record.export import write_export
from mentis.record.record import open_record
from mentis.status.desk import OpenLedger, StatusWorkspace
from mentis.status.statuses import Statuses, open_statuses
from mentis.stores.memory import LedgerInMemory
from mentis.stores.postgres.database import PostgresDatabase
from mentis.stores.postgres.ledger import PostgresLedger
from mentis.values.entry import Before, Draft, Entry
from mentis.values.lease import Lease
from mentis.values.mark import Mark
from mentis.values.turn_writes import TurnWrites
from mentis.values.window import TIME_PREFIX

FORGED: dict[str, object] = {
    "time_source": "metadata (STRICT_SYNC): 2020-01-01T00:00:00Z",
    "window_hash": "f" * 64,
}


class World:
    """A ledger in memory that can be taken away and given back."""

    def __init__(self, folder: Path) -> None:
        self.ledger: LedgerStore = LedgerInMemory()
        self.folder = StatusFolder(folder)
        self.clock = FixedClock(step=timedelta(milliseconds=1))
        self.fault: Exception | None = None

    def open(self, profile: str = "mentis") -> Statuses:
        desk = StatusWorkspace(
            "home/ada",
            self.folder,
            open_store=self._opened,
            open_rules=lambda: SHIPPED[profile],
            clock=self.clock,
            ids=CountingIds(),
        )
        return Statuses(desk, verified=self.folder.path / "verified.json")

    def _opened(self) -> OpenLedger:
        if self.fault is not None:
            raise self.fault
        return OpenLedger(self.ledger, self.ledger)

    def reasons(self) -> list[dict[str, Any]]:
        files = sorted(self.folder.quarantine.glob("*.reason.json"))
        return [json.loads(file.read_text(encoding="utf-8")) for file in files]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "status" / "ada")


@pytest.fixture
def statuses(world: World) -> Statuses:
    return world.open()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


def window(statuses: Statuses, **fields: object) -> dict[str, object]:
    """A good window that says where the ledger stands."""
    state = statuses.backend_state()
    actions = ["Audit the rules"] if state.audit_due else ["Read the list"]
    place = {"step_id": state.step_id, "cycle": state.cycle, "actions": actions}
    return {**good_window(), **place, **fields}


RECOVERY: dict[str, object] = {
    "actions": ["Audit and recover what was refused"],
    "output_plan": ["Repair the chain"],
    "critical_summary": {"status": "RED"},
}


def body(entry: Entry | None) -> dict[str, Any]:
    assert entry is not None
    return cast("dict[str, Any]", entry.body)


def settings(home: Path, text: str) -> None:
    file = home / "mentis.toml"
    file.write_text(f"{file.read_text(encoding='utf-8')}\n{text}\n", encoding="utf-8")


def test_an_added_window_is_stamped_judged_counted_and_acknowledged(home: Path) -> None:
    with open_statuses(home) as statuses:
        draft = window(statuses)
        added = statuses.add(json.dumps(draft).encode(), source="editor")
        entry = added.entry
        assert entry is not None
        assert (entry.kind, entry.source, entry.ruleset) == ("window", "editor", "as-run")
        assert added.line == f"Added to history: {entry.hash[:16]}... (total: 1)"
        receipt = added.receipt
        assert (receipt.logged, receipt.counted, receipt.verified) == (True, True, True)
        assert (receipt.acknowledged, receipt.status) == (True, "GREEN")
        kept = body(entry)
        assert set(kept) >= {"window", "metadata", "judgement", "state", "received"}
        assert kept["window"]["time_source"] == f"{TIME_PREFIX}{entry.time}"
        assert kept["window"]["mcp_trigger"]["timestamp"] == entry.time
        assert kept["window"]["prev_window_hash"] is None
        assert "attempts" not in kept
        shown = statuses.window(entry)
        assert shown is not None
        assert shown["window_hash"] == entry.hash
        assert added.line in statuses.folder.log.read_text(encoding="utf-8")
        assert statuses.verify().intact


def test_what_the_draft_itself_says_is_kept_as_it_was(statuses: Statuses) -> None:
    draft = window(statuses, critical_summary={"status": "GREEN", "alerts": []})
    kept = body(statuses.add(draft, source="test").entry)
    stamped = {"time_source", "window_hash", "prev_window_hash", "mcp_trigger"}
    assert {name: kept["window"][name] for name in draft if name not in stamped} == {
        name: json.loads(json.dumps(value)) for name, value in draft.items() if name not in stamped
    }
    assert kept["judgement"]["derived"]["status"] == "YELLOW"
    assert kept["judgement"]["differences"]


@pytest.mark.parametrize("wrap", [False, True])
def test_a_window_may_come_wrapped_as_the_origin_wraps_it(statuses: Statuses, wrap: bool) -> None:
    draft = window(statuses)
    data = {"status_window": draft} if wrap else draft
    kept = body(statuses.add(data, source="test").entry)
    assert kept["window"]["goal"] == draft["goal"]


def test_each_window_names_the_head_of_the_chain_and_the_clock_of_its_entry(
    statuses: Statuses, world: World
) -> None:
    first = statuses.add(window(statuses), source="test").entry
    world.ledger.append("home/ada", [Draft("turn", "runtime", {})], _plain_stamp(world))
    second = statuses.add(window(statuses), source="test").entry
    turn = world.ledger.find("home/ada", 1)
    assert first is not None
    assert turn is not None
    assert second is not None
    assert body(second)["window"]["prev_window_hash"] == turn.hash == second.prev
    assert statuses.verify().intact


def _plain_stamp(world: World) -> Callable[..., Entry]:
    return make_stamp(world.clock.now, CountingIds().salt)


def test_a_clock_that_goes_back_gives_the_window_the_time_of_its_entry(world: World) -> None:
    statuses = world.open()
    first = statuses.add(window(statuses), source="test").entry
    world.clock = FixedClock(datetime(2020, 1, 1, tzinfo=UTC))
    again = world.open()
    second = again.add(window(again), source="test").entry
    assert first is not None
    assert second is not None
    assert second.time == first.time
    assert body(second)["window"]["time_source"] == f"{TIME_PREFIX}{second.time}"
    assert body(second)["clock"]["regressed"] is True
    assert again.verify().intact


def test_without_its_line_in_the_log_a_window_is_unsure_and_the_next_should_say_so(
    statuses: Statuses, world: World
) -> None:
    world.folder.log.mkdir(parents=True)
    added = statuses.add(window(statuses), source="test")
    assert added.entry is not None
    assert (added.receipt.logged, added.receipt.counted, added.receipt.verified) == (
        False,
        True,
        True,
    )
    assert (added.receipt.acknowledged, added.receipt.status) == (False, "YELLOW")
    world.folder.log.rmdir()
    following = statuses.add(window(statuses), source="test")
    assert following.judgement is not None
    assert {found.rule for found in following.judgement.findings} == {"S2-ACK-UNSURE"}
    assert following.receipt.acknowledged


# Steps, cycles, audits


def test_five_windows_are_a_step_and_the_sixth_is_an_audit(statuses: Statuses) -> None:
    seen: list[tuple[str, str, bool]] = []
    for _ in range(12):
        state = statuses.backend_state()
        seen.append((state.step_id, state.cycle, state.audit_due))
        statuses.add(window(statuses), source="test")
    assert [place[:2] for place in seen[:7]] == [
        *(("step-1", f"{n}/5") for n in range(1, 6)),
        ("step-2", "1/5"),
        ("step-2", "2/5"),
    ]
    assert [due for *_, due in seen] == [False] * 5 + [True] + [False] * 5 + [True]


def test_the_state_survives_the_process(home: Path) -> None:
    for _ in range(3):
        with open_statuses(home) as statuses:
            statuses.add(window(statuses), source="test")
    with open_statuses(home) as statuses:
        state = statuses.backend_state()
    assert (state.step_id, state.cycle, state.total_entries) == ("step-1", "4/5", 3)


def test_a_window_without_a_due_audit_is_refused(statuses: Statuses) -> None:
    for _ in range(5):
        statuses.add(window(statuses), source="test")
    with pytest.raises(WindowRefused) as caught:
        statuses.add(window(statuses, actions=["Read the list"]), source="test")
    assert caught.value.facts["rules"] == ["S2-AUDIT6"]
    assert statuses.stats().windows == 5


def test_when_older_entries_are_gone_the_step_is_unknown_until_a_red_window(
    statuses: Statuses, world: World
) -> None:
    statuses.add(window(statuses), source="test")
    stamp = _plain_stamp(world)
    world.ledger.append("home/ada", [Draft("turn", "runtime", {})], stamp)
    world.ledger.drop_before("home/ada", 1)
    fresh = world.open()
    state = fresh.backend_state()
    assert (state.step_id, state.cycle) == ("unknown", "0/5")
    with pytest.raises(WindowRefused):
        fresh.add(window(fresh), source="test")
    red = window(fresh, **RECOVERY)
    assert fresh.add(red, source="test").entry is not None
    assert fresh.backend_state().cycle == "2/5"


def test_a_hundred_threads_make_exactly_a_hundred_entries_in_a_sound_chain(home: Path) -> None:
    # Who counts the steps is the ledger: an agent of many threads need not agree on them first.
    with open_statuses(home) as statuses:
        draft = {**good_window(), "actions": ["Audit the rules"], "cycle": "1/5"}

        def add(number: int) -> int:
            entry = statuses.add({**draft, "step_id": f"own-{number}"}, source="test").entry
            return -1 if entry is None else entry.index

        with ThreadPoolExecutor(16) as pool:
            indexes = sorted(pool.map(add, range(100)))
        assert indexes == list(range(100))
        assert statuses.verify().intact
        assert statuses.backend_state().step_id == "step-21"


def test_in_postgresql_threads_that_share_a_transaction_count_steps_alike(
    world: World, postgres_url: str
) -> None:
    with PostgresDatabase(postgres_url, schema="statuses", busy_seconds=60) as database:
        world.ledger = PostgresLedger(database)
        statuses = world.open()
        draft = {**good_window(), "actions": ["Audit the rules"], "cycle": "1/5"}

        def add(number: int) -> int:
            entry = statuses.add({**draft, "step_id": f"own-{number}"}, source="test").entry
            return -1 if entry is None else entry.index

        with ThreadPoolExecutor(8) as pool:
            assert sorted(pool.map(add, range(40))) == list(range(40))
        kept = [body(entry)["state"] for entry in statuses.entries()]
        assert [(one["step"], one["cycle"]) for one in kept] == [
            (number // 5 + 1, number % 5 + 1) for number in range(40)
        ]
        assert statuses.verify().intact


# What is refused


def test_a_blocked_draft_is_in_quarantine_with_its_reason_and_a_breach(
    statuses: Statuses, world: World
) -> None:
    draft = window(statuses, confidence=7)
    with pytest.raises(WindowRefused) as caught:
        statuses.add(draft, source="editor")
    assert caught.value.facts["profile"] == "mentis"
    assert "S2-FIELD-CONF /confidence" in caught.value.message
    (reason,) = world.reasons()
    assert (reason["event"], reason["source"], reason["code"]) == (
        "refused",
        "editor",
        "window-refused",
    )
    kept = world.folder.quarantine / str(caught.value.facts["quarantine"])
    assert json.loads(kept.read_text(encoding="utf-8"))["confidence"] == 7
    (breach,) = statuses.entries()
    assert (breach.kind, breach.source, breach.body["rules"]) == (
        "breach",
        "editor",
        ["S2-FIELD-CONF"],
    )
    assert statuses.health().quarantined == 1


@pytest.mark.parametrize("missing", ["goal", "inputs", "actions", "confidence"])
def test_without_what_it_stands_on_a_window_counts_as_red_and_is_not_kept(
    statuses: Statuses, missing: str
) -> None:
    draft = window(statuses)
    del draft[missing]
    with pytest.raises(WindowRefused) as caught:
        statuses.add(draft, source="test")
    judgement = cast("dict[str, Any]", caught.value.facts["judgement"])
    assert (judgement["status"], judgement["confidence"]) == ("RED", 0.0)
    assert statuses.stats().windows == 0


def test_without_what_it_stands_on_a_window_is_not_even_spooled(
    statuses: Statuses, world: World
) -> None:
    world.fault = StoreDown("the server is gone")
    with pytest.raises(WindowRefused):
        statuses.add({"actions": []}, source="test")
    assert world.folder.waiting() == []


@pytest.mark.parametrize(
    "data",
    [b"{", b"[]", b'{"goal": NaN}', b'{"goal": 1, "goal": 2}', b'\xef\xbb\xbf{"goal": 1}', b"\xff"],
)
def test_what_has_no_single_meaning_is_refused_before_anything_else(
    statuses: Statuses, data: bytes
) -> None:
    with pytest.raises((BadInput, NotCanonical)):
        statuses.add(data, source="test")
    with pytest.raises((BadInput, NotCanonical)):
        statuses.write(data)
    assert statuses.folder.waiting() == []


def test_a_source_is_never_empty(statuses: Statuses) -> None:
    with pytest.raises(BadInput, match="source"):
        statuses.add(window(statuses), source=" ")


# What a draft makes up (fault 28)


@pytest.mark.parametrize("profile", ["mentis", "strict"])
def test_made_up_fields_are_overwritten_and_the_attempt_is_on_record(
    world: World, profile: str
) -> None:
    statuses = world.open(profile)
    draft = window(statuses, **FORGED)
    draft["mcp_trigger"] = {**cast("dict[str, object]", draft["mcp_trigger"]), "timestamp": "then"}
    added = statuses.add(draft, source="test")
    kept = body(added.entry)
    assert added.entry is not None
    assert kept["attempts"] == [
        {"where": "/time_source", "given": FORGED["time_source"]},
        {"where": "/mcp_trigger/timestamp", "given": "then"},
        {"where": "/window_hash", "given": "f" * 64},
    ]
    assert kept["window"]["time_source"] == f"{TIME_PREFIX}{added.entry.time}"
    assert kept["window"]["mcp_trigger"]["timestamp"] == added.entry.time
    found = {finding["rule"] for finding in kept["judgement"]["findings"]}
    assert found >= {"S2-FAKE-TIME", "S2-FAKE-TRIGTIME", "S2-HASH-DRAFT", "S2-DECEIT"}
    assert statuses.verify().intact


def test_under_the_origins_rules_made_up_fields_are_refused_recorded_and_answered(
    world: World,
) -> None:
    statuses = world.open("s2-4.0")
    with pytest.raises(WindowRefused) as caught:
        statuses.add(window(statuses, **FORGED), source="editor")
    assert "S2-FAKE-TIME" in cast("list[str]", caught.value.facts["rules"])
    (entry,) = statuses.entries()
    assert (entry.kind, entry.source, entry.ruleset) == ("breach", "editor", "s2-4.0")
    assert entry.body["attempts"] == ["/time_source", "/window_hash"]
    assert statuses.backend_state().after_breach
    with pytest.raises(WindowRefused):
        statuses.add(window(statuses), source="editor")
    recovery = {
        "actions": ["Recover what was made up"],
        "output_plan": ["Repair the chain"],
        "confidence": 0.0,
        "critical_summary": {"status": "RED"},
        "reflection_curve": {"delta": "a breach", "correction": "nothing made up", "next": "go on"},
    }
    assert statuses.add(window(statuses, **recovery), source="editor").entry is not None
    assert not statuses.backend_state().after_breach


@pytest.mark.parametrize("profile", ["mentis", "s2-4.0", "strict"])
def test_another_predecessor_than_the_head_is_refused_and_the_head_itself_is_not(
    world: World, profile: str
) -> None:
    statuses = world.open(profile)
    statuses.add(window(statuses), source="test")
    with pytest.raises(WindowRefused) as caught:
        statuses.add(window(statuses, prev_window_hash="0" * 64), source="test")
    assert caught.value.facts["rules"] == ["S2-PREV-DRAFT"]
    head = statuses.backend_state().chain_head
    answer = window(statuses, prev_window_hash=head, **RECOVERY)
    assert statuses.add(answer, source="test").entry is not None


# One delivery


def test_one_delivery_given_twice_is_one_entry(statuses: Statuses) -> None:
    draft = window(statuses)
    first = statuses.add(draft, source="test", delivery="d-1")
    again = statuses.add(draft, source="test", delivery="d-1")
    assert (first.known, again.known) == (False, True)
    assert again.entry == first.entry
    assert statuses.stats().total_entries == 1
    with pytest.raises(StoreConflict):
        statuses.add({**draft, "goal": "Something else"}, source="test", delivery="d-1")


def test_the_same_draft_without_a_delivery_is_two_entries(statuses: Statuses) -> None:
    draft = window(statuses)
    statuses.add(draft, source="test")
    statuses.add(draft, source="test")
    assert statuses.stats().total_entries == 2


# Files


def test_a_written_draft_waits_until_the_watcher_judges_stamps_and_records_it(
    statuses: Statuses, world: World
) -> None:
    path = statuses.write(window(statuses))
    assert path.parent == world.folder.spool
    slot = statuses.write(window(statuses), slot=True)
    assert slot == world.folder.pending
    assert statuses.health().status == "YELLOW"
    done = statuses.watcher().consume()
    assert [entry.source for entry in done.added] == ["pending_status_auto"] * 2
    first = body(done.added[0])
    assert first["delivery"] == delivery_of(path.name)
    assert first["window"]["time_source"] == f"{TIME_PREFIX}{done.added[0].time}"
    assert first["judgement"]["profile"] == "mentis"
    assert world.folder.waiting() == []
    assert statuses.verify().intact


def test_a_file_that_a_rule_blocks_goes_to_quarantine_with_the_judgement(
    statuses: Statuses, world: World
) -> None:
    statuses.write(window(statuses, window_type="banana"))
    done = statuses.watcher().consume()
    assert (len(done.added), len(done.refused), done.fault) == (0, 1, None)
    (reason,) = world.reasons()
    assert reason["code"] == "window-refused"
    assert reason["facts"]["rules"] == ["S2-FIELD-TYPE"]


def test_a_file_that_makes_things_up_is_a_breach_under_the_origins_rules(world: World) -> None:
    statuses = world.open("s2-4.0")
    path = statuses.write(window(statuses, **FORGED))
    assert len(statuses.watcher().consume().refused) == 1
    (entry,) = statuses.entries()
    assert entry.kind == "breach"
    assert str(entry.delivery).startswith(f"breach/{delivery_of(path.name)}/sha256:")


def test_no_delivery_that_a_client_chooses_keeps_a_breach_out_of_the_record(world: World) -> None:
    statuses = world.open("s2-4.0")
    statuses.add(window(statuses), source="test", delivery="breach-d-1")
    forged = [
        window(statuses, **FORGED),
        window(statuses, window_hash="e" * 64),
        window(statuses, goal="Another goal", window_hash="e" * 64),
    ]
    for draft in (*forged, forged[-1]):  # the last one is sent again after a doubt
        with pytest.raises(WindowRefused) as caught:
            statuses.add(draft, source="test", delivery="d-1")
        assert "breach" not in caught.value.facts
    assert statuses.stats().kinds == {"window": 1, "breach": 3}
    assert statuses.backend_state().after_breach


def test_a_watcher_whose_database_was_replaced_keeps_its_drafts_and_sees_what_is_missing(
    home: Path, tmp_path: Path
) -> None:
    with open_statuses(home) as statuses:
        statuses.add(window(statuses), source="test")
    backup = Path(shutil.copy(home / "mentis.db", tmp_path / "backup.db"))
    with open_record(home) as record:
        record.ledger.append(record.agent, [Draft("note", "test", {})], record.stamp())
        record.checkpoint()
    with open_statuses(home) as statuses:
        watcher, spool = statuses.watcher(), statuses.folder
        statuses.write(window(statuses))
        assert len(watcher.consume().added) == 1
        statuses.write(window(statuses))
        for name in ("mentis.db-wal", "mentis.db-shm"):
            (home / name).unlink(missing_ok=True)
        backup.rename(home / "mentis.db")
        faults = [watcher.consume().fault for _ in range(2)]
        assert "was replaced or removed while it was open" in str(faults[0])
        assert isinstance(faults[1], RolledBack)
        assert len(spool.waiting()) == 1


def test_while_a_watcher_has_the_lease_direct_windows_still_come_in(statuses: Statuses) -> None:
    watcher = statuses.watcher()
    watcher.consume()
    assert [route.up for route in statuses.health().routes] == [True, True, True, False]
    assert statuses.add(window(statuses), source="test").entry is not None


# Keys

KEY = "canary-key-1234567890"


def keyed(home: Path) -> Statuses:
    place = 'backend = "openai"\nmodel = "m"\nurl = "https://example.org/v1"'
    settings(home, f'[routes.asked]\n{place}\nkey_env = "EXAMPLE_KEY"')
    return open_statuses(home, parts=Parts(environ={**os.environ, "EXAMPLE_KEY": KEY}))


def kept_anywhere(home: Path) -> list[str]:
    """Files that hold the key, but for the drafts themselves in quarantine."""
    with open_record(home) as record:
        write_export(record, home / "bundle.zip")
    files = [one for one in home.rglob("*") if one.is_file()]
    with ZipFile(home / "bundle.zip") as bundle:
        inside = b"".join(map(bundle.read, bundle.namelist()))
    assert KEY.encode() not in inside
    drafts = {one for one in files if one.parent.name == "quarantine"} - {
        one for one in files if one.name.endswith(".reason.json")
    }
    return [one.name for one in files if one not in drafts and KEY.encode() in one.read_bytes()]


@pytest.mark.parametrize("holds", ["goal", "window_hash", "source", "delivery"])
def test_a_draft_that_holds_a_key_of_the_home_is_put_aside_and_the_key_told_nowhere(
    home: Path, holds: str
) -> None:
    with keyed(home) as statuses:
        statuses.add(window(statuses), source="test")
        fields: dict[str, object] = {holds: f"use {KEY}"} if holds in good_window() else {}
        words = ("source", "delivery")
        named: dict[str, Any] = {one: KEY if one == holds else "plain" for one in words}
        with pytest.raises(BadInput, match="holds the value of EXAMPLE_KEY") as caught:
            statuses.add(window(statuses, **fields), **named)
        assert KEY not in json.dumps(caught.value.as_problem())
        assert statuses.stats().total_entries == 1
        assert len(list(statuses.folder.quarantine.glob("*.reason.json"))) == 1
    assert kept_anywhere(home) == []


def test_a_file_that_holds_a_key_of_the_home_goes_to_quarantine_and_the_next_is_recorded(
    home: Path,
) -> None:
    with keyed(home) as statuses:
        draft = window(statuses, goal=f"use {KEY}")
        escaped = json.dumps(draft).replace("canary", r"\u0063anary")
        statuses.write(escaped.encode())
        statuses.write({**draft, "goal": "Read"}, delivery=KEY)
        statuses.write(window(statuses))
        done = statuses.watcher().consume()
        assert (len(done.added), len(done.refused), done.fault) == (1, 2, None)
        assert KEY not in repr(done.refused)
    assert kept_anywhere(home) == []


# A store that is down or full


@pytest.mark.parametrize("fault", [StoreDown("it is gone"), StoreFull("no space left")])
def test_with_the_store_down_a_draft_is_spooled_and_drains_when_it_is_back(
    world: World, fault: Exception
) -> None:
    statuses = world.open()
    drafts = [window(statuses), {**window(statuses), "cycle": "2/5"}]
    down = world.open()
    world.fault = fault
    results = [down.add(draft, source="editor") for draft in drafts]
    for added in results:
        assert (added.entry, added.line) == (None, "")
        assert added.spooled is not None
        assert added.health is not None
        assert (added.health.status, added.health.persists) == ("RED", False)
        assert added.receipt.acknowledged is False
        assert added.judgement is not None
        assert added.judgement.persist in ("spool", "quarantine")
    assert down.health().reason == f"Persistence offline: {fault}"
    assert (down.backend_state().step_id, down.backend_state().cycle) == ("unknown", "0/5")
    world.fault = None
    done = down.watcher().consume()
    assert [entry.delivery for entry in done.added] == [added.spooled for added in results]
    assert [entry.source for entry in done.added] == ["editor"] * 2
    assert down.health().status == "GREEN"


def test_a_spooled_draft_given_again_when_the_store_is_back_is_one_entry(world: World) -> None:
    statuses = world.open()
    draft = window(statuses)
    world.fault, down = StoreDown("it is gone"), world.open()
    for _ in range(2):
        assert down.add(draft, source="editor", delivery="d-1").spooled == "d-1"
    with pytest.raises(StoreConflict, match="another content or source"):
        down.add(draft, source="somebody else", delivery="d-1")
    world.fault = None
    assert down.add(draft, source="editor", delivery="d-1").entry is not None
    assert down.watcher().consume().known == 1
    assert world.folder.waiting() == []


def test_a_spooled_draft_that_made_something_up_is_a_breach_of_who_gave_it(world: World) -> None:
    statuses = world.open("s2-4.0")
    name = write_draft(
        world.folder,
        json.dumps({**window(statuses), **FORGED}).encode(),
        clock=world.clock,
        ids=CountingIds(),
        source="editor",
    )
    statuses.watcher().consume()
    (reason,) = world.reasons()
    assert (delivery_of(reason["file"]), reason["file"].endswith(".from.json")) == (name, True)
    assert json.dumps(reason).count("editor") == 1
    (entry,) = statuses.entries()
    assert (entry.kind, entry.source) == ("breach", "editor")


def test_a_source_that_not_every_store_can_keep_is_refused_at_once(world: World) -> None:
    statuses = world.open()
    world.fault = StoreDown("it is gone")
    with pytest.raises(BadInput, match="null character"):
        statuses.add(good_window(), source="a\0b")
    assert world.folder.waiting() == []


def test_a_degraded_window_is_taken_while_the_store_is_down(world: World) -> None:
    statuses = world.open()
    world.fault = StoreDown("it is gone")
    degraded = {
        **good_window(),
        "window_type": "degraded",
        "confidence": 0.0,
        "step_id": "unknown",
        "cycle": "0/5",
        "risk": ["SYS_ERR: Persistence offline"],
        "output_plan": ["Restore the route and start the watcher", "Recover what waits"],
        "actions": ["Recover"],
        "critical_summary": {"status": "RED"},
        "reflection_curve": {"delta": "no store", "correction": "wait", "next": "go on"},
    }
    added = statuses.add(degraded, source="test")
    assert added.judgement is not None
    assert (added.judgement.blocked, added.judgement.persist) == (False, "spool")
    world.fault = None
    assert len(statuses.watcher().consume().added) == 1


def test_the_origins_rules_block_everything_while_the_store_is_down(world: World) -> None:
    statuses = world.open("s2-4.0")
    draft = window(statuses)
    world.fault, down = StoreDown("it is gone"), world.open("s2-4.0")
    with pytest.raises(WindowRefused, match="S2-HEALTH"):
        down.add(draft, source="test")
    assert world.folder.waiting() == []
    assert len(world.reasons()) == 1


# Looking


def test_stats_count_sources_and_kinds(statuses: Statuses) -> None:
    empty = statuses.stats()
    assert (empty.total_entries, empty.oldest_timestamp, empty.sources) == (0, None, {})
    for source in ("a", "b", "a"):
        statuses.add(window(statuses), source=source)
    found = statuses.stats()
    assert (found.total_entries, found.windows) == (3, 3)
    assert (found.sources, found.kinds) == ({"a": 2, "b": 1}, {"window": 3})
    assert found.oldest_timestamp is not None
    assert found.oldest_timestamp < str(found.newest_timestamp)


def test_stats_read_no_entry(
    statuses: Statuses, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    statuses.add(window(statuses), source="a")
    for name in ("entries", "latest", "find"):
        monkeypatch.delattr(LedgerInMemory, name)
    found = statuses.stats()
    assert (found.total_entries, found.windows, found.sources) == (1, 1, {"a": 1})
    assert isinstance(world.ledger, LedgerInMemory)


def test_latest_zero_is_none(statuses: Statuses, world: World) -> None:
    for _ in range(3):
        statuses.add(window(statuses), source="test")
        world.ledger.append("home/ada", [Draft("turn", "runtime", {})], _plain_stamp(world))
    assert statuses.latest(0) == statuses.latest(0, windows=True) == ()
    assert [entry.kind for entry in statuses.latest(2)] == ["window", "turn"]
    assert [entry.index for entry in statuses.latest(2, windows=True)] == [2, 4]
    assert len(list(statuses.entries())) == 6


def test_check_judges_by_the_real_state_and_writes_nothing(
    statuses: Statuses, world: World
) -> None:
    for _ in range(5):
        statuses.add(window(statuses), source="test")
    before = statuses.stats()
    data = json.dumps(window(statuses, actions=["Read the list"])).encode()
    assert [found.rule for found in statuses.check(data).findings] == ["S2-AUDIT6"]
    answer = json.dumps(window(statuses), ensure_ascii=False) + "\n\nDone."
    assert not statuses.check(answer, response=True).blocked
    assert statuses.check("Done.", response=True).blocked
    assert statuses.stats() == before
    assert world.reasons() == []


# Histories of the origin


def history(count: int, **top: object) -> dict[str, Any]:
    entries: list[dict[str, Any]] = []
    prev: str | None = None
    for number in range(count):
        time, salt = f"2026-01-01T00:00:0{number}+00:00", f"{number:032x}"
        shown = {"goal": f"Größe {number}", "confidence": 0.9, "prev_window_hash": prev}
        prev = hash_window(window_text(shown), time, salt)
        entries.append(
            {
                "entry_index": number + 1,
                "timestamp": time,
                "salt": salt,
                "source": "manual",
                "window_hash": prev,
                "status_window": {**shown, "window_hash": prev},
                "hash_algo": "sha256(canonical_without_window_hash|timestamp|salt)",
                "metadata": {},
            }
        )
    return {"version": "1.0", "total_entries": count, "entries": entries, **top}


@pytest.mark.parametrize("bare", [False, True])
def test_a_history_is_taken_over_once_and_its_windows_are_seen(
    statuses: Statuses, bare: bool
) -> None:
    made = history(3)
    data = json.dumps(made["entries"] if bare else made, ensure_ascii=False).encode()
    assert statuses.import_history(data).added == 3
    again = statuses.import_history(data)
    assert (again.added, again.known, again.total) == (0, 3, 3)
    shown = [statuses.window(entry) for entry in statuses.entries()]
    assert shown == [entry["status_window"] for entry in made["entries"]]
    assert statuses.verify().intact
    assert statuses.backend_state().cycle == "4/5"
    assert statuses.add(window(statuses), source="test").entry is not None


def test_a_history_that_has_grown_adds_only_what_is_new_after_an_erasure_and_a_rotation(
    home: Path,
) -> None:
    grown = history(9)
    short = {**grown, "entries": grown["entries"][:6]}
    with open_statuses(home) as statuses:
        assert statuses.import_history(json.dumps(short).encode()).added == 6
    with open_record(home) as record:
        record.erase(1, [], reason="asked")
        record.erase(4, [], reason="asked")
        record_rotation.rotate(record, 3)
        record.erase(2, ["delivery"], reason="asked")
    with open_statuses(home) as statuses:
        done = statuses.import_history(json.dumps(grown).encode())
        assert (done.added, done.known) == (4, 5), "the one whose delivery was erased is new"
        assert statuses.verify().findings == ()


def test_a_delivery_whose_entry_was_erased_is_known_still(home: Path) -> None:
    with open_statuses(home) as statuses:
        draft = window(statuses)
        statuses.add(draft, source="test", delivery="d-1")
    with open_record(home) as record:
        record.erase(0, [], reason="asked")
    with open_statuses(home) as statuses:
        again = statuses.add(draft, source="test", delivery="d-1")
        assert (again.known, again.window) == (True, None)
        path = statuses.write(draft, delivery="d-1")
        done = statuses.watcher().consume()
        assert (done.known, done.added, path.exists()) == (1, [], False)
        assert statuses.stats().total_entries == 2
        assert statuses.verify().findings == ()


def test_of_a_broken_history_nothing_is_taken(statuses: Statuses) -> None:
    made = history(3)
    made["entries"][1]["status_window"]["goal"] = "changed"
    with pytest.raises(HistoryBroken):
        statuses.import_history(json.dumps(made).encode())
    assert statuses.stats().total_entries == 0


# Verification that goes on where it was


def test_verify_resumes_and_reads_only_what_is_new(statuses: Statuses, world: World) -> None:
    for _ in range(3):
        statuses.add(window(statuses), source="test")
    assert statuses.verify(resume=True).notes == ()
    statuses.add(window(statuses), source="test")
    again = statuses.verify(resume=True)
    assert (again.intact, again.entries) == (True, 4)
    assert "entries 0 to 2 were verified before" in again.notes[0]
    # Cut off, or with nonsense in the file, everything is read again.
    (world.folder.path / "verified.json").write_text("{", encoding="utf-8")
    assert statuses.verify(resume=True).notes == ()


def test_what_an_earlier_run_has_seen_and_is_gone_is_named(
    statuses: Statuses, world: World
) -> None:
    for _ in range(3):
        statuses.add(window(statuses), source="test")
    statuses.verify(resume=True)
    kept = list(world.ledger.entries("home/ada"))[:2]
    world.ledger = LedgerInMemory()
    stamps: Iterator[Entry] = iter(kept)
    drafts = [Draft(entry.kind, entry.source, entry.body) for entry in kept]

    def stamp(_agent: str, _head: Before | None, _draft: Draft) -> Entry:
        return next(stamps)

    world.ledger.append("home/ada", drafts, stamp)
    verdict = world.open().verify(resume=True)
    assert (verdict.entries, verdict.notes) == (
        2,
        ("S2-VERIFY: verification found something wrong",),
    )
    assert [(found.index, found.column) for found in verdict.findings] == [(2, "hash")]
    assert "an earlier run has verified 3 entries" in verdict.findings[0].message


# Settings


def test_settings_choose_profile_schema_and_slot(home: Path) -> None:
    settings(
        home,
        '[status]\nprofile = "s2-4.0"\nschema_versions = ["5.0"]\npending = "tooling/pending.json"',
    )
    with open_statuses(home) as statuses:
        assert statuses.profile.name == "s2-4.0"
        with pytest.raises(WindowRefused, match="S2-CONST-SCHEMA"):
            statuses.add(window(statuses), source="test")
        slot = statuses.write(window(statuses, schema_version="5.0", **RECOVERY), slot=True)
        assert slot == home / "tooling" / "pending.json"
        (entry,) = statuses.watcher().consume().added
    assert entry.ruleset == "s2-4.0"
    assert not slot.exists()


def test_a_profile_that_nobody_could_obey_records_nothing(home: Path) -> None:
    (home / "guardian.toml").write_text(
        '[profiles.mine]\nsettles = ["C3"]\ntypes = ["verification"]\n', encoding="utf-8"
    )
    settings(home, '[status]\nprofile = "mine"')
    with open_statuses(home) as statuses:
        with pytest.raises(ProfileConflict):
            statuses.add(good_window(), source="test")
        assert statuses.stats().total_entries == 0


def test_an_unknown_profile_is_named(home: Path) -> None:
    settings(home, '[status]\nprofile = "mentiss"')
    with open_statuses(home) as statuses, pytest.raises(SettingsError, match="mentiss"):
        statuses.add(good_window(), source="test")


def test_one_slot_for_several_personas_is_refused(home: Path) -> None:
    other = home / "personas" / "bob"
    other.mkdir()
    shipped = home / "personas" / "ada" / "persona.toml"
    (other / "persona.toml").write_text(shipped.read_text(encoding="utf-8"), encoding="utf-8")
    settings(home, '[status]\npending = "pending.json"')
    with pytest.raises(SettingsError, match="several personas"):
        open_statuses(home, "ada")


def test_the_same_clock_and_ids_give_the_same_entries(tmp_path: Path) -> None:
    def hashes(name: str) -> list[str]:
        home = create_home(tmp_path / name / "home")
        parts = Parts(clock=FixedClock(step=timedelta(seconds=1)), ids=CountingIds())
        with open_statuses(home, parts=parts) as statuses:
            for _ in range(3):
                statuses.add(window(statuses), source="test")
            return [entry.hash for entry in statuses.entries()]

    assert hashes("one") == hashes("two")


# How it was kept


class Losing(LedgerInMemory):
    """A store that says yes and keeps nothing, or keeps a draft twice."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self._how = how

    def append(
        self,
        agent: str,
        drafts: Sequence[Draft],
        stamp: Stamp,
        *,
        lease: Lease | None = None,
        marks: Sequence[Mark] = (),
        turns: TurnWrites | None = None,
    ) -> tuple[Entry, ...]:
        if self._how == "lost":
            return tuple(stamp(agent, self.head(agent), draft) for draft in drafts)
        made = super().append(agent, drafts, stamp, lease=lease, marks=marks, turns=turns)
        plain = make_stamp(FixedClock().now, CountingIds().salt)
        super().append(agent, drafts, plain, lease=lease)
        return made


@pytest.mark.parametrize(("how", "grown"), [("lost", 0), ("twice", 2)])
def test_a_receipt_counts_what_the_store_has_before_and_after(
    world: World, how: str, grown: int
) -> None:
    world.ledger = Losing(how)
    draft = {**good_window(), "step_id": "step-1", "cycle": "1/5"}
    added = world.open().add(draft, source="test")
    assert (added.receipt.before, added.receipt.after) == (0, grown)
    assert not added.receipt.counted
    assert added.judgement is not None
    assert "S2-PLUS-ONE" in {finding.rule for finding in added.judgement.kept}


def test_a_delivery_given_again_is_not_counted(statuses: Statuses) -> None:
    draft = window(statuses)
    first = statuses.add(draft, source="test", delivery="task-7")
    assert (first.receipt.before, first.receipt.after, first.receipt.counted) == (0, 1, True)
    assert first.judgement is not None
    assert first.judgement.kept == ()
    statuses.add(window(statuses), source="test")
    again = statuses.add(draft, source="test", delivery="task-7")
    assert (again.known, again.receipt.before, again.receipt.after) == (True, 2, 2)
    assert not again.receipt.counted


def test_what_others_add_meanwhile_is_not_counted_to_a_window(home: Path) -> None:
    def add(n: int) -> bool:
        with open_statuses(home) as statuses:
            draft = window(statuses, actions=[f"Read list {n}"])
            receipt = statuses.add(draft, source=f"writer-{n}").receipt
            return receipt.counted and receipt.acknowledged

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(add, range(4)))


def test_a_clock_far_behind_the_record_is_a_finding_that_the_entry_keeps(world: World) -> None:
    statuses = world.open()
    statuses.add(window(statuses), source="test")
    world.clock = FixedClock(datetime(2020, 1, 1, tzinfo=UTC))
    again = world.open()
    added = again.add(window(again), source="test")
    assert added.judgement is not None
    assert [found.rule for found in added.judgement.kept] == ["S2-CHRONOS-FRESH"]
    kept = body(added.entry)["judgement"]["kept"]
    assert [found["rule"] for found in kept] == ["S2-CHRONOS-FRESH"]
    assert not added.judgement.blocked
    assert again.verify().intact


def test_verification_names_windows_that_nobody_judged(statuses: Statuses, world: World) -> None:
    statuses.add(window(statuses), source="test")
    assert not any("S2-GUARDIAN" in note for note in statuses.verify().notes)
    world.ledger.append("home/ada", [Draft("window", "x", {"window": {}})], _plain_stamp(world))
    notes = statuses.verify().notes
    assert any("S2-GUARDIAN" in note for note in notes)
    assert "windows that nobody judged: entry 1" in notes


def test_health_holds_the_consumers_against_their_rule(statuses: Statuses) -> None:
    assert statuses.health().findings == ()
    statuses.write(window(statuses))
    (found,) = statuses.health().findings
    assert (found.rule, "start `mentis status watch`" in found.hint) == ("S2-ONE-CONSUMER", True)
    consumer = statuses.watcher()
    consumer.tenure.begin()
    assert statuses.health().findings == ()


# The slot of the origin


def test_the_slot_of_the_origin_is_consumed_where_there_is_one_persona(home: Path) -> None:
    slot = home / "status" / "pending_status.json"
    slot.parent.mkdir(exist_ok=True)
    with open_statuses(home) as statuses:
        slot.write_text(json.dumps(window(statuses)))
        assert statuses.health().waiting == 1
        done = statuses.watcher().consume()
        assert (len(done.added), done.refused, slot.exists()) == (1, {}, False)
        assert statuses.health().waiting == 0


def test_a_draft_in_a_slot_where_nobody_looks_is_told(home: Path) -> None:
    slot = home / "status" / "pending_status.json"
    slot.parent.mkdir(exist_ok=True)
    slot.write_text("{}")
    shutil.copytree(home / "personas" / "ada", home / "personas" / "bob")
    with open_statuses(home, "ada") as statuses:
        health = statuses.health()
        assert (health.status, str(slot) in health.reason) == ("YELLOW", True)
        assert "S2-PATH" in {found.rule for found in health.findings}
        assert statuses.watcher().consume().added == []
    assert slot.exists()


def test_with_a_slot_of_ones_own_the_usual_ones_are_told(home: Path) -> None:
    settings(home, '[status]\npending = "drop/now.json"')
    own = home / "status" / "ada" / "pending_status.json"
    own.parent.mkdir(parents=True)
    own.write_text("{}")
    with open_statuses(home) as statuses:
        assert str(own) in statuses.health().reason
        own.unlink()
        assert statuses.health().status == "GREEN"
