"""Answers in pieces, when nobody reads them any more."""

from __future__ import annotations

from typing import Any

import anyio
from starlette.types import Message

from mentis.web.streams import Emit, Streamed, sse


async def test_work_that_speaks_up_while_it_is_cancelled_is_no_defect() -> None:
    asked, ended = anyio.Event(), list[str]()

    async def work(emit: Emit) -> None:
        emit(sse("begun"))
        asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.wait_all_tasks_blocked()
                emit(sse("late"))
                ended.append("whole")

    async def receive() -> Message:
        await asked.wait()
        return {"type": "http.disconnect"}

    sent = list[Message]()

    async def send(message: Message) -> None:
        sent.append(message)

    scope: dict[str, Any] = {"type": "http"}
    await Streamed(work, fail=lambda _: b"")(scope, receive, send)
    assert ended == ["whole"]
    assert b"late" not in b"".join(one.get("body", b"") for one in sent)
