"""Sees everything that passes on one connection: what was sent, what was asked for, what was not.

It keeps no message and answers none. A server that says more than it may is cut off here, and the
lists it gives of its tools are sieved before the SDK reads them: one broken definition would
otherwise cost all of them.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import anyio

from mentis.ports.clock import Clock
from mentis.values.json import JsonObject

from .bucket import Bucket
from .declared import McpServer
from .listing import Sieve
from .notices import ServerNotices

if TYPE_CHECKING:
    from mcp_types import JSONRPCError, JSONRPCMessage

# In the `_meta` of a call: the same key in a retry, so that a server can tell one from the other.
KEY = "mentis/idempotency-key"
MORE_THAN = "the answer has more than"
TOO_LARGE = -32010  # in the band that is left to implementations; never sent
_ID = re.compile(rb'"id"\s*:\s*(?:"([^"\\]{1,64})"|(-?\d{1,18}))')
_HEAD = 512
_LONGEST_SECRET = 8192
_FRAMES = 4  # of the largest kind may come at once


class Watch:
    def __init__(
        self,
        server: McpServer,
        clock: Clock,
        notices: ServerNotices,
        clean: Callable[[str], str] = str,
    ) -> None:
        caps = server.caps
        self.server = server
        self.notices = notices
        self.over = ""  # why the connection has to end
        self.cut = True  # it is ended without manners: at first nobody knows it
        self.changed = False
        self.sieve: Sieve | None = None  # of the listing that is going on
        self.stirred = anyio.Event()
        self.ended = anyio.Event()  # all of it is over, and known
        self.errors = deque[str](maxlen=200)
        self._clean = clean
        self._clock = clock
        self._open: dict[str, str] = {}  # requests of ours without an answer, and their methods
        self._sent: set[str] = set()
        self._unasked = Bucket(caps.unasked, caps.unasked_per_second)
        self._bytes = Bucket(_FRAMES * caps.frame_bytes, caps.frame_bytes)

    def went(self, message: JSONRPCMessage) -> None:
        """Called before the first byte of it can reach the server."""
        method: str = getattr(message, "method", "")
        number: object = getattr(message, "id", None)
        params = cast("JsonObject", getattr(message, "params", None) or {})
        if method and number is not None:
            self._open[str(number)] = method
            self._sent.add(_key(params))
        elif method == "notifications/cancelled":
            self._open.pop(str(params.get("requestId")), None)

    def was_sent(self, key: str) -> bool:
        """Whether the server may have the call of that key."""
        return key in self._sent

    def forget(self, key: str) -> None:
        """It was not sent after all, or it is over."""
        self._sent.discard(key)

    def came(self, message: JSONRPCMessage) -> JSONRPCMessage | None:
        """The message as the SDK may have it; None when the connection is to end."""
        method: str = getattr(message, "method", "")
        number: object = getattr(message, "id", None)
        if not method and (asked := self._open.pop(str(number), "")):
            return self._sieved(message) if asked == "tools/list" else message
        if method and number is not None and method != "ping":
            self.notices.add("asked", f"{method}, which it does not get")
        if method == "notifications/tools/list_changed":
            self.changed = True
            self.stir()
        return message if self.allow_unasked("messages nobody asked for") else None

    def noise(self, line: bytes) -> bool:
        """What is no message. False when there was too much of it."""
        said = self._readable(line, 200)
        self.notices.add("noise", f"standard output: {said}")
        return self.allow_unasked("lines that are no messages")

    def add_error_line(self, line: bytes) -> None:
        """A line of its standard error, for the log."""
        self.errors.append(self._readable(line, 2000))

    def _readable(self, line: bytes, most: int) -> str:
        """Cleaned before it is cut: the beginning of a secret is not known as one."""
        return self._clean(line[: most + _LONGEST_SECRET].decode("utf-8", "backslashreplace"))[
            :most
        ]

    def allow_unasked(self, what: str) -> bool:
        return self._unasked.take(1, self._clock.monotonic()) or self.cut_off(what)

    def weigh(self, size: int) -> bool:
        return self._bytes.take(size, self._clock.monotonic()) or self.cut_off("bytes")

    def too_large(self, head: bytes) -> JSONRPCError | None:
        """An answer that is over the cap, known by its beginning: it fails, and nothing else."""
        from mcp_types import ErrorData, JSONRPCError

        found = _ID.search(head[:_HEAD])
        number = (found[1] or found[2]).decode() if found else ""
        if not found or number not in self._open:
            self.cut_off("one message")
            return None
        self._open.pop(number)
        said = f"{MORE_THAN} {self.server.caps.frame_bytes} bytes"
        known = number if found[1] else int(number)
        return JSONRPCError(jsonrpc="2.0", id=known, error=ErrorData(code=TOO_LARGE, message=said))

    def cut_off(self, what: str) -> bool:
        self.cut = True
        self.notices.add("flood", f"it was cut off: too much of {what}")
        self.end(f"it was cut off: too much of {what}")
        return False

    def end(self, reason: str) -> None:
        """The first reason is the one."""
        self.over = self.over or reason
        self.stir()

    def stir(self) -> None:
        self.stirred.set()

    async def wait(self) -> None:
        """Until something happens that the keeper of the connection has to look at."""
        await self.stirred.wait()
        self.stirred = anyio.Event()

    def _sieved(self, message: JSONRPCMessage) -> JSONRPCMessage:
        result = cast("JsonObject | None", getattr(message, "result", None))
        if self.sieve is None or result is None:
            return message
        kept = self.sieve.take(result.get("tools"))
        return message.model_copy(update={"result": {**result, "tools": kept}})


def _key(params: JsonObject) -> str:
    meta = params.get("_meta")
    return str(cast("JsonObject", meta).get(KEY, "")) if isinstance(meta, dict) else ""
