"""Recording happens beside the call: what cannot be written is told, counted and entered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from threading import Condition, Event

from mentis.errors import StoreFull
from mentis.home.system import RandomIds, SystemClock
from mentis.ports.entries import Stamp
from mentis.ports.screener import ListedScreener
from mentis.record.agent_record import AgentRecord
from mentis.record.foreign_calls import missing_calls
from mentis.recorder.call_copy import CallCopy
from mentis.recorder.queue import RecordingQueue
from mentis.recorder.writer import CallWriter
from mentis.stores.memory.blobs import BlobsInMemory
from mentis.stores.memory.ledger import LedgerInMemory
from mentis.values.entry import Draft, Entry
from mentis.values.json import json_object
from mentis.values.lease import Lease
from mentis.values.mark import Mark
from mentis.values.turn_writes import TurnWrites

from .foreign import anthropic_call, user

PATIENCE = 20.0


class FullLedger(LedgerInMemory):
    """A disk without space, until there is some again."""

    def __init__(self) -> None:
        super().__init__()
        self.full = True
        self.refused = 0
        self.change = Condition()

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
        with self.change:
            if self.full:
                self.refused += 1
                self.change.notify_all()
                raise StoreFull("no space left")
        return super().append(agent, drafts, stamp, lease=lease, marks=marks, turns=turns)

    def wait_for_refusals(self, count: int) -> None:
        with self.change:
            assert self.change.wait_for(lambda: self.refused >= count, timeout=PATIENCE)


def writer_on(ledger: LedgerInMemory) -> CallWriter:
    record = AgentRecord("recorded/agent", ledger, SystemClock(), RandomIds())
    return CallWriter(record, BlobsInMemory(), lambda: ListedScreener({}))


def open_queue(writer: object, told: list[str], **limits: int) -> RecordingQueue:
    chosen = {"most_calls": 100, "most_bytes": 10_000_000, **limits}
    return RecordingQueue(writer, tell=told.append, **chosen)  # pyright: ignore[reportArgumentType]


def call(number: int) -> CallCopy:
    return anthropic_call({"messages": [user("hi")]}, after=number)


def test_calls_that_a_full_disk_refused_are_a_gap_in_the_record_once_there_is_space() -> None:
    ledger, told = FullLedger(), list[str]()
    queue = open_queue(writer_on(ledger), told)
    queue.offer(call(0))
    queue.offer(call(1))
    ledger.wait_for_refusals(3)  # both calls, and at least one attempt to say so
    with ledger.change:
        ledger.full = False
    queue.offer(call(2))
    queue.close()
    entries = list(ledger.entries("recorded/agent"))
    assert sorted(entry.kind for entry in entries) == ["call", "gap"]
    assert missing_calls(entries) == 2
    gap = next(json_object(entry.body["gap"]) for entry in entries if entry.kind == "gap")
    assert gap["reasons"] == {"no space left [store-full]": 2}
    assert gap["since"] == "2026-11-16T12:00:00.000+00:00"
    assert told == ["a call was not recorded: no space left [store-full]"]


def test_a_disk_that_stays_full_is_told_at_the_end() -> None:
    ledger, told = FullLedger(), list[str]()
    queue = open_queue(writer_on(ledger), told)
    queue.offer(call(0))
    queue.close()
    assert told[-1] == "1 calls are missing, and the record could not be told"


class SlowWriter:
    """Writes nothing before it may."""

    def __init__(self) -> None:
        self.begun, self.go = Event(), Event()
        self.written: list[CallCopy] = []
        self.gaps: list[tuple[int, Mapping[str, int]]] = []

    def write(self, copy: CallCopy) -> None:
        self.begun.set()
        assert self.go.wait(PATIENCE)
        self.written.append(copy)

    def write_together(self, copies: Sequence[CallCopy]) -> bool:
        """Only one by one."""
        return False

    def write_gap(self, calls: int, reasons: Mapping[str, int], since: datetime) -> None:
        self.gaps.append((calls, dict(reasons)))


def test_offering_does_not_wait_for_the_disk_and_more_than_fits_is_a_gap() -> None:
    writer, told = SlowWriter(), list[str]()
    queue = open_queue(writer, told, most_calls=2)
    queue.offer(call(0))
    assert writer.begun.wait(PATIENCE)
    for number in range(1, 6):
        queue.offer(call(number))
    writer.go.set()
    queue.close()
    assert len(writer.written) == 3
    assert writer.gaps == [(3, {"more calls than could be written": 3})]
    assert told == ["a call was not recorded: more calls than could be written"]


def test_the_bytes_that_wait_are_limited_too() -> None:
    writer, told = SlowWriter(), list[str]()
    queue = open_queue(writer, told, most_bytes=call(0).size + 10)
    queue.offer(call(0))
    queue.offer(call(1))
    writer.go.set()
    queue.close()
    assert [calls for calls, _ in writer.gaps] == [1]


class BrokenWriter(SlowWriter):
    def write(self, copy: CallCopy) -> None:
        raise RuntimeError("a defect")


def test_a_defect_of_the_recorder_is_a_gap_and_the_thread_goes_on() -> None:
    writer, told = BrokenWriter(), list[str]()
    queue = open_queue(writer, told)
    for number in range(3):
        queue.offer(call(number))
    queue.close()
    assert sum(calls for calls, _ in writer.gaps) == 3
    assert told == ["a call was not recorded: RuntimeError: a defect"]


def test_flushing_waits_for_what_was_offered_and_no_longer_than_it_may() -> None:
    writer, told = SlowWriter(), list[str]()
    queue = open_queue(writer, told)
    queue.offer(call(0))
    queue.offer(call(1))
    assert not queue.flush(0)
    writer.go.set()
    assert queue.flush(PATIENCE)
    assert len(writer.written) == 2
    queue.close()


def test_what_waits_is_written_though_calls_never_pause() -> None:
    writer, told = SlowWriter(), list[str]()
    queue = open_queue(writer, told)
    with queue.busy():
        queue.offer(call(0))
        assert writer.begun.wait(PATIENCE)
        writer.go.set()
        queue.offer(call(1))
        assert queue.flush(PATIENCE)
    assert len(writer.written) == 2
    queue.close()


class CountingLedger(LedgerInMemory):
    """Notes what came in one transaction. It refuses `odd` paths, and lets somebody else be first
    where that is wanted.
    """

    def __init__(self, *, odd: str = "", rival: bool = False) -> None:
        super().__init__()
        self.odd, self.rival = odd, rival
        self.sizes: list[int] = []

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
        if self.rival:
            self.rival = False
            writer_on(self).write_gap(1, {"another recorder": 1}, call(0).time)
        paths = [json_object(one.body.get("call")).get("path") for one in drafts]
        if self.odd and self.odd in paths:
            raise RuntimeError("an odd call")
        made = super().append(agent, drafts, stamp, lease=lease, marks=marks, turns=turns)
        self.sizes.append(len(made))
        return made


def talk(count: int) -> list[CallCopy]:
    """One conversation, which goes on with each call."""
    said = [user(f"question {number}") for number in range(count)]
    return [
        anthropic_call({"messages": said[: number + 1]}, after=number) for number in range(count)
    ]


def recorded_together(ledger: LedgerInMemory, calls: Sequence[CallCopy], told: list[str]) -> None:
    queue = open_queue(writer_on(ledger), told)
    with queue.busy():
        for one in calls:
            queue.offer(one)
    queue.close()


def befores(ledger: LedgerInMemory) -> list[object]:
    """Which call each one names as the one before it."""
    calls = [one for one in ledger.entries("recorded/agent") if one.kind == "call"]
    return [json_object(one.body.get("cache")).get("before") for one in calls]


def contents(ledger: LedgerInMemory) -> list[dict[str, object]]:
    """All but when it was written."""
    return [
        {name: told for name, told in one.body.items() if name != "clock"}
        for one in ledger.entries("recorded/agent")
    ]


def test_calls_that_wait_go_into_one_transaction_and_name_each_other() -> None:
    ledger, alone, told = CountingLedger(), CountingLedger(), list[str]()
    recorded_together(ledger, talk(4), told)
    for one in talk(4):
        recorded_together(alone, [one], told)
    assert ledger.sizes == [4]
    assert alone.sizes == [1, 1, 1, 1]
    assert befores(ledger) == befores(alone) == [None, 0, 1, 2]
    assert contents(ledger) == contents(alone)
    assert not told


def test_a_call_that_cannot_be_written_takes_no_other_with_it() -> None:
    ledger, told, calls = CountingLedger(odd="/odd"), list[str](), talk(4)
    calls[1].path = "/odd"
    recorded_together(ledger, calls, told)
    entries = list(ledger.entries("recorded/agent"))
    assert [entry.kind for entry in entries] == ["call", "call", "call", "gap"]
    assert missing_calls(entries) == 1
    assert befores(ledger) == [None, 0, 1]
    assert told == ["a call was not recorded: RuntimeError: an odd call"]


def test_calls_name_each_other_rightly_where_another_recorder_wrote_in_between() -> None:
    ledger, told = CountingLedger(rival=True), list[str]()
    recorded_together(ledger, talk(3), told)
    assert [entry.kind for entry in ledger.entries("recorded/agent")] == ["gap", *["call"] * 3]
    assert befores(ledger) == [None, 1, 2]
    assert not told


def test_what_fails_once_calls_are_in_the_record_writes_none_of_them_twice() -> None:
    class Unsealed(CountingLedger):
        def append(self, *given: object, **named: object) -> tuple[Entry, ...]:
            made = super().append(*given, **named)  # pyright: ignore[reportArgumentType]  # as they came
            if len(made) > 1:
                raise StoreFull("no space for a checkpoint")
            return made

    ledger, told = Unsealed(), list[str]()
    recorded_together(ledger, talk(3), told)
    assert [entry.kind for entry in ledger.entries("recorded/agent")] == ["call"] * 3
    assert told == ["calls were recorded, and then: StoreFull: no space for a checkpoint"]
