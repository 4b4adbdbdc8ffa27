"""Whoever verifies or exports sees one moment, whatever the owner does to the record meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from mentis.errors import StoreLocked
from mentis.ledger import auditor
from mentis.ledger.bundle import export_bundle
from mentis.ports.clock import FixedClock
from mentis.ports.ledger_store import LedgerStore
from mentis.runtime import record_export, record_rotation
from mentis.runtime.audit import Asked, verify_agent
from mentis.runtime.homes import create_home, verify_home
from mentis.runtime.record import Record, open_record
from mentis.runtime.wiring import Parts
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
        asked = replace(Asked(), pin=record.sealed().pin, segments=record.segments)
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
        done = record_export.export(record, path)
    told = auditor.audit(str(path), key=done.pin.public_key, origin=done.pin.origin, checkpoints=[])
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
    with owned.open() as record, record.alone():
        for act in (partial(owned.rotate, 4), partial(owned.erase, 2), owned.expire):
            with pytest.raises(StoreLocked, match="being changed"):
                act()
        owned.add(1)
        assert record.verify().intact
    owned.rotate(4)
