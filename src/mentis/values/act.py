"""An act as declared, one call of it, what the gate said, what waits for a person."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .action import Action
from .block import Mode
from .tool import ToolDeclaration
from .trust import Trust
from .value import LATE, Value

# What an act touches: people, what the agent remembers or wants, its record, its own running;
# `core` is harmless everywhere, `agent` reaches outside.
# How an act stands, from the question on.
ActState: TypeAlias = Literal[
    "waiting",
    "approved",
    "denied",
    "expired",
    "begun",
    "done",
    "not_found",
    "invalid",
    "refused",
    "timeout",
    "crashed",
    "unavailable",
    "unknown",
]
Scope: TypeAlias = Literal["core", "agent", "message", "memory", "goal", "status", "control"]
Policy: TypeAlias = Literal["open", "values", "strict"]


@dataclass(frozen=True, slots=True)
class ActSpec(Value):
    """Everything that is declared of an act. The model is told the declaration and nothing else.

    `source` says where it comes from (`python`, `python:NAME`, `builtin`, `mcp:NAME`,
    `openapi:NAME`, `agent:ID`). Acts of one `endpoint` are done one after the other; without one
    they are independent. `modes` narrows what the scope allows. `concurrency` 0 means no limit of
    its own.
    `where` says for people what is run or called: method and address, programs, command line. A
    `deferred` one is executed by the caller, who brings its result. `trusted`: the owner vouches
    for what it answers, which is neither screened nor fenced.
    """

    declaration: ToolDeclaration
    scope: Scope = "core"
    source: str = "python"
    endpoint: str = ""
    modes: tuple[Mode, ...] = ()
    timeout_seconds: float = 60.0
    concurrency: int = 0
    where: str = ""
    deferred: bool = field(default=False, metadata=LATE)
    trusted: bool = False

    @property
    def name(self) -> str:
        """The name that the model calls it by."""
        return self.declaration.name

    @property
    def place(self) -> str:
        """Where it is done, as the cortex names it: without an endpoint of its own, its source."""
        return self.endpoint or self.source


def asks_agent(spec: ActSpec) -> bool:
    """Whether it is an agent that answers."""
    return spec.source.startswith("agent:")


@dataclass(frozen=True, slots=True)
class ActCall(Value):
    """One action on its way to being done. `key` makes doing it twice detectable: it stays the
    same in a retry, and goes to whoever does the act, if they can take one. `lineage` is the least
    trusted of what its arguments were made from.
    """

    action: Action
    key: str
    agent: str = ""
    session: str = ""
    mode: Mode = "chat"
    lineage: Trust = Trust.SELF
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class TaintedValue(Value):
    """A value of the payload that came from untrusted text and from nowhere else."""

    path: str  # JSON pointer into the payload
    value: str
    source: str  # of the text it stands in, in words a person can follow


@dataclass(frozen=True, slots=True)
class Decision(Value):
    """What the gate says of a call. `wait`: a person has to say yes first.

    `review`: it may be done, and what it changes is marked for a person to look at. `lineage` is
    the least trusted of what is kept by it was made from.
    """

    verdict: Literal["allow", "refuse", "wait"]
    rule: str = ""  # which rule decided: mode, policy, budget, unjudged ...
    reason: str = ""
    tainted: tuple[TaintedValue, ...] = ()
    review: bool = False
    lineage: Trust = Trust.SELF


@dataclass(frozen=True, slots=True)
class WaitingAct(Value):
    """A call that waits for a person, as it would be done. `spec` is the digest of what was
    declared when it was asked for: what has changed since is not what was approved.
    """

    call: ActCall
    spec: str
    source: str
    external_effects: bool
    decision: Decision
    since: str
    expires: str
    where: str = ""
