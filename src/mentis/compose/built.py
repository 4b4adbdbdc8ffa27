"""Results of the builders: text with the spans it is made of, and the blocks that stayed out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mentis.values.block import Position
from mentis.values.span import Span
from mentis.values.trace import BlockTrace, Degradation, UnresolvedPlaceholder
from mentis.values.value import Value


@dataclass(frozen=True, slots=True)
class BuiltText(Value):
    """Joined, the spans are the text. `told` and `skipped` are all the blocks in question.

    Their tokens are not counted here; `Builder.tokens` does it for whoever wants to know.
    """

    spans: tuple[Span, ...] = ()
    text: str = ""
    told: tuple[BlockTrace, ...] = ()
    skipped: tuple[BlockTrace, ...] = ()
    unresolved: tuple[UnresolvedPlaceholder, ...] = ()
    degraded: tuple[Degradation, ...] = ()


@dataclass(frozen=True, slots=True)
class BuiltMessage(Value):
    role: Literal["system", "user", "assistant"]
    text: str
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class BuiltMessages(Value):
    messages: tuple[BuiltMessage, ...] = ()
    told: tuple[BlockTrace, ...] = ()
    skipped: tuple[BlockTrace, ...] = ()
    unresolved: tuple[UnresolvedPlaceholder, ...] = ()
    degraded: tuple[Degradation, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanStep(Value):
    """One place in the order of a conversation; what stands there comes from other builders."""

    id: str
    position: Position
    order: float


@dataclass(frozen=True, slots=True)
class StepPlan(Value):
    steps: tuple[PlanStep, ...] = ()
    skipped: tuple[BlockTrace, ...] = ()


@dataclass(frozen=True, slots=True)
class SummaryPrompt(Value):
    """What asks for a summary: the instruction, the message with the talk, how to begin."""

    system: BuiltText
    user: BuiltText
    prefill: BuiltText
