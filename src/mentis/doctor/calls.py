"""Calls to models as logs tell of them, whatever wrote the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from mentis.facts.ability import Wire
from mentis.values.json import JsonObject
from mentis.values.reply import CacheDiagnosis, Usage
from mentis.values.route import Backend

# What a statement rests on: the bytes of both prompts, the counts of tokens alone, or the
# provider's own word.
Evidence: TypeAlias = Literal["bytes", "usage", "provider"]
# What happened in a thread since its call before, as the log itself says.
LogEvent: TypeAlias = Literal["compacted", "cleared", "tools", "upgrade", "effort"]

BreakCause: TypeAlias = Literal[
    "compacted",
    "idle",
    "model",
    "tools",
    "reordered",
    "changed",
    "clock",
    "nonce",
    "headers",
    "rewritten",
    "upgrade",
    "effort",
    "unmarked",
    "unknown",
]


@dataclass(frozen=True, slots=True)
class LogPlace:
    """Where in a log a call stands: the file, and the line or the number of the item in it."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class LogBody:
    """The prompt itself, where a log holds it. A `transcript` is what somebody told of it: its
    bytes are not those of the wire.
    """

    wire: Wire
    payload: JsonObject
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    origin: str = ""
    size: int = 0  # bytes: what keeping it for the next call costs
    transcript: bool = False


@dataclass(frozen=True, slots=True)
class KnownLoss:
    """A loss of the cache that was found when the call was recorded."""

    cause: BreakCause
    tokens: int
    where: str = ""
    pointer: str = ""
    byte: int = -1
    fix: str = ""


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """`time` is in seconds since 1970, 0 where it is not told. `thread` tells sub-agents apart
    inside a session. `long_writes` of the tokens written into a cache are kept an hour. `added`
    estimates, by source, the tokens that came into the prompt since the call before; `excess` is
    what of it is more than a long result of a tool. `key` names the call: seen twice, it is one.
    """

    program: str
    place: LogPlace
    session: str
    model: str
    backend: Backend
    usage: Usage
    thread: str = ""
    time: float = 0.0
    long_writes: int = 0
    tells_cache: bool = True
    events: tuple[LogEvent, ...] = ()
    added: Mapping[str, int] = field(default_factory=dict[str, int])
    excess: Mapping[str, int] = field(default_factory=dict[str, int])
    key: str = ""
    body: LogBody | None = None
    diagnosis: CacheDiagnosis | None = None
    known: KnownLoss | None = None
    judged: bool = False  # when it was recorded: `known` is all that it lost
    reply_id: str = ""
    project: str = ""
    label: str = ""  # what the program calls the session, where it says so
    usd: float | None = None  # what the log says it cost; counts where no price is known
