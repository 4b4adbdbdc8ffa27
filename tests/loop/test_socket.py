"""The socket of a loop, and clients that do not behave."""

from __future__ import annotations

import json
import socket
from contextlib import AsyncExitStack
from pathlib import Path

import anyio.lowlevel
import pytest
from anyio import connect_unix, create_task_group, fail_after

from mentis.home.system import RandomIds
from mentis.loop.folder import SenseFolder
from mentis.loop.socket import SenseSocket
from mentis.values.trust import Trust

pytestmark = pytest.mark.anyio


async def test_a_client_that_goes_away_in_the_middle_ends_its_own_talk_and_nothing_else(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s"
    source = SenseSocket(path, RandomIds())
    with fail_after(60):
        async with create_task_group() as tasks:
            await tasks.start(source.serve)
            for said in (b"nonsense\n" * 50, b'{"text": "Gone.", "id": "gone"}\n[]\n'):
                with socket.socket(socket.AF_UNIX) as rude:
                    rude.connect(str(path))
                    rude.sendall(said)
            async with await connect_unix(path) as polite:
                await polite.send(b'{"text": "It rains.", "id": "one"}\n')
                while len(source.queue) < 2:
                    await source.take(9)
                await source.done([one.id for one in await source.take(9)])
                assert json.loads(await polite.receive()) == {"taken": "one"}
                tasks.cancel_scope.cancel()


async def test_who_would_stop_the_loop_unvouched_for_is_refused_at_the_door(
    tmp_path: Path,
) -> None:
    stop = b'{"kind": "hibernate", "payload": {}, "id": "stop"}\n'
    source = SenseSocket(tmp_path / "s", RandomIds())
    with fail_after(60):
        async with create_task_group() as tasks:
            await tasks.start(source.serve)
            async with await connect_unix(tmp_path / "s") as client:
                await client.send(stop)
                assert "nobody vouches" in json.loads(await client.receive())["refused"]
                tasks.cancel_scope.cancel()
    (tmp_path / "box").mkdir()
    file = tmp_path / "box" / "stop.json"
    file.write_text('{"kind": "hibernate", "payload": {}}', encoding="utf-8")
    assert await SenseFolder(tmp_path / "box").take(9) == ()
    assert (tmp_path / "box" / "refused" / "stop.json").exists()
    file.write_text('{"kind": "hibernate", "payload": {}}', encoding="utf-8")
    (taken,) = await SenseFolder(tmp_path / "box", trust=Trust.OWNER).take(9)
    assert taken.kind == "hibernate"


async def test_peers_that_say_nothing_keep_nobody_out(tmp_path: Path) -> None:
    path = tmp_path / "s"
    source = SenseSocket(path, RandomIds(), most_talks=4)
    with fail_after(60):
        async with create_task_group() as tasks, AsyncExitStack() as open_ones:
            await tasks.start(source.serve)
            waiting = await open_ones.enter_async_context(await connect_unix(path))
            await waiting.send(b'{"text": "It rains.", "id": "one"}\n')
            while len(source.queue) < 1:
                await anyio.lowlevel.checkpoint()
            silent = [
                await open_ones.enter_async_context(await connect_unix(path)) for _ in range(12)
            ]
            await silent[-1].send(b'{"text": "half a line')
            last = await open_ones.enter_async_context(await connect_unix(path))
            await last.send(b'{"text": "It snows.", "id": "two"}\n')
            assert "silent for the longest" in json.loads(await silent[0].receive())["refused"]
            while len(source.queue) < 2:
                await anyio.lowlevel.checkpoint()
            await source.done([one.id for one in await source.take(9)])
            assert json.loads(await waiting.receive()) == {"taken": "one"}
            assert json.loads(await last.receive()) == {"taken": "two"}
            tasks.cancel_scope.cancel()
