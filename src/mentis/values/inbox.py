"""Messages to agents that workers serve, and what came of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .value import Value

INBOX = "inbox"  # the kind of the mark that stands until a turn has answered
AnswerState = Literal["answered", "failed", "dead"]


@dataclass(frozen=True, slots=True)
class InboxMessage(Value):
    """`id` is the identity of its delivery: sent twice, it is one message. `stimulus` is what was
    said, in its JSON form; `seal` is made with the home's secret by whoever took it in.
    """

    id: str
    session: str
    stimulus: str
    seal: str = ""


@dataclass(frozen=True, slots=True)
class InboxAnswer(Value):
    """`dead`: nobody tries it any more, and `reason` says why. `entry` is that of the turn."""

    state: AnswerState
    text: str = ""
    entry: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Ring(Value):
    """`claim` tells it from what others claim later; `number` rises each time it rings."""

    agent: str
    number: int
    claim: int


@dataclass(frozen=True, slots=True)
class WorkerRow(Value):
    """A process that serves agents: how long ago it was seen, in seconds, and how many it serves
    now. `draining`: it ends once it served these.
    """

    name: str
    since: str
    seen: int
    serving: int
    draining: bool
