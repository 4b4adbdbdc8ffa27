"""Senses over a local socket: one JSON object a line, and one line back for each.

Nobody but the owner of the process can speak to it. `{"taken": ID}` comes when a tick that is
recorded took it: until then it is the sender's to keep. While there is no room nothing more is
read.
"""

from __future__ import annotations

import hmac
import json
import os
import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import anyio
from anyio import CapacityLimiter, create_task_group, to_thread
from anyio.abc import ByteStream, SocketListener, TaskGroup, TaskStatus
from anyio.streams.buffered import BufferedByteReceiveStream

from mentis.errors import BadInput, MentisError, StoreLocked, UsageError
from mentis.ports.ids import Ids
from mentis.system.local_sockets import LocalListener, answers, is_socket, listen_at
from mentis.values.cognition import Sense
from mentis.values.trust import Trust

from .given import read_object, read_sense
from .queue import QueuedSense, SenseQueue

_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_LONGEST_PATH = 100
_CONNECTIONS = 8


class SenseSocket:
    """A `SenseSource` that other programs write to."""

    def __init__(
        self,
        path: Path,
        ids: Ids,
        *,
        trust: Trust = Trust.UNTRUSTED,
        most: int = 32,
        most_bytes: int = 65_536,
    ) -> None:
        self._path = path
        self._ids = ids
        self._trust = trust
        self._most_bytes = most_bytes
        self.queue = SenseQueue(most)

    async def take(self, most: int) -> tuple[Sense, ...]:
        return await self.queue.take(most)

    async def done(self, ids: Collection[str]) -> None:
        await self.queue.done(ids)

    async def serve(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Listen until cancelled; the socket is gone afterwards."""
        await to_thread.run_sync(_make_way, self._path)
        limiter = CapacityLimiter(_CONNECTIONS)
        local = _bound(self._path)
        listener = await SocketListener.from_socket(local.bound)

        async def answer(stream: ByteStream) -> None:
            async with limiter, stream:
                await self._converse(stream, local.key)

        try:
            async with listener:
                task_status.started()
                await listener.serve(answer)
        finally:
            self.queue.close()
            with suppress(OSError):
                self._path.unlink(missing_ok=True)

    async def _converse(self, stream: ByteStream, key: str) -> None:
        """Whoever goes away in the middle of it ends this talk, and nothing else."""
        async with create_task_group() as talks:
            try:  # inside the group, which would wrap what is raised
                await self._listen(stream, key, talks)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                talks.cancel_scope.cancel()

    async def _listen(self, stream: ByteStream, key: str, talks: TaskGroup) -> None:
        lines = BufferedByteReceiveStream(stream)
        if key and not hmac.compare_digest(await self._line(lines, stream) or b"", key.encode()):
            await _say(stream, {"refused": "the first line is not the key of this socket"})
            return
        while (line := await self._line(lines, stream)) is not None:
            if not line.strip():
                continue
            try:
                held = await self.queue.put(self._sense(line))
            except MentisError as error:
                await _say(stream, {"refused": error.message, "hint": error.hint})
                continue
            talks.start_soon(_confirm, stream, held)

    async def _line(self, lines: BufferedByteReceiveStream, stream: ByteStream) -> bytes | None:
        """The next one; None at the end. After one that is too long nothing can be read."""
        try:
            return await lines.receive_until(b"\n", self._most_bytes)
        except anyio.IncompleteRead:
            return None
        except anyio.DelimiterNotFound:
            await _say(stream, {"refused": f"a line is longer than {self._most_bytes} bytes"})
            return None

    def _sense(self, line: bytes) -> Sense:
        given = read_object(line)
        name = given.pop("id", None) or self._ids.new_id()
        if not isinstance(name, str) or not _ID.fullmatch(name):
            hint = "use 1 to 64 letters, digits and any of _ . : -"
            raise BadInput("the id of a sense is no short name", hint=hint)
        return read_sense(given, f"socket:{name}", endpoint="socket", trust=self._trust)


async def _confirm(stream: ByteStream, held: QueuedSense) -> None:
    await held.taken.wait()
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await _say(stream, {"taken": held.sense.id.removeprefix("socket:")})


async def _say(stream: ByteStream, line: dict[str, str]) -> None:
    await stream.send(json.dumps(line, ensure_ascii=False).encode() + b"\n")


def _make_way(path: Path) -> None:
    """Remove a socket that nobody listens to any more, and nothing else."""
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise UsageError(
            f"{path}: the path of a socket has at most {_LONGEST_PATH} bytes",
            hint="name a shorter one",
        )
    try:
        if not is_socket(path):
            raise BadInput(f"{path}: this is no socket", hint="name one that is not there yet")
    except FileNotFoundError:
        return
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}", hint="name another socket") from error
    if answers(path):
        raise StoreLocked(f"{path}: somebody listens there already", hint="name another socket")
    path.unlink(missing_ok=True)


def _bound(path: Path) -> LocalListener:
    try:
        return listen_at(path, backlog=_CONNECTIONS)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}", hint="name another socket") from error
