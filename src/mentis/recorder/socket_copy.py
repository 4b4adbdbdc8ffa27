"""One WebSocket as it went by: its messages are read, and each question in it becomes a call.

Agents that speak Responses over a WebSocket send `response.create` and get the events of a stream,
one in a message. What cannot be read is said in the entry of the connection; nothing fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import orjson

from mentis.ports.clock import Clock
from mentis.values.json import json_object

from .call_copy import BodyCopy, CallCopy, CallEnd, Headers

if TYPE_CHECKING:
    from websockets.extensions import Extension
    from websockets.protocol import Protocol

_ASKS = "response.create"
_ENDS = frozenset(
    {"response.completed", "response.failed", "response.incomplete", "response.done", "error"}
)
_ELSEWHERE = "messages of a WebSocket: the questions among them are entries of their own"
_OK = 200


@dataclass(slots=True)
class SocketCopy:
    """Fed with bytes in both directions, as they are on the wire. `call` is the connection itself;
    `offer` takes it and every question in it.
    """

    call: CallCopy
    clock: Clock
    offer: Callable[[CallCopy], None]
    limit: int
    _open: list[CallCopy] = field(default_factory=list["CallCopy"])
    _program: _MessageReader | None = None
    _server: _MessageReader | None = None

    def __post_init__(self) -> None:
        self.call.over = "websocket"
        self.call.request = BodyCopy(0, why=_ELSEWHERE)
        self.call.answer = BodyCopy(0, why=_ELSEWHERE)
        try:
            self._program = _MessageReader("program", self.call.answer_headers, self.limit)
            self._server = _MessageReader("server", self.call.answer_headers, self.limit)
        except Exception as error:  # noqa: BLE001  # the connection goes on, and its entry says so
            self._give_up(error)

    def sent(self, data: bytes) -> None:
        """By the program."""
        self.call.request.take(data)
        self._read(self._program, data, self._ask)

    def received(self, data: bytes) -> None:
        """By the program, from its server."""
        if self.call.first_byte is None:
            self.call.first_byte = self.clock.monotonic()
        self.call.answer.take(data)
        self._read(self._server, data, self._hear)

    def is_busy(self) -> bool:
        """Whether something was asked that is not answered yet."""
        return bool(self._open)

    def close(self, end: CallEnd, reason: str = "") -> None:
        """What was asked and not answered ended as the connection did."""
        self.call.reason = self.call.reason or reason
        if self._open:
            self.call.end = end
        while self._open:
            self._offer(self._open.pop(0), end)

    def _read(
        self, reader: _MessageReader | None, data: bytes, take: Callable[[bytes], None]
    ) -> None:
        if reader is None:
            return
        try:
            for message in reader.messages(data):
                take(message)
        except Exception as error:  # noqa: BLE001  # the connection goes on, and its entry says so
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self._program = self._server = None
        self.call.reason = f"its messages were not read: {type(error).__name__}: {error}"
        self.close("broken", self.call.reason)

    def _ask(self, message: bytes) -> None:
        if _type(message) != _ASKS:
            return
        bodies = BodyCopy(self.limit), BodyCopy(self.limit)
        now, began = self.clock.now(), self.clock.monotonic()
        call = replace(self.call, time=now, began=began, request=bodies[0], answer=bodies[1])
        call.status, call.first_byte, call.reason = 0, None, ""
        call.request.take(message)
        self._open.append(call)

    def _hear(self, message: bytes) -> None:
        if not self._open:
            return
        call, kind = self._open[0], _type(message)
        if call.first_byte is None:
            call.first_byte = self.clock.monotonic()
        call.status = _status(message) if kind == "error" else _OK
        lines = b"\ndata: ".join(message.splitlines())
        call.answer.take(b"event: %s\ndata: %s\n\n" % (kind.encode(), lines))
        if kind in _ENDS:
            self._offer(self._open.pop(0), "answered")

    def _offer(self, call: CallCopy, end: CallEnd) -> None:
        call.end, call.ended = end, self.clock.monotonic()
        self.offer(call)


class _MessageReader:
    """The text messages of one side, put together from its frames."""

    def __init__(self, side: Literal["program", "server"], headers: Headers, limit: int) -> None:
        from websockets.frames import Opcode
        from websockets.protocol import Protocol, Side, State

        reads_as = Side.SERVER if side == "program" else Side.CLIENT
        self._frames: Protocol = Protocol(reads_as, state=State.OPEN, max_size=limit)
        self._frames.extensions = list(_extensions(headers, side))
        self._starts = Opcode.TEXT, Opcode.BINARY, Opcode.CONT
        self._text = Opcode.TEXT
        self._parts: list[bytes] = []
        self._is_text = False

    def messages(self, data: bytes) -> Iterator[bytes]:
        frames = self._frames
        frames.receive_data(data)
        frames.data_to_send()  # answers of its own, which nobody sends
        for frame in frames.events_received():
            if (opcode := getattr(frame, "opcode", None)) not in self._starts:
                continue
            if opcode is not self._starts[2]:
                self._parts, self._is_text = [], opcode is self._text
            self._parts.append(bytes(getattr(frame, "data", b"")))
            if getattr(frame, "fin", True) and self._is_text:
                yield b"".join(self._parts)
        if frames.parser_exc is not None:
            raise frames.parser_exc


def _extensions(headers: Headers, side: Literal["program", "server"]) -> Iterator[Extension]:
    """Those that both agreed on. Only packing is known: any other changes what frames mean."""
    from websockets.extensions.permessage_deflate import PerMessageDeflate
    from websockets.headers import parse_extension

    for name, value in headers:
        if name.lower() != b"sec-websocket-extensions":
            continue
        for extension, given in parse_extension(value.decode("latin-1")):
            if extension != "permessage-deflate":
                raise ValueError(f"the extension {extension!r} is not known")
            chosen = dict(given)
            program = (
                "client_no_context_takeover" in chosen,
                int(chosen.get("client_max_window_bits") or 15),
            )
            server = (
                "server_no_context_takeover" in chosen,
                int(chosen.get("server_max_window_bits") or 15),
            )
            remote, local = (program, server) if side == "program" else (server, program)
            yield PerMessageDeflate(remote[0], local[0], remote[1], local[1])


def _type(message: bytes) -> str:
    """Of an event; nothing where a message is none."""
    try:
        return str(json_object(orjson.loads(message)).get("type", ""))
    except orjson.JSONDecodeError:
        return ""


def _status(message: bytes) -> int:
    told = json_object(orjson.loads(message)).get("status")
    return told if isinstance(told, int) else _OK
