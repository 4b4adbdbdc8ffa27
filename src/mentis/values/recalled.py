"""What a turn starts from, and what recall brought up for it."""

from __future__ import annotations

from dataclasses import dataclass

from .part import MediaPart
from .request import ReplyTo, RuntimeContext
from .span import Span
from .surroundings import NOWHERE, Surroundings
from .tool import ToolDeclaration
from .trace import Degradation
from .trust import Trust
from .value import Value

_NOTHING_KNOWN = RuntimeContext()


@dataclass(frozen=True, slots=True)
class Stimulus(Value):
    """What set the turn off: the words, and everything that came with them.

    An attachment with a path is read when the turn begins; one with an address is passed on, and
    nothing is fetched here. `trust`: who vouches for the words; a guest's are untrusted.
    """

    text: str
    author: str = ""
    attachments: tuple[MediaPart, ...] = ()
    reply_to: ReplyTo | None = None
    runtime_ctx: RuntimeContext = _NOTHING_KNOWN
    surroundings: Surroundings = NOWHERE
    trust: Trust = Trust.OWNER


@dataclass(frozen=True, slots=True)
class Recalled(Value):
    """`filtered` counts what screening kept out; `degraded` names the steps taken down.

    `news` is what came of acts since the last turn.
    """

    stimulus: Stimulus
    tools: tuple[ToolDeclaration, ...] = ()
    memories: tuple[Span, ...] = ()
    news: tuple[Span, ...] = ()
    filtered: int = 0
    embedding_calls: int = 0
    degraded: tuple[Degradation, ...] = ()
