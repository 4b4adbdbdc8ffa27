"""One call as it went by: a copy of its bytes, up to a limit, and when they came."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from mentis.settings.recorder import RepairRule
from mentis.values.value import Value

from .targets import CallTarget

if TYPE_CHECKING:
    from .span_calls import SpanSource

Headers: TypeAlias = Sequence[tuple[bytes, bytes]]
# The last events of streams. Programs stop reading there, before the body itself has ended.
_LAST_EVENTS = (
    b"data: [DONE]",
    b"event: message_stop",
    b"event: response.completed",
    b"event: response.incomplete",
    b"event: response.failed",
)
_LAST_LINE = re.compile(rb'"done"\s*:\s*true\s*[,}]')  # of Ollama, which sends a line for an event
# How it ended: answered, the program left, the server could not be reached, or broke off.
CallEnd: TypeAlias = Literal["answered", "left", "unreachable", "broken"]


@dataclass(slots=True)
class BodyCopy:
    """Bytes as they come. One that is longer than `limit` is only counted, and `why` says so."""

    limit: int
    why: str = "longer than recorder.body_bytes"
    pieces: list[bytes] = field(default_factory=list[bytes])
    length: int = 0

    def take(self, piece: bytes) -> None:
        self.length += len(piece)
        if self.length <= self.limit:
            self.pieces.append(piece)
        else:
            self.pieces.clear()

    @property
    def whole(self) -> bool:
        return self.length <= self.limit

    def content(self) -> bytes:
        return b"".join(self.pieces)

    def has_last_event(self) -> bool:
        """Whether it is a stream of events that has said everything, as far as can be read."""
        if self.pieces and self.pieces[0].startswith(b"{"):
            last = self._last(b"\n")
            return last.endswith(b"\n") and _LAST_LINE.search(last) is not None
        last = self._last(b"\n\n")
        return last.endswith(b"\n\n") and last.startswith(_LAST_EVENTS)

    def _last(self, mark: bytes) -> bytes:
        """What stands behind the last mark but the one at the end."""
        tail = b""
        for piece in reversed(self.pieces):
            tail = piece + tail
            if mark in tail.replace(b"\r\n", b"\n").rstrip():
                break
        plain = tail.replace(b"\r\n", b"\n")
        return plain[plain.rstrip().rfind(mark) + len(mark) if mark in plain.rstrip() else 0 :]


@dataclass(slots=True)
class CallCopy:
    """`target`, `method` and `path` (with its query) say where it went. `status` is 0 where no
    answer began. Seconds are counted from `began`. It is filled while the call goes by, and not
    touched any more once it is handed over. Of one that was repaired, `request` is what was sent
    and `original` what the program said. With a `source` its bytes were not seen: its bodies are
    transcripts of what a span told.
    """

    target: CallTarget
    method: str
    path: str
    headers: Headers
    time: datetime
    began: float
    request: BodyCopy
    answer: BodyCopy
    status: int = 0
    answer_headers: Headers = ()
    first_byte: float | None = None
    ended: float = 0.0
    end: CallEnd = "answered"
    reason: str = ""
    original: BodyCopy | None = None
    repairs: tuple[BodyRepair, ...] = ()
    over: Literal["http", "websocket"] = "http"
    source: SpanSource | None = None

    @property
    def size(self) -> int:
        """The bytes it holds."""
        bodies = (self.request, self.answer, self.original)
        return sum(one.length for one in bodies if one is not None and one.whole)

    def end_where_left(self) -> CallEnd:
        """The program reads no further; where everything was said by then, nothing is missing."""
        return "answered" if self.answer.has_last_event() else "left"

    def replace_request(self, body: bytes, repairs: tuple[BodyRepair, ...]) -> None:
        """Something else is sent than the program said."""
        self.original, self.repairs = self.request, repairs
        self.request = BodyCopy(self.request.limit)
        self.request.take(body)


@dataclass(frozen=True, slots=True)
class BodyRepair(Value):
    """One change of a body: by which rule, and where."""

    rule: RepairRule
    pointer: str


class CallTap(Protocol):
    """Takes copies of calls that have ended. It returns at once and never raises."""

    def offer(self, call: CallCopy) -> None: ...

    def busy(self) -> AbstractContextManager[None]:
        """While a call goes by: what can wait makes room for it."""
        ...


class ListedCalls:
    """A tap for tests: it keeps them in a list."""

    def __init__(self) -> None:
        self.calls: list[CallCopy] = []

    def offer(self, call: CallCopy) -> None:
        self.calls.append(call)

    def busy(self) -> AbstractContextManager[None]:
        return nullcontext()
