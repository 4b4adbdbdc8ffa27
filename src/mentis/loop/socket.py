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
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import anyio
from anyio import CancelScope, create_task_group, move_on_after, to_thread
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
_CONNECTIONS = 64


class SocketTalk:
    """One connection: when its last whole line came, and how many senses it waits for."""

    def __init__(self, order: Iterator[int]) -> None:
        self.scope = CancelScope()
        self.waits_for = 0
        self._order = order
        self.heard = next(order)

    def note_line(self) -> None:
        self.heard = next(self._order)

    @contextmanager
    def waiting(self) -> Generator[None]:
        self.waits_for += 1
        try:
            yield
        finally:
            self.waits_for -= 1


class SocketTalks:
    """The connections there are. Where there is no room, whoever said nothing for the longest has
    to go, and first of those who wait for nothing: nobody who is silent keeps others out.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._talks: list[SocketTalk] = []
        self._order = count()

    @contextmanager
    def joined(self) -> Generator[SocketTalk]:
        if len(self._talks) >= self._most:
            silent = min(self._talks, key=lambda one: (one.waits_for > 0, one.heard))
            self._talks.remove(silent)
            silent.scope.cancel()
        talk = SocketTalk(self._order)
        self._talks.append(talk)
        try:
            with talk.scope:
                yield talk
        finally:
            if talk in self._talks:
                self._talks.remove(talk)


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
        most_talks: int = _CONNECTIONS,
    ) -> None:
        self._most_talks = most_talks
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
        talks = SocketTalks(self._most_talks)
        local = _bound(self._path)
        listener = await SocketListener.from_socket(local.bound)

        async def answer(stream: ByteStream) -> None:
            async with stream:
                with talks.joined() as talk:
                    await self._converse(stream, local.key, talk)
                if talk.scope.cancelled_caught:
                    await _send_away(stream)

        try:
            async with listener:
                task_status.started()
                await listener.serve(answer)
        finally:
            self.queue.close()
            with suppress(OSError):
                self._path.unlink(missing_ok=True)

    async def _converse(self, stream: ByteStream, key: str, talk: SocketTalk) -> None:
        """Whoever goes away in the middle of it ends this talk, and nothing else."""
        async with create_task_group() as talks:
            try:  # inside the group, which would wrap what is raised
                await self._listen(stream, key, talks, talk)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                talks.cancel_scope.cancel()

    async def _listen(
        self, stream: ByteStream, key: str, talks: TaskGroup, talk: SocketTalk
    ) -> None:
        lines = BufferedByteReceiveStream(stream)
        if key and not hmac.compare_digest(await self._line(lines, stream) or b"", key.encode()):
            await _say(stream, {"refused": "the first line is not the key of this socket"})
            return
        while (line := await self._line(lines, stream)) is not None:
            talk.note_line()
            if not line.strip():
                continue
            try:
                held = await self.queue.put(self._sense(line))
            except MentisError as error:
                await _say(stream, {"refused": error.message, "hint": error.hint})
                continue
            talks.start_soon(_confirm, stream, held, talk)

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


async def _confirm(stream: ByteStream, held: QueuedSense, talk: SocketTalk) -> None:
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError), talk.waiting():
        await held.taken.wait()
        await _say(stream, {"taken": held.sense.id.removeprefix("socket:")})


async def _send_away(stream: ByteStream) -> None:
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError), move_on_after(1):
        reason = "another program needs this place, and you were silent for the longest"
        await _say(stream, {"refused": reason, "hint": "connect again when there is something"})


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
