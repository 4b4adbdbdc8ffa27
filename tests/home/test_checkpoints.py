"""Checkpoints come by themselves, after appends, and never in the way of a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from threading import Event

import pytest

from mentis.errors import RolledBack, SigningKeyError, StoreDamaged
from mentis.home.checkpoints import CheckpointedLedger
from mentis.home.signing import Sealing
from mentis.home.system import set_alarm
from mentis.ledger.chain import make_stamp
from mentis.ledger.checkpoint import Policy
from mentis.ledger.signature import encode_key
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.ports.signer import SeededSigner, Signer
from mentis.stores.files.key_folder import KeyFolder
from mentis.stores.memory import LedgerInMemory
from mentis.values.checkpoint import Pin
from mentis.values.entry import Draft

SIGNER = SeededSigner()
PIN = Pin("example.org/test", encode_key(SIGNER.public))
AGENT = "home/ada"


class Reading(LedgerInMemory):
    """Counts the hashes that are read."""

    read = 0

    def hashes(self, agent: str, *, start: int = 0):  # noqa: ANN201  # as the store's own
        for digest in super().hashes(agent, start=start):
            self.read += 1
            yield digest


class Alarms:
    """Alarms that ring when a test says so."""

    def __init__(self) -> None:
        self.set: list[tuple[float, Callable[[], None]]] = []

    def __call__(self, seconds: float, ring: Callable[[], None]) -> Callable[[], None]:
        alarm = (seconds, ring)
        self.set.append(alarm)
        return lambda: self.set.remove(alarm)

    def ring(self) -> None:
        self.set.pop()[1]()


class Setting:
    """A store that can be opened again and again, with what is kept beside the key."""

    def __init__(self, folder: Path) -> None:
        self.store = Reading()
        self.clock = FixedClock(step=timedelta(seconds=1))
        self.stamp = make_stamp(self.clock.now, CountingIds().salt)
        self.folder = KeyFolder(folder, PIN.origin)
        self.told: list[str] = []
        self.alarms = Alarms()

    def open(
        self, *, entries: int = 100, seconds: float = 600, signer: Signer | None = SIGNER
    ) -> CheckpointedLedger:
        def key() -> Signer:
            if signer is None:
                raise SigningKeyError("the key is not here", hint="find it")
            return signer

        sealing = Sealing(PIN, self.folder, key)
        policy = Policy(entries, seconds)
        return CheckpointedLedger(
            self.store, sealing, policy, tell=self.told.append, alarm=self.alarms
        )

    def add(self, ledger: CheckpointedLedger, count: int) -> None:
        for n in range(count):
            ledger.append(AGENT, [Draft("note", "test", {"n": n})], self.stamp)

    @property
    def sizes(self) -> list[int]:
        return [size for size, _ in self.store.checkpoints(AGENT)]


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(tmp_path)


def test_a_checkpoint_is_made_after_so_many_entries_and_at_the_end(setting: Setting) -> None:
    ledger = setting.open(entries=3)
    setting.add(ledger, 7)
    assert setting.sizes == [3, 6]
    ledger.close()
    assert setting.sizes == [3, 6, 7]
    kept = setting.folder.kept_checkpoint(AGENT)
    assert kept is not None
    assert (kept.standing.size, kept.note) == (7, setting.store.checkpoints(AGENT)[-1][1])
    assert setting.told == []


def test_a_checkpoint_is_made_when_the_oldest_unsealed_entry_is_old(setting: Setting) -> None:
    ledger = setting.open(seconds=2.5)
    setting.add(ledger, 5)
    assert setting.sizes == [4]


def test_a_batch_is_sealed_as_one(setting: Setting) -> None:
    ledger = setting.open(entries=3)
    drafts: Sequence[Draft] = [Draft("note", "test", {"n": n}) for n in range(10)]
    ledger.append(AGENT, drafts, setting.stamp)
    assert setting.sizes == [10]


def test_where_homes_share_a_database_the_first_entry_says_whose_chain_it_is(
    setting: Setting, tmp_path: Path
) -> None:
    def shared(origin: str) -> CheckpointedLedger:
        pin, folder = Pin(origin, PIN.public_key), KeyFolder(tmp_path, origin)
        sealing = Sealing(pin, folder, lambda: SIGNER, shared=True)
        return CheckpointedLedger(setting.store, sealing, Policy(100, 600), alarm=setting.alarms)

    first, early = shared("example.org/first"), shared("example.org/twin")
    early.begin(AGENT)
    setting.add(first, 3)
    assert setting.sizes == [1]
    for twin in (early, shared("example.org/twin")):
        with pytest.raises(RolledBack, match="of another log"):
            setting.add(twin, 1)
    setting.add(first, 1)
    assert setting.store.count(AGENT) == 4


def test_what_nobody_adds_to_is_sealed_when_its_time_has_come(setting: Setting) -> None:
    ledger = setting.open(seconds=60)
    setting.add(ledger, 3)
    assert [seconds for seconds, _ in setting.alarms.set] == [60]
    assert setting.sizes == []
    setting.alarms.ring()
    assert setting.sizes == [3]
    assert setting.alarms.set == []
    setting.add(ledger, 1)
    setting.alarms.ring()
    assert setting.sizes == [3, 4]
    ledger.close()
    assert setting.sizes == [3, 4]


def test_what_was_sealed_meanwhile_or_at_the_end_needs_no_alarm(setting: Setting) -> None:
    ledger = setting.open(entries=3)
    setting.add(ledger, 3)
    assert setting.alarms.set == []
    setting.add(ledger, 1)
    (last,) = setting.alarms.set
    ledger.close()
    assert (setting.sizes, setting.alarms.set) == ([3, 4], [])
    last[1]()  # it rang while the ledger was closed
    assert setting.sizes == [3, 4]


def test_what_somebody_left_unsealed_is_sealed_by_who_comes_after(setting: Setting) -> None:
    killed = setting.open()
    setting.add(killed, 2)
    setting.alarms.set.clear()
    setting.open().begin(AGENT)
    setting.alarms.ring()
    assert setting.sizes == [2]


def test_an_alarm_that_could_not_seal_rings_again(setting: Setting) -> None:
    ledger = setting.open(seconds=0.1, signer=None)
    ledger.append(AGENT, [Draft("note", "test", {})], setting.stamp)
    setting.alarms.ring()
    assert [seconds for seconds, _ in setting.alarms.set] == [1]
    assert setting.told == ["no checkpoint could be made: the key is not here; find it"]


def test_the_real_alarm_rings_in_a_thread_of_its_own() -> None:
    rung, never = Event(), Event()
    set_alarm(0, rung.set)
    assert rung.wait(30)
    set_alarm(3600, never.set)()
    assert not never.is_set()


def test_a_ledger_that_was_only_looked_at_is_not_sealed(setting: Setting) -> None:
    ledger = setting.open()
    ledger.begin(AGENT)
    ledger.close()
    assert setting.sizes == []


def test_without_the_key_the_entry_is_kept_and_the_fault_is_told_once(setting: Setting) -> None:
    ledger = setting.open(entries=1, signer=None)
    setting.add(ledger, 3)
    ledger.close()
    assert setting.store.count(AGENT) == 3
    assert setting.told == ["no checkpoint could be made: the key is not here; find it"]


def test_an_anchor_that_cannot_be_told_is_told_of(setting: Setting, tmp_path: Path) -> None:
    from mentis.home.anchors import Anchor
    from mentis.ledger.anchors import FileAnchor

    gone = Anchor("file:gone", FileAnchor(tmp_path / "gone" / "notes.txt"))
    sealing = Sealing(PIN, setting.folder, lambda: SIGNER, (gone,))
    ledger = CheckpointedLedger(setting.store, sealing, Policy(1, 1), tell=setting.told.append)
    setting.add(ledger, 1)
    assert setting.sizes == [1]
    (fault,) = setting.told
    assert fault.startswith("anchor file:gone could not be told")


def test_opening_reads_only_what_came_since_the_last_checkpoint(setting: Setting) -> None:
    ledger = setting.open()
    setting.add(ledger, 50)
    ledger.close()
    again = setting.open(entries=1000)
    setting.add(again, 3)
    setting.store.read = 0
    setting.open().begin(AGENT)
    assert setting.store.read <= 4


@pytest.mark.parametrize("left", [6, 0])
def test_an_older_copy_refuses_the_next_append(setting: Setting, left: int) -> None:
    ledger = setting.open()
    setting.add(ledger, 10)
    ledger.close()
    older = Reading()
    for entry in list(setting.store.entries(AGENT))[:left]:
        older.append(AGENT, [Draft("", "", {})], lambda _a, _h, _d, e=entry: e)
    setting.store = older
    with pytest.raises(RolledBack) as caught:
        setting.add(setting.open(), 1)
    assert "accept-rollback" in caught.value.hint
    assert setting.store.count(AGENT) == left


def test_what_is_kept_beside_the_key_and_cannot_be_read_stops_the_start(setting: Setting) -> None:
    ledger = setting.open()
    setting.add(ledger, 1)
    ledger.close()
    setting.folder.kept_file(AGENT).write_text("{")
    with pytest.raises(StoreDamaged, match="the last checkpoint cannot be read"):
        setting.open().begin(AGENT)


def test_a_shorter_checkpoint_never_takes_the_place_of_a_longer_one(setting: Setting) -> None:
    first, second = setting.open(entries=1), setting.open(entries=1)
    setting.add(first, 5)
    kept = setting.folder.kept_checkpoint(AGENT)
    assert kept is not None
    setting.add(second, 1)
    setting.folder.keep(AGENT, kept)
    now = setting.folder.kept_checkpoint(AGENT)
    assert now is not None
    assert now.standing.size == 6
