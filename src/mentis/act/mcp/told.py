"""Reports of MCP sources: notices about a server, definitions left out, pins, an offer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from mentis.ports.act_handler import ActHandler
from mentis.values.digest import Digest
from mentis.values.value import Value

NoticeKind: TypeAlias = Literal[
    "asked",  # it wanted something of us: a model's answer, a person's, our folders
    "noise",  # it wrote what is no message of the protocol
    "flood",  # it wrote more than is taken, and was cut off
    "down",  # no connection, or it ended
    "slow",  # it did not answer in time
    "given_up",  # too many failures in a row
]
SourceState: TypeAlias = Literal["connecting", "up", "down", "given_up", "closed"]
PinVerdict: TypeAlias = Literal["pinned", "asked", "changed"]


@dataclass(frozen=True, slots=True)
class McpNotice(Value):
    """Something about a server that its owner should know. `count` is how often it was so."""

    server: str
    kind: NoticeKind
    text: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class OmittedTool(Value):
    """A tool that is not offered, as the server calls it, and why."""

    tool: str
    reason: str


@dataclass(frozen=True, slots=True)
class PinChange(Value):
    """A definition nobody knew before. `pinned`: record it as trusted from now on.

    `asked` and `changed` wait for a person: record the question, and the digest as a pin once
    they approve of it. `before` is the digest that was trusted.
    """

    source: str
    name: str
    digest: Digest
    verdict: PinVerdict
    before: Digest = ""


@dataclass(frozen=True, slots=True)
class McpStatus(Value):
    server: str
    state: SourceState
    reason: str
    offered: int
    blocked: int
    left_out: tuple[OmittedTool, ...]
    notices: tuple[McpNotice, ...]


@dataclass(frozen=True, slots=True)
class Offer:
    """All that a server can do just now. `blocked` are among the handlers: each with its reason."""

    source: str
    handlers: tuple[ActHandler, ...] = ()
    blocked: Mapping[str, str] = field(default_factory=dict[str, str])
    pins: tuple[PinChange, ...] = ()
    left_out: tuple[OmittedTool, ...] = ()
