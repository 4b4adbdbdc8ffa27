"""The socket of a loop, and clients that do not behave."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from anyio import connect_unix, create_task_group, fail_after

from mentis.runtime.loop.socket import Socket
from mentis.runtime.system import RandomIds

pytestmark = pytest.mark.anyio


async def test_a_client_that_goes_away_in_the_middle_ends_its_own_talk_and_nothing_else(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s"
    source = Socket(path, RandomIds())
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
