"""The loop around the consumer: at once, at events, at intervals, and until it is told to stop."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import anyio
import pytest
from anyio import to_thread

from mentis.errors import LeaseHeld, MentisError, StoreDown
from mentis.ledger.channel import watch as watch_module
from mentis.ledger.channel.consumer import Consumer, Round
from mentis.ledger.channel.folder import StatusFolder
from mentis.ledger.channel.watch import watch
from mentis.ledger.channel.writer import write_draft, write_pending
from mentis.ports.clock import FixedClock
from mentis.ports.entries import Stamp
from mentis.ports.ids import CountingIds
from mentis.stores.memory import LedgerInMemory
from mentis.values.entry import Draft, Entry
from mentis.values.lease import Lease
from mentis.values.mark import Mark
from mentis.values.turn_writes import TurnWrites

MakeConsumer = Callable[..., Consumer]
LONG = 3600.0


async def watch_rounds(
    consumer: Consumer, enough: Callable[[Round], bool], *, every: float
) -> list[Round]:
    stop = anyio.Event()
    rounds: list[Round] = []

    def on_round(done: Round) -> None:
        rounds.append(done)
        if enough(done):
            stop.set()

    with anyio.fail_after(60):
        await watch(consumer, stop=stop, every=every, on_round=on_round)
    return rounds


def events_of(folder: StatusFolder) -> list[str]:
    return [json.loads(line)["event"] for line in folder.log.read_text().splitlines()]


async def test_what_was_there_before_the_start_is_consumed_at_once(
    consumer: Consumer, folder: StatusFolder, store: LedgerInMemory
) -> None:
    write_pending(folder, b'{"goal": "x"}')
    rounds = await watch_rounds(consumer, lambda done: bool(done.added), every=LONG)
    assert len(rounds[0].added) == 1
    assert store.lease("ada", "consume") is None
    assert events_of(folder) == ["started", "file_updated", "added", "stopped"]


async def test_an_event_wakes_it_long_before_the_next_look(
    consumer: Consumer, folder: StatusFolder, clock: FixedClock, ids: CountingIds
) -> None:
    def send() -> str:
        return write_draft(folder, b'{"goal": "x"}', clock=clock, ids=ids)

    async def write() -> None:
        while True:  # the first ones may come before the events are watched
            await to_thread.run_sync(send)

    looks: list[Round] = []

    def enough(done: Round) -> bool:
        looks.append(done)
        return len(looks) > 1 and bool(done.added)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        await watch_rounds(consumer, enough, every=LONG)
        tasks.cancel_scope.cancel()
    assert looks[-1].added


async def test_without_any_events_looking_alone_finds_everything(
    consumer: Consumer,
    folder: StatusFolder,
    clock: FixedClock,
    ids: CountingIds,
    *,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none(*_: object) -> None:
        raise OSError(28, "no more watches")

    monkeypatch.setattr(watch_module, "_events", none)
    sent: list[str] = []

    def enough(done: Round) -> bool:
        if not sent:
            sent.append(write_draft(folder, b'{"goal": "x"}', clock=clock, ids=ids))
        return bool(done.added)

    rounds = await watch_rounds(consumer, enough, every=0.01)
    assert [entry.delivery for done in rounds for entry in done.added] == sent


async def test_it_does_not_start_while_somebody_else_consumes(
    make_consumer: MakeConsumer, folder: StatusFolder
) -> None:
    make_consumer("monitor elsewhere:1 a").tenure.begin()
    with pytest.raises(LeaseHeld, match="monitor elsewhere:1 a"):
        await watch_rounds(make_consumer(), lambda _: True, every=LONG)
    assert not folder.log.exists()


class Flaky(LedgerInMemory):
    """Down for the first appends, then back."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times

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
        if self.left:
            self.left -= 1
            raise StoreDown("the server is gone")
        return super().append(agent, drafts, stamp, lease=lease, marks=marks, turns=turns)

    def release_lease(self, lease: Lease) -> None:
        raise StoreDown("the server is gone again")


async def test_a_store_that_goes_and_comes_back_is_told_once_each(
    make_consumer: MakeConsumer, folder: StatusFolder
) -> None:
    write_pending(folder, b'{"goal": "x"}')
    consumer = make_consumer(ledger=Flaky(3))
    told: list[str] = []

    def enough(done: Round) -> bool:
        if done.fault is not None:
            told.append(folder.fault.read_text(encoding="utf-8"))
        return bool(done.added)

    rounds = await watch_rounds(consumer, enough, every=0.01)
    assert told == ["the server is gone"] * 3
    assert not folder.fault.exists()
    faults = [fault.code for done in rounds if isinstance(fault := done.fault, MentisError)]
    assert faults == ["store-down"] * 3
    assert events_of(folder) == [
        "started",
        "file_updated",
        "store_down",
        "added",
        "store_back",
        "lease_not_released",
        "stopped",
    ]
