"""Files become entries: each delivery once, in order, and nothing is followed or waited for."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mentis.disk.processes import owner_name
from mentis.errors import (
    HomeUnwritable,
    LeaseHeld,
    MentisError,
    OutsideHome,
    StoreConflict,
    StoreDown,
    StoreError,
    StoreFull,
)
from mentis.ledger.channel import consumer as consumer_module
from mentis.ledger.channel.consumer import Consumer, Refusal
from mentis.ledger.channel.folder import StatusFolder, delivery_of
from mentis.ledger.channel.writer import write_draft, write_pending
from mentis.ledger.tenure import Tenure
from mentis.ledger.verify import verify_chain
from mentis.ports.clock import FixedClock
from mentis.ports.entries import Stamp
from mentis.ports.ids import CountingIds
from mentis.stores.memory import LedgerInMemory
from mentis.values.digest import digest
from mentis.values.entry import Draft, Entry
from mentis.values.lease import Lease
from mentis.values.mark import Mark
from mentis.values.turn_writes import TurnWrites

MakeConsumer = Callable[..., Consumer]


def window(n: int = 1) -> bytes:
    return json.dumps({"goal": f"goal {n}"}).encode()


@pytest.fixture
def send(folder: StatusFolder, clock: FixedClock, ids: CountingIds) -> Callable[..., str]:
    def send(content: bytes, delivery: str | None = None) -> str:
        return write_draft(folder, content, clock=clock, ids=ids, delivery=delivery)

    return send


def reasons(folder: StatusFolder) -> list[str]:
    files = sorted(folder.quarantine.glob("*.reason.json"))
    return [json.loads(file.read_text(encoding="utf-8"))["message"] for file in files]


def aside(folder: StatusFolder) -> list[Path]:
    return sorted(p for p in folder.quarantine.iterdir() if not p.name.endswith(".reason.json"))


def log_of(folder: StatusFolder) -> list[dict[str, object]]:
    return [json.loads(line) for line in folder.log.read_text(encoding="utf-8").splitlines()]


def test_what_waits_becomes_entries_in_order_and_goes(
    consumer: Consumer, send: Callable[..., str], folder: StatusFolder, store: LedgerInMemory
) -> None:
    deliveries = [send(window(n)) for n in range(3)]
    done = consumer.consume()
    assert [entry.delivery for entry in done.added] == deliveries
    assert [e.body["window"] for e in store.entries("ada")] == [
        {"goal": f"goal {n}"} for n in range(3)
    ]
    assert done.added[0].body["received"] == {"digest": digest(window(0)), "bytes": len(window(0))}
    assert done.added[0].source == "pending_status_auto"
    assert (folder.waiting(), folder.pending.exists()) == ([], False)
    assert verify_chain("ada", store.entries("ada")).intact


def test_the_log_says_what_an_acknowledgement_looks_for(
    consumer: Consumer, send: Callable[..., str], folder: StatusFolder
) -> None:
    send(window(1))
    send(window(2))
    entry = consumer.consume().added[1]
    line = log_of(folder)[-1]
    assert line["message"] == f"Added to history: {entry.hash[:16]}... (total: 2)"
    assert (line["event"], line["result"], line["delivery"]) == ("added", "SUCCESS", entry.delivery)
    assert str(line["timestamp"]).endswith("Z")


def test_the_slot_is_taken_as_the_origin_did_and_is_empty_then(
    consumer: Consumer, folder: StatusFolder
) -> None:
    write_pending(folder, window(1))
    assert len(consumer.consume().added) == 1
    assert not folder.pending.exists()
    # Equal drafts delivered twice are two entries.
    write_pending(folder, window(1))
    assert [entry.index for entry in consumer.consume().added] == [1]


def test_a_delivery_that_comes_again_is_known_and_goes_without_a_second_entry(
    consumer: Consumer, send: Callable[..., str], folder: StatusFolder, store: LedgerInMemory
) -> None:
    send(window(1), "task-7")
    consumer.consume()
    send(window(1), "task-7")
    done = consumer.consume()
    assert (done.added, done.known, store.count("ada")) == ([], 1, 1)
    assert folder.waiting() == []


def test_a_known_delivery_is_told_by_its_bytes_even_if_it_is_judged_differently_now(
    make_consumer: MakeConsumer, send: Callable[..., str], store: LedgerInMemory
) -> None:
    send(window(1), "task-7")
    make_consumer().consume()

    def later(_: bytes) -> Draft | Refusal:
        return Draft("window", "pending_status_auto", {"window": {"judged": "otherwise"}})

    send(window(1), "task-7")
    assert make_consumer(judge=later).consume().known == 1
    assert store.count("ada") == 1


def test_who_was_overtaken_by_another_consumer_sees_that_the_delivery_is_known(
    make_consumer: MakeConsumer, send: Callable[..., str], store: LedgerInMemory
) -> None:
    send(window(1), "task-7")

    def overtaken(content: bytes) -> Draft | Refusal:
        # Another one commits between the look into the store and the append.
        received = {"digest": digest(content), "bytes": len(content)}
        draft = Draft("window", "x", {"other": 1, "received": received}, delivery="task-7")
        store.append("ada", [draft], consumer.stamp)
        return Draft("window", "x", {"window": {}})

    consumer = make_consumer(judge=overtaken)
    assert consumer.consume().known == 1
    assert store.count("ada") == 1


def test_the_same_delivery_with_another_content_is_a_conflict_and_is_kept_aside(
    consumer: Consumer, send: Callable[..., str], folder: StatusFolder, store: LedgerInMemory
) -> None:
    send(window(1), "task-7")
    consumer.consume()
    send(window(2), "task-7")
    done = consumer.consume()
    assert (len(done.refused), store.count("ada"), folder.waiting()) == (1, 1, [])
    assert reasons(folder) == ["delivery `task-7` is entry 0 already, with another content"]
    assert aside(folder)[0].read_bytes() == window(2)
    assert log_of(folder)[-1]["event"] == "conflict"


def test_a_delivery_that_came_another_way_is_a_conflict(
    consumer: Consumer, send: Callable[..., str], folder: StatusFolder, store: LedgerInMemory
) -> None:
    store.append("ada", [Draft("note", "cli", {}, delivery="task-7")], consumer.stamp)
    send(window(1), "task-7")
    consumer.consume()
    assert (store.count("ada"), len(reasons(folder))) == (1, 1)


def test_a_delivery_whose_digest_was_erased_or_whose_entry_was_dropped_makes_no_second_entry(
    consumer: Consumer, send: Callable[..., str], folder: StatusFolder, store: LedgerInMemory
) -> None:
    send(window(1), "erased")
    send(window(2), "gone")
    consumer.consume()
    tombstone = Draft("erasure", "test", {})
    store.erase("ada", 0, ["received", "window"], draft=tombstone, stamp=consumer.stamp)
    send(window(1), "erased")
    assert consumer.consume().known == 1
    store.drop_before("ada", 2)
    send(window(2), "gone")
    assert len(consumer.consume().refused) == 1
    assert store.count("ada") == 3


def test_a_refused_draft_is_kept_aside_with_the_reason_and_the_others_go_on(
    consumer: Consumer, send: Callable[..., str], folder: StatusFolder
) -> None:
    send(b"{torn", "a")
    send(b"{}", "b")
    send(json.dumps({"goal": 2**60}).encode(), "c")
    send(window(1), "d")
    done = consumer.consume()
    assert ([e.delivery for e in done.added], len(done.refused)) == (["d"], 3)
    assert [path.suffixes for path in aside(folder)] == [[f".{one}", ".json"] for one in "abc"]
    assert reasons(folder)[:2] == ["it is not JSON", "the foundation is missing"]
    whole = json.loads((folder.quarantine / f"{aside(folder)[1].name}.reason.json").read_text())
    assert whole["facts"] == {"problems": ["S2-FIELD-GOAL: there is no goal"]}
    assert (whole["event"], delivery_of(whole["file"]), whole["code"]) == (
        "refused",
        "b",
        "bad-input",
    )


def link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def dangling(path: Path) -> None:
    path.symlink_to(path.with_name("nowhere"))


def loop(path: Path) -> None:
    path.symlink_to(path)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the path of a socket may not be long
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(here)


def hard_link(path: Path) -> None:
    other = path.parent.parent / "other"
    other.write_bytes(window(1))
    os.link(other, path)


def directory(path: Path) -> None:
    path.mkdir()


def device(path: Path) -> None:
    try:
        os.mknod(path, 0o600 | 0o020000, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("making a device needs root")


def large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2 * 1024 * 1024)


def foreign(path: Path) -> None:
    path.write_bytes(window(1))
    try:
        os.chown(path, 65534, 65534)
    except PermissionError:
        pytest.skip("giving a file away needs root")


@pytest.mark.parametrize("slot", [True, False], ids=["slot", "spool"])
@pytest.mark.parametrize(
    ("make", "why"),
    [
        (link, "it is a link"),
        (dangling, "it is a link"),
        (loop, "it is a link"),
        (pipe, "it is a pipe"),
        (unix_socket, "it is a socket or a device"),
        (hard_link, "it has 2 names"),
        (directory, "it is a folder"),
        (device, "it is a device"),
        (large, "it has 2097152 bytes"),
        (foreign, "it belongs to user 65534"),
    ],
)
def test_what_is_not_a_plain_file_of_ours_is_moved_aside_unread(
    consumer: Consumer, folder: StatusFolder, *, make: Callable[[Path], None], why: str, slot: bool
) -> None:
    path = folder.pending if slot else folder.spool / "task-7.json"
    make(path)
    inode = path.lstat().st_ino
    done = consumer.consume()
    assert (done.added, done.fault) == ([], None)
    assert why in reasons(folder)[0]
    # The thing itself was moved, not what it leads to.
    assert aside(folder)[0].lstat().st_ino == inode
    assert not path.is_symlink()
    assert not path.exists()


@pytest.mark.parametrize(
    "name", ["A.json", "x.txt", "ä.json", "x y.json", "con\n.json", "x.json.json"]
)
def test_names_that_are_no_deliveries_are_kept_aside(
    consumer: Consumer, folder: StatusFolder, name: str
) -> None:
    (folder.spool / name).write_bytes(window(1))
    assert consumer.consume().added == []
    assert "is not the name of a draft" in reasons(folder)[0]


def test_a_file_that_is_still_being_written_is_left_alone(
    consumer: Consumer, folder: StatusFolder
) -> None:
    (folder.spool / ".x.json.abcd1234.tmp").write_bytes(b"{")
    done = consumer.consume()
    assert (done.added, done.refused) == ([], {})
    assert (folder.spool / ".x.json.abcd1234.tmp").exists()


def test_a_file_that_is_replaced_after_it_was_read_is_not_removed_with_the_old_one(
    make_consumer: MakeConsumer,
    send: Callable[..., str],
    folder: StatusFolder,
    store: LedgerInMemory,
) -> None:
    send(window(1), "task-7")
    (name,) = folder.waiting()
    other = folder.path / "other"

    def replaced(entry: Entry, line: str) -> None:
        if entry.index == 0:
            other.write_bytes(window(2))
            other.replace(folder.spool / name)

    consumer = make_consumer(on_added=replaced)
    consumer.consume()
    assert folder.waiting() == [name]
    assert log_of(folder)[-1]["event"] == "replaced"
    assert len(consumer.consume().refused) == 1
    assert [e.body["window"] for e in store.entries("ada")] == [{"goal": "goal 1"}]


def test_the_slot_written_again_while_its_draft_is_recorded_is_the_next_delivery(
    make_consumer: MakeConsumer, folder: StatusFolder, store: LedgerInMemory
) -> None:
    def again(entry: Entry, line: str) -> None:
        if entry.index == 0:
            write_pending(folder, window(2))

    consumer = make_consumer(on_added=again)
    write_pending(folder, window(1))
    consumer.consume()
    assert folder.pending.exists()
    consumer.consume()
    assert [e.body["window"] for e in store.entries("ada")] == [
        {"goal": "goal 1"},
        {"goal": "goal 2"},
    ]


def test_a_spool_that_is_a_link_elsewhere_is_refused(
    consumer: Consumer, folder: StatusFolder, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x.json").write_bytes(window(1))
    folder.spool.rmdir()
    folder.spool.symlink_to(elsewhere)
    assert isinstance(consumer.consume().fault, OutsideHome)
    assert (elsewhere / "x.json").exists()


class Broken(LedgerInMemory):
    """A store that can be switched off."""

    def __init__(self) -> None:
        super().__init__()
        self.fault: StoreError | None = None

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
        if self.fault is not None:
            raise self.fault
        return super().append(agent, drafts, stamp, lease=lease, marks=marks, turns=turns)


@pytest.mark.parametrize("fault", [StoreDown("gone"), StoreFull("full"), StoreError("odd")])
def test_while_the_store_is_down_drafts_wait_and_then_drain_in_order(
    make_consumer: MakeConsumer,
    send: Callable[..., str],
    folder: StatusFolder,
    fault: StoreError,
) -> None:
    store = Broken()
    consumer = make_consumer(ledger=store)
    first = send(window(1))
    store.fault = fault
    assert consumer.consume().fault is fault
    # The slot is emptied all the same, so that the next draft in it loses nothing.
    write_pending(folder, window(2))
    assert consumer.consume().fault is fault
    assert not folder.pending.exists()
    write_pending(folder, window(3))
    assert consumer.consume().fault is fault
    assert (len(folder.waiting()), delivery_of(folder.waiting()[0])) == (3, first)
    store.fault = None
    done = consumer.consume()
    assert [entry.body["window"] for entry in done.added] == [
        {"goal": f"goal {n}"} for n in (1, 2, 3)
    ]
    assert done.fault is None


def test_the_second_consumer_is_told_who_holds_the_lease(make_consumer: MakeConsumer) -> None:
    make_consumer("watcher elsewhere:7 a").tenure.begin()
    with pytest.raises(LeaseHeld, match="consumed by watcher elsewhere:7 a") as caught:
        make_consumer("monitor elsewhere:8 b").consume()
    assert caught.value.facts["holder"] == "watcher elsewhere:7 a"
    assert "its lease runs until 2026" in caught.value.hint


def test_the_lease_of_a_killed_process_of_this_machine_is_taken_over_at_once(
    make_consumer: MakeConsumer, store: LedgerInMemory
) -> None:
    gone = owner_name("watcher", "a").replace(f":{os.getpid()} ", f":{2**22 + 1} ")
    make_consumer(gone).tenure.begin()
    lease = make_consumer("watcher test:1 b").tenure.begin()
    assert (lease.owner, lease.fence) == ("watcher test:1 b", 2)


def test_a_process_number_of_another_machine_says_nothing(make_consumer: MakeConsumer) -> None:
    make_consumer(f"watcher {socket.gethostname()}@1:{2**22 + 1} a").tenure.begin()
    with pytest.raises(LeaseHeld):
        make_consumer("watcher test:1 b").tenure.begin()


def test_a_lease_is_renewed_on_the_way_and_given_back_at_the_end(store: LedgerInMemory) -> None:
    slow = FixedClock(step=timedelta(seconds=10))
    tenure = Tenure(store, slow, agent="ada", owner="watcher test:1 x")
    first = tenure.begin()
    assert [tenure.keep().fence for _ in range(6)] == [first.fence] * 6
    held = store.lease("ada", "consume")
    assert held is not None
    assert held.end > first.end
    tenure.end()
    assert store.lease("ada", "consume") is None


def test_who_lost_the_lease_records_nothing_more(
    make_consumer: MakeConsumer, send: Callable[..., str], store: LedgerInMemory
) -> None:
    send(window(1))
    consumer = make_consumer("watcher elsewhere:7 a")
    mine = consumer.tenure.begin()
    store.release_lease(mine)
    other = make_consumer("watcher elsewhere:8 b")
    other.tenure.begin()
    with pytest.raises(LeaseHeld, match="elsewhere:8 b has it now"):
        consumer.consume()
    assert store.count("ada") == 0
    assert len(other.consume().added) == 1


def test_a_log_that_cannot_be_written_stops_nothing_and_says_so(
    consumer: Consumer, send: Callable[..., str], folder: StatusFolder
) -> None:
    folder.log.mkdir()
    send(window(1))
    assert len(consumer.consume().added) == 1
    assert "watcher.log cannot be written" in str(consumer.log.fault)


def test_a_long_log_begins_anew_and_keeps_the_one_before(
    consumer: Consumer, send: Callable[..., str], folder: StatusFolder
) -> None:
    folder.log.write_bytes(b"x" * (5 * 1024 * 1024))
    send(window(1))
    consumer.consume()
    assert len(log_of(folder)) == 1
    assert folder.log.with_name("watcher.log.1").stat().st_size == 5 * 1024 * 1024


def test_a_draft_that_says_where_it_came_from_keeps_that(
    folder: StatusFolder, make_consumer: MakeConsumer, clock: FixedClock, ids: CountingIds
) -> None:
    draft = b'{"goal": "Read"}\n'
    name = write_draft(folder, draft, clock=clock, ids=ids, source="Büro\n2")
    (entry,) = make_consumer().consume().added
    assert (entry.source, entry.delivery) == ("Büro\n2", name)
    assert entry.body["received"] == {"digest": digest(draft), "bytes": len(draft)}
    assert folder.waiting() == []


@pytest.mark.parametrize(
    "heading",
    [
        b"",
        b"{}",
        b'"editor"',
        b'{"source": 1}',
        b'{"source": " "}',
        b'{"source": "a\\u0000b"}',
        b'{"source": "a", "more": 1}',
        b'{"source": "a", "source": "b"}',
        b'{"source": "' + b"a" * 201 + b'"}',
    ],
)
def test_a_source_that_is_not_allowed_is_refused_with_the_draft(
    folder: StatusFolder, make_consumer: MakeConsumer, store: LedgerInMemory, heading: bytes
) -> None:
    (folder.spool / "d-1.from.json").write_bytes(heading + b'\n{"goal": "Read"}')
    (folder.spool / "d-2.json").write_bytes(b'{"goal": "Read"}')
    done = make_consumer().consume()
    assert len(done.refused) == 1
    assert [entry.delivery for entry in store.entries("ada")] == ["d-2"]


def test_what_a_killed_writer_left_is_swept_when_it_is_old_and_never_before(
    folder: StatusFolder, make_consumer: MakeConsumer, ids: CountingIds
) -> None:
    left = folder.spool / ".d-1.json.abcdefgh.tmp"
    left.write_bytes(b'{"goal"')
    os.utime(left, (0, 0))  # which says nothing of when it was written
    (folder.spool / ".link.tmp").symlink_to(left)
    (folder.spool / ".hidden").write_bytes(b"not ours")
    written = datetime.fromtimestamp(left.stat().st_ctime, UTC)
    fresh = make_consumer(clock=FixedClock(written + timedelta(hours=23)))
    assert fresh.consume().swept == []
    assert left.exists()
    later = make_consumer(clock=FixedClock(written + timedelta(hours=25)))
    assert later.consume().swept == [left.name]
    assert sorted(path.name for path in folder.spool.iterdir()) == [".hidden", ".link.tmp"]
    log = [json.loads(line) for line in folder.log.read_text("utf-8").splitlines()]
    assert [(one["file"], one["bytes"]) for one in log if one["event"] == "swept"] == [
        (left.name, 7)
    ]


def test_who_does_not_hold_the_lease_sweeps_nothing(
    folder: StatusFolder, make_consumer: MakeConsumer
) -> None:
    left = folder.spool / ".d-1.json.abcdefgh.tmp"
    left.write_bytes(b"")
    far = FixedClock(datetime.now(UTC) + timedelta(days=9))
    make_consumer("watcher test:1 holder").tenure.begin()
    with pytest.raises(LeaseHeld):
        make_consumer("watcher test:1 other", clock=far).consume()
    assert left.exists()


def test_nothing_is_swept_where_the_spool_leads_elsewhere(
    folder: StatusFolder, make_consumer: MakeConsumer, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / ".x.tmp").write_bytes(b"")
    folder.spool.rmdir()
    folder.spool.symlink_to(elsewhere)
    done = make_consumer(clock=FixedClock(datetime.now(UTC) + timedelta(days=9))).consume()
    assert (done.swept, done.fault) == ([], None)
    assert (elsewhere / ".x.tmp").exists()
    assert "not_swept" in folder.log.read_text("utf-8")


def test_a_file_whose_name_is_no_text_is_kept_aside_and_the_others_go_on(
    consumer: Consumer, send: Callable[..., str], folder: StatusFolder
) -> None:
    odd = os.fsencode(folder.spool) + b"/\xff.json"
    Path(os.fsdecode(odd)).write_bytes(window(1))
    Path(os.fsdecode(os.fsencode(folder.spool) + b"/.\xfe.tmp")).write_bytes(b"")
    sent = send(window(2))
    later = replace(consumer, clock=FixedClock(datetime(2999, 1, 1, tzinfo=UTC)))
    done = later.consume()
    assert [entry.delivery for entry in done.added] == [sent]
    (reason,) = folder.quarantine.glob("*.reason.json")
    assert json.loads(reason.read_bytes())["file"] == "\udcff.json"
    assert (len(done.refused), folder.waiting(), done.trouble) == (1, [], None)
    for told in (*done.refused, *done.refused.values(), *done.swept):
        told.encode()  # text that any terminal takes
    assert log_of(folder)


def test_a_draft_that_nothing_in_mentis_expected_is_kept_aside_and_the_others_go_on(
    make_consumer: MakeConsumer, send: Callable[..., str], folder: StatusFolder
) -> None:
    def judge(content: bytes) -> Draft | Refusal:
        if b"goal 1" in content:
            raise OverflowError("too large")
        return Draft("window", "x", {"window": {}})

    send(window(1), "a")
    send(window(2), "b")
    done = make_consumer(judge=judge).consume()
    assert ([entry.delivery for entry in done.added], folder.waiting()) == (["b"], [])
    (told,) = done.refused.values()
    assert told.endswith("cannot be taken: OverflowError: too large")
    assert [line["event"] for line in log_of(folder)] == ["fault", "added"]


def test_a_machine_out_of_memory_is_not_the_fault_of_a_draft(
    make_consumer: MakeConsumer, send: Callable[..., str], folder: StatusFolder
) -> None:
    def judge(content: bytes) -> Draft | Refusal:
        raise MemoryError

    send(window(1))
    done = make_consumer(judge=judge).consume()
    assert isinstance(done.fault, StoreError)
    assert (len(folder.waiting()), aside(folder)) == (1, [])


def test_a_breach_that_is_on_record_already_keeps_nothing_else_waiting(
    make_consumer: MakeConsumer, send: Callable[..., str], folder: StatusFolder
) -> None:
    def refused(name: str, error: MentisError) -> None:
        raise StoreConflict("delivery `breach-a` is entry 3 already, with another content")

    send(b"{}", "a")
    send(window(2), "b")
    done = make_consumer(on_refused=refused).consume()
    assert ([entry.delivery for entry in done.added], done.fault) == (["b"], None)
    (reason,) = folder.quarantine.glob("*.reason.json")
    assert "breach-a" in json.loads(reason.read_bytes())["facts"]["untold"]


@pytest.mark.parametrize("name", ["remove_same", "put_aside"])
def test_a_file_that_cannot_be_taken_away_is_told_of_and_keeps_nothing_else_waiting(
    make_consumer: MakeConsumer,
    send: Callable[..., str],
    folder: StatusFolder,
    store: LedgerInMemory,
    *,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise HomeUnwritable("a.json: cannot be written: Operation not permitted")

    send(b"{}" if name == "put_aside" else window(1), "a")
    send(window(2), "b")
    monkeypatch.setattr(consumer_module, name, fail)
    done = make_consumer().consume()
    assert store.find_delivery("ada", "b") is not None
    assert (done.fault, done.trouble is not None) == (None, True)
    assert "a" in {delivery_of(file) for file in done.stuck}


def test_a_slot_that_cannot_be_emptied_keeps_nothing_else_waiting(
    make_consumer: MakeConsumer,
    send: Callable[..., str],
    folder: StatusFolder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_pending(folder, window(1))
    sent, rename = send(window(2)), Path.rename

    def stays(self: Path, target: Path) -> Path:
        if self == folder.pending:
            raise PermissionError(1, "Operation not permitted")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", stays)
    done = make_consumer().consume()
    assert [entry.delivery for entry in done.added] == [sent]
    assert (done.fault, list(done.stuck)) == (None, [folder.pending.name])


def test_drafts_that_waited_for_the_store_are_recorded_in_the_order_they_were_written(
    consumer: Consumer, send: Callable[..., str], folder: StatusFolder
) -> None:
    for number, delivery in enumerate(("zz", "bb", "aa")):
        send(window(number), delivery)
    write_pending(folder, window(9))
    done = consumer.consume()
    assert [entry.delivery for entry in done.added][:3] == ["zz", "bb", "aa"]
    assert [entry.body["window"] for entry in done.added][3] == {"goal": "goal 9"}


@pytest.mark.parametrize("make", [pipe, hard_link, directory, link, foreign])
def test_a_log_that_is_not_our_own_plain_file_is_neither_waited_for_nor_written(
    consumer: Consumer, send: Callable[..., str], folder: StatusFolder, make: Callable[[Path], None]
) -> None:
    make(folder.log)
    other = folder.path.parent / "other"
    before = other.read_bytes() if other.exists() else b""
    send(window(1))
    assert len(consumer.consume().added) == 1
    assert consumer.log.fault is not None
    assert consumer.log.fault.startswith("watcher.log cannot be written: ")
    assert (other.read_bytes() if other.exists() else b"") == before


def test_a_pipe_that_somebody_reads_is_not_the_log_either(
    consumer: Consumer, send: Callable[..., str], folder: StatusFolder
) -> None:
    os.mkfifo(folder.log)
    reader = os.open(folder.log, os.O_RDONLY | os.O_NONBLOCK)
    try:
        send(window(1))
        assert len(consumer.consume().added) == 1
        assert consumer.log.fault == "watcher.log cannot be written: it is not a file"
        assert os.read(reader, 10) == b""
    finally:
        os.close(reader)
