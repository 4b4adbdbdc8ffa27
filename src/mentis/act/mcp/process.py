"""A server that is a program, spoken to by lines on its standard input and output.

The SDK has such a transport too. It takes a line of any length, and it cannot say whether a
request was written before the program died; but that decides whether an act may have been done.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

import anyio
from anyio import to_thread
from anyio.abc import ByteReceiveStream, Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from mentis.codec.strict_json import is_json, read_outside
from mentis.errors import BadInput
from mentis.system.programs import ask_session_to_end, kill_session
from mentis.values.json import json_object

from .watch import Watch

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCMessage

    Incoming: TypeAlias = MemoryObjectSendStream[SessionMessage | Exception]
    Outgoing: TypeAlias = MemoryObjectReceiveStream[SessionMessage]
    Streams: TypeAlias = tuple[
        MemoryObjectReceiveStream[SessionMessage | Exception],
        MemoryObjectSendStream[SessionMessage],
    ]

_LOG = logging.getLogger("mentis.act.mcp")
_HEAD = 512
_DEEPEST = 200
_LARGE = 256 * 1024  # read in a thread, so that nobody waits for it
_POLL = 0.01
_REAP = 5.0  # only what cannot be killed takes that long
_WAITING = 64  # messages on their way out; whoever cancels must not have to wait for a full pipe


@dataclass(frozen=True, slots=True)
class Launch:
    """What is started, where, and with which variables: all of them, nothing is inherited."""

    command: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]


@asynccontextmanager
async def start_process(launch: Launch, watch: Watch) -> AsyncGenerator[Streams]:
    """The streams of the SDK to a new process, which is gone with its children afterwards.

    OSError or ValueError when it cannot be started.
    """
    process = await _begun(launch)
    # No await between here and the task group: a cancellation would leave the process behind.
    into, incoming = anyio.create_memory_object_stream["SessionMessage | Exception"](0)
    outgoing, out_of = anyio.create_memory_object_stream["SessionMessage"](_WAITING)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, process, into, watch)
        tasks.start_soon(_write, process, out_of, watch)
        tasks.start_soon(_read_errors, process, watch)
        try:
            yield incoming, outgoing
        finally:
            with anyio.CancelScope(shield=True):
                await _stop(process, watch)
            tasks.cancel_scope.cancel()
            for stream in (into, incoming, outgoing, out_of):
                stream.close()


async def _begun(launch: Launch) -> Process:
    """Not to be cancelled half-way: the process would be there, and nobody would know it."""
    with anyio.CancelScope(shield=True):
        return await anyio.open_process(
            launch.command, env=launch.environment, cwd=launch.cwd, start_new_session=True
        )
    raise AssertionError("a shield lets nothing pass")


async def _read(process: Process, into: Incoming, watch: Watch) -> None:
    from mcp.shared.message import SessionMessage

    assert process.stdout is not None  # noqa: S101  # it was started with pipes
    async with into:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for line in _lines(process.stdout, watch):
                message = await _message(line, watch)
                if message is not None and not watch.over:
                    await into.send(SessionMessage(message))
                if watch.over:
                    break
        # Before the stream closes, so that whoever wakes up by that finds the reason.
        if not watch.over:
            watch.end(await _ending(process))


async def _message(line: bytes | LineHead, watch: Watch) -> JSONRPCMessage | None:
    """What came, as the SDK may have it; None for noise."""
    if isinstance(line, LineHead):
        return watch.too_large(line.text)
    try:
        message = await to_thread.run_sync(_parsed, line) if len(line) > _LARGE else _parsed(line)
    except ValueError:
        watch.noise(line)
        return None
    return watch.came(message)


def _parsed(line: bytes) -> JSONRPCMessage:
    """What means nothing, or several things, is no answer: whoever asked is told so."""
    from mcp_types import jsonrpc_message_adapter

    try:
        read_outside(line, what="the answer of the server", max_depth=_DEEPEST)
    except BadInput as error:
        return _refused(line, error)
    return jsonrpc_message_adapter.validate_json(line, by_name=False)


def _refused(line: bytes, error: BadInput) -> JSONRPCMessage:
    """ValueError for what answers nobody."""
    from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError

    if not is_json(error) or error.facts.get("byte") is not None:
        raise ValueError(error.message)  # no JSON, or too deep to be read at all
    found = json_object(cast("object", json.loads(line)))
    asked = found.get("id")
    if "method" in found or not isinstance(asked, int | str):
        raise ValueError(error.message)
    return JSONRPCError(
        jsonrpc="2.0", id=asked, error=ErrorData(code=PARSE_ERROR, message=error.message)
    )


@dataclass(frozen=True, slots=True)
class LineHead:
    """The beginning of a line that was too long to be taken."""

    text: bytes


async def _lines(stream: ByteReceiveStream, watch: Watch) -> AsyncIterator[bytes | LineHead]:
    begun, most, skipped = bytearray(), watch.server.caps.frame_bytes, False
    async for chunk in stream:
        if not watch.weigh(len(chunk)):
            return
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            skipped = skipped or len(begun) + len(end) > most
            line = LineHead(bytes(begun[:_HEAD])) if skipped else bytes(begun + end)
            begun, skipped = bytearray(), False
            if isinstance(line, LineHead) or line.strip():
                yield line
        skipped = skipped or len(begun) + len(rest) > most
        begun += rest[:_HEAD] if skipped else rest
        del begun[_HEAD if skipped else most :]


async def _read_errors(process: Process, watch: Watch) -> None:
    """For the log, never for our own standard error."""
    assert process.stderr is not None  # noqa: S101  # it was started with pipes
    begun, logged = b"", 0
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async for chunk in process.stderr:
            if not watch.weigh(len(chunk)):
                return
            *lines, begun = (begun + chunk)[-watch.server.caps.stderr_bytes :].split(b"\n")
            for line in filter(None, lines):
                watch.add_error_line(line)
                logged += len(line)
                if logged < watch.server.caps.stderr_bytes:
                    _LOG.info("%s: standard error: %s", watch.server.name, watch.errors[-1])
    if begun:
        watch.add_error_line(begun)


async def _write(process: Process, out_of: Outgoing, watch: Watch) -> None:
    assert process.stdin is not None  # noqa: S101  # it was started with pipes
    try:
        async with out_of:
            async for carried in out_of:
                text = carried.message.model_dump_json(by_alias=True, exclude_unset=True)
                watch.went(carried.message)
                await process.stdin.send(text.encode() + b"\n")
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        watch.end("it reads nothing any more")


async def _ending(process: Process) -> str:
    """How the process ended, if it did so at once."""
    await _gone(process, 0.5)
    code = process.returncode
    if code is None:
        return "it closed its standard output"
    return f"it ended by signal {-code}" if code < 0 else f"it ended with code {code}"


async def _stop(process: Process, watch: Watch) -> None:
    """Ask it to leave by closing its input, then make it leave; its children with it."""
    assert process.stdin is not None  # noqa: S101  # it was started with pipes
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.aclose()
    if not watch.cut:
        await _gone(process, watch.server.times.close)
        await to_thread.run_sync(ask_session_to_end, process.pid)
        await _gone(process, watch.server.times.close)
    await to_thread.run_sync(kill_session, process.pid)
    await _gone(process, _REAP)
    with anyio.move_on_after(_REAP), suppress(OSError):
        await process.aclose()


async def _gone(process: Process, seconds: float) -> None:
    """By looking: waiting for the process would also wait for children that hold its pipes."""
    with anyio.move_on_after(seconds):
        while process.returncode is None:  # noqa: ASYNC110  # nothing tells of it
            await anyio.sleep(_POLL)
