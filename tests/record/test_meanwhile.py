"""Whoever verifies or exports sees one moment, whatever the owner does to the record meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Event, Thread, current_thread

import anyio
import pytest

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.disk import lock
from mentis.errors import StoreDamaged, StoreLocked
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ledger import auditor
from mentis.ledger.bundle import export_bundle
from mentis.ports.clock import FixedClock
from mentis.ports.ledger_store import LedgerStore
from mentis.record import export as record_export
from mentis.record import rotation as record_rotation
from mentis.record.record import Record, open_record
from mentis.record.segments import SegmentFolder
from mentis.record.verify import VerifyEvidence, verify_agent
from mentis.record.verify_home import verify_home
from mentis.stores import sql_ledger
from mentis.stores.sql_ledger import SqlLedger
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.entry import Draft, Entry, Verdict

_SETTINGS = "[store]\nbusy_seconds = 0.05\n\n[ledger]\nkeep_segments_days = 1\n"


@dataclass
class Owned:
    """A home whose entries are of 2026; its owner comes between once for each of `acts`."""

    path: Path
    acts: list[Callable[[Owned], object]] = field(default_factory=list["Callable[[Owned], object]"])

    def open(self) -> Record:
        clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC), timedelta(hours=1))
        return open_record(self.path, parts=Parts(clock=clock))

    def add(self, count: int) -> None:
        with self.open() as record:
            drafts = [Draft("note", "test", {"n": n, "text": f"note {n}."}) for n in range(count)]
            record.ledger.append(record.agent, drafts, record.stamp())

    def rotate(self, index: int) -> None:
        with self.open() as record:
            record_rotation.rotate(record, index)

    def erase(self, index: int) -> None:
        with self.open() as record:
            record.erase(index, ["text"], reason="asked for")

    def expire(self) -> None:
        clock = FixedClock(datetime(2027, 1, 1, tzinfo=UTC))
        with open_record(self.path, parts=Parts(clock=clock)) as record:
            assert record_rotation.expire(record).files

    def act(self, *_: object) -> None:
        if self.acts:
            self.acts.pop(0)(self)


@pytest.fixture
def owned(tmp_path: Path) -> Owned:
    home = create_home(tmp_path / "home")
    marker = home / "mentis.toml"
    marker.write_text(marker.read_text().replace("[ledger]\n", _SETTINGS))
    return Owned(home)


def test_a_verification_sees_nothing_of_what_is_erased_and_moved_while_it_reads(
    owned: Owned,
) -> None:
    owned.add(1100)
    owned.acts = [lambda own: own.erase(5), lambda own: own.rotate(700)]
    reports: list[int] = []

    def progress(_agent: str, done: int, _total: int) -> None:
        reports.append(done)
        owned.act()

    for entries in (1100, 1101):
        (verdict,) = verify_home(owned.path, progress=progress)
        assert (verdict.findings, verdict.entries) == ((), entries)
    assert reports == [1000, 1000]  # read once each
    (verdict,) = verify_home(owned.path)
    assert (verdict.findings, verdict.entries) == ((), 1102)
    assert [erased.index for erased in verdict.erased] == [5]


class Overtaken(SqliteLedger):
    """Its owner comes just before a snapshot is taken, or right after that."""

    owned: Owned
    late = False

    @contextmanager
    def snapshot(self) -> Generator[LedgerStore]:
        if not self.late:
            self.owned.act()
        with super().snapshot() as still:
            if self.late:
                self.owned.act()
            yield still


def verify(owned: Owned, *, late: bool) -> Verdict:
    with owned.open() as record:
        ledger = Overtaken(record.database)
        ledger.owned, ledger.late = owned, late
        asked = replace(
            VerifyEvidence(), pin=record.require_sealing().pin, segments=record.segments
        )
        return verify_agent(record.agent, ledger, record.talk, asked)


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    "act",
    [partial(Owned.erase, index=2), Owned.expire, partial(Owned.rotate, index=6)],
    ids=["erased", "expired", "moved"],
)
def test_segments_that_are_changed_just_when_a_verification_begins_are_looked_at_once_more(
    owned: Owned, act: Callable[[Owned], object], *, late: bool
) -> None:
    owned.add(8)
    owned.rotate(4)
    owned.acts = [act]
    verdict = verify(owned, late=late)
    assert owned.acts == []
    assert verdict.findings == ()


def test_what_is_broken_stays_so_however_often_somebody_comes_between(owned: Owned) -> None:
    owned.add(8)
    owned.rotate(4)
    with owned.open() as record, record.database.write() as connection:
        connection.execute("UPDATE ledger SET source = 'x' WHERE idx = 5")
    owned.acts = [lambda own, n=n: own.erase(n) for n in range(4)]
    verdict = verify(owned, late=True)
    assert "edited" in [finding.attack for finding in verdict.findings]
    assert any("while this was read" in note for note in verdict.notes)
    assert len(owned.acts) == 1


def export(owned: Owned, path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What an auditor finds in the bundle; the owner acts each time its first entry is written."""

    def between(entries: Iterable[Entry]) -> Iterable[Entry]:
        for place, entry in enumerate(entries):
            yield entry
            if place == 0:
                owned.act()

    def slowly(file: object, agent: str, entries: Iterable[Entry], **told: object) -> int:
        return export_bundle(file, agent, between(entries), **told)  # pyright: ignore[reportArgumentType]  # as given

    monkeypatch.setattr(record_export, "export_bundle", slowly)
    with owned.open() as record:
        return audit(record_export.write_export(record, path))


def audit(done: record_export.RecordExport) -> list[str]:
    pin = done.pin
    told = auditor.audit(str(done.path), key=pin.public_key, origin=pin.origin, checkpoints=[])
    return [str(finding) for finding in told["findings"]]


def test_a_bundle_holds_one_moment_while_entries_are_added_erased_and_moved(
    owned: Owned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owned.add(300)
    owned.acts = [lambda own: (own.add(100), own.erase(0), own.rotate(290))]
    assert export(owned, tmp_path / "bundle.zip", monkeypatch) == []
    assert owned.acts == []


def test_a_bundle_is_written_anew_when_a_segment_was_changed_meanwhile(
    owned: Owned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owned.add(20)
    owned.rotate(8)
    owned.rotate(16)
    owned.acts = [lambda own: own.erase(10), Owned.expire]
    assert export(owned, tmp_path / "bundle.zip", monkeypatch) == []
    assert owned.acts == []


def test_no_bundle_is_left_where_segments_are_changed_each_time(
    owned: Owned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owned.add(20)
    owned.rotate(16)
    owned.acts = [lambda own, n=n: own.erase(n) for n in range(16)]
    with pytest.raises(StoreLocked, match="segments were changed"):
        export(owned, tmp_path / "bundle.zip", monkeypatch)
    assert not (tmp_path / "bundle.zip").exists()


def test_nobody_moves_entries_while_another_erases_from_them(owned: Owned) -> None:
    """The segment would keep what is erased just when it is written."""
    owned.add(8)
    with owned.open() as record, record.exclusive():
        for act in (partial(owned.rotate, 4), partial(owned.erase, 2), owned.expire):
            with pytest.raises(StoreLocked, match="being changed"):
                act()
        owned.add(1)
        assert record.verify().intact
    owned.rotate(4)


@contextmanager
def half_done(
    act: Callable[[], object], place: tuple[object, str], monkeypatch: pytest.MonkeyPatch
) -> Generator[None]:
    """The act has come to this place, and goes on once somebody else asks for the lock it has."""
    there, go = Event(), Event()
    thread = Thread(target=act)
    reached, hold = getattr(*place), lock._hold  # pyright: ignore[reportPrivateUsage]  # where it waits

    def stop(*given: object) -> object:
        there.set()
        go.wait()
        return reached(*given)

    def finish(descriptor: int, folder: Path, deadline: float) -> None:
        if current_thread() is not thread:
            go.set()
            thread.join()
        hold(descriptor, folder, deadline)

    monkeypatch.setattr(*place, stop)
    monkeypatch.setattr(lock, "_hold", finish)
    thread.start()
    assert there.wait(60)
    try:
        yield
    finally:
        go.set()
        thread.join()


def test_an_entry_that_is_just_being_erased_from_a_segment_breaks_no_verdict_and_no_bundle(
    owned: Owned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owned.add(8)
    owned.rotate(6)
    place = (SegmentFolder, "erase")
    with half_done(partial(owned.erase, 2), place, monkeypatch):
        (verdict,) = verify_home(owned.path)
    assert (verdict.findings, [one.index for one in verdict.erased]) == ((), [2])
    with half_done(partial(owned.erase, 3), place, monkeypatch), owned.open() as record:
        assert audit(record_export.write_export(record, tmp_path / "bundle.zip")) == []


def test_a_turn_that_is_just_being_emptied_breaks_no_verdict(
    owned: Owned, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def talk() -> None:
        parts = Parts(provider=ScriptedProvider(["One.", "Two."]))
        async with Agent.open(owned.path, parts=parts) as agent:
            await agent.chat("hello")
            await agent.chat("again")

    def erase() -> None:
        with owned.open() as record:
            kinds = {entry.kind: entry.index for entry in record.store.entries(record.agent)}
            record.erase(kinds["turn"], [], reason="asked for")

    anyio.run(talk)
    with half_done(erase, (sql_ledger, "write_turns"), monkeypatch):
        (before,) = verify_home(owned.path)
    (after,) = verify_home(owned.path)
    assert (before.findings, len(before.erased)) == ((), 0)
    assert (after.findings, len(after.erased)) == ((), 1)


def test_a_verdict_that_cannot_wait_for_the_end_of_an_erasure_says_so(owned: Owned) -> None:
    owned.add(8)
    with owned.open() as record, record.database.write() as connection:
        connection.execute("UPDATE ledger SET source = 'x' WHERE idx = 5")
    with owned.open() as record, record.exclusive():
        (verdict,) = verify_home(owned.path)
        held = record.verify(held=True)
    assert any("while this was read" in note for note in verdict.notes)
    assert held.findings == verdict.findings != ()
    assert not any("while this was read" in note for note in held.notes)


def test_whoever_lets_go_of_segments_does_not_wait_for_himself(
    owned: Owned, monkeypatch: pytest.MonkeyPatch
) -> None:
    owned.add(8)
    owned.rotate(4)
    with owned.open() as record, record.database.write() as connection:
        connection.execute("UPDATE ledger SET source = 'x' WHERE idx = 5")
    asked: list[Path] = []
    hold = lock._hold  # pyright: ignore[reportPrivateUsage]  # how often it is asked for

    def count(descriptor: int, folder: Path, deadline: float) -> None:
        asked.append(folder)
        hold(descriptor, folder, deadline)

    monkeypatch.setattr(lock, "_hold", count)
    with pytest.raises(StoreDamaged, match="does not verify"):
        owned.expire()
    assert asked == [owned.path.resolve()]


def test_no_entry_is_moved_between_the_two_looks_with_which_an_export_begins(
    owned: Owned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owned.add(10)
    snapshot = SqlLedger.snapshot
    refused: list[str] = []

    def rotate(own: Owned) -> None:
        try:
            own.rotate(6)
        except StoreLocked as locked:
            refused.append(locked.message)

    @contextmanager
    def overtaken(ledger: SqlLedger) -> Generator[LedgerStore]:
        owned.act()
        with snapshot(ledger) as still:
            yield still

    monkeypatch.setattr(SqlLedger, "snapshot", overtaken)
    owned.acts = [rotate]
    with owned.open() as record:
        done = record_export.write_export(record, tmp_path / "bundle.zip")
    assert (audit(done), done.entries, len(refused)) == ([], 10, 1)


def test_whoever_erases_waits_for_those_who_read_only_once_the_next_may_erase(
    owned: Owned, monkeypatch: pytest.MonkeyPatch
) -> None:
    owned.add(8)
    owned.acts = [partial(Owned.erase, index=1)]
    monkeypatch.setattr("mentis.stores.sqlite.database.time.sleep", owned.act)
    with owned.open() as reader, reader.snapshot(), owned.open() as record:
        record.erase(0, ["text"], reason="asked for")
        (left,) = record.remains()
    assert left.startswith(f"{record.database.path}-wal")
    assert owned.acts == []
    (verdict,) = verify_home(owned.path)
    assert [one.index for one in verdict.erased] == [0, 1]
    with owned.open() as record:
        assert record.remains() == ()
