"""A thought that somebody may interrupt: what is looked at meanwhile, and what that breaks off."""

from __future__ import annotations

import threading
from typing import cast

import pytest
from anyio import Event, fail_after, to_thread

from mentis.errors import MentisError, StoreDamaged, StoreLocked
from mentis.record.agent_record import AgentRecord
from mentis.talk import silence
from mentis.talk.silence import unless_somebody_speaks

pytestmark = pytest.mark.anyio
RECORD = cast("AgentRecord", None)  # which only `spoken` reads


def looks(monkeypatch: pytest.MonkeyPatch, *found: int | MentisError) -> list[int | MentisError]:
    """What each look into the talk comes to."""
    left = list(found)

    def spoken(_record: AgentRecord, _session: str) -> int:
        seen = left.pop(0)
        if isinstance(seen, MentisError):
            raise seen
        return seen

    monkeypatch.setattr(silence, "count_messages", spoken)
    return left


async def thought_until_broken_off() -> str:
    broken = Event()

    async def think() -> str:
        await broken.wait()
        return "broken off"

    with fail_after(20):
        return await unless_somebody_speaks(RECORD, "main", think, break_off=broken.set, poll=0.0)


async def test_a_busy_store_is_looked_at_again_and_ends_no_thought(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    busy = StoreLocked("another process is at it")
    left = looks(monkeypatch, 1, 1, busy, 1, busy, 2)
    assert await thought_until_broken_off() == "broken off"
    assert left == []


async def test_somebody_who_waits_for_the_thought_to_end_breaks_it_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks(monkeypatch, *[1] * 50)
    broken, awaited = Event(), [False, False, True]

    async def think() -> str:
        await broken.wait()
        return "broken off"

    with fail_after(20):
        thought = await unless_somebody_speaks(
            RECORD,
            "main",
            think,
            break_off=broken.set,
            poll=0.0,
            is_awaited=lambda: awaited.pop(0),
        )
    assert (thought, awaited) == ("broken off", [])


async def test_a_store_that_cannot_be_read_breaks_the_thought_off_and_is_the_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks(monkeypatch, 1, StoreDamaged("it is not the database it should be"))
    with pytest.raises(StoreDamaged):
        await thought_until_broken_off()


@pytest.mark.parametrize("found", [2, StoreDamaged("it is not the database it should be")])
async def test_a_look_that_ends_after_the_thought_breaks_nothing_off(
    monkeypatch: pytest.MonkeyPatch, found: int | MentisError
) -> None:
    left, began, over = looks(monkeypatch, 1, found), threading.Event(), threading.Event()
    real, broken = silence.count_messages, list[str]()

    def slow(record: AgentRecord, session: str) -> int | None:
        if len(left) == 1:
            began.set()
            assert over.wait(20)
        return real(record, session)

    async def think() -> str:
        await to_thread.run_sync(began.wait, 20)
        over.set()
        return "thought"

    monkeypatch.setattr(silence, "count_messages", slow)
    thought = await unless_somebody_speaks(
        RECORD, "main", think, break_off=lambda: broken.append("all"), poll=0.0
    )
    assert (thought, broken, left) == ("thought", [], [])
