"""What a turn starts from, and what recall brought up for it."""

from __future__ import annotations

from dataclasses import dataclass

from .span import Span
from .tool import ToolDeclaration
from .trace import Degradation
from .value import Value


@dataclass(frozen=True, slots=True)
class Stimulus(Value):
    """What set the turn off."""

    text: str
    author: str = ""


@dataclass(frozen=True, slots=True)
class Recalled(Value):
    """`filtered` counts what screening kept out; `degraded` names the steps taken down."""

    stimulus: Stimulus
    tools: tuple[ToolDeclaration, ...] = ()
    memories: tuple[Span, ...] = ()
    filtered: int = 0
    embedding_calls: int = 0
    degraded: tuple[Degradation, ...] = ()
