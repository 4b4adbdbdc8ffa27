"""Requests of clients and their answers, whatever protocol they speak."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from mentis.engines.estimate import EstimatingCounter
from mentis.turn.turn import TurnResult
from mentis.values.action import Action
from mentis.values.json import JsonObject
from mentis.values.options import CallOptions
from mentis.values.reply import Usage
from mentis.values.tool import ToolDeclaration
from mentis.values.turn import Turn
from mentis.values.value import Value

Finish: TypeAlias = Literal["stop", "length", "calls", "filter"]
_CUT = ("max_steps", "budget", "context")
NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class ClientRequest(Value):
    """One request. `turns` is the conversation as the client has it, its last turn the one to be
    answered. `session` is the conversation it names, `previous` the answer that it goes on from.
    `nameless`: its calls have no ids, and results come in their order. `custom` are tools that take
    one text, by name.
    """

    model: str
    turns: tuple[Turn, ...]
    instructions: str = ""
    tools: tuple[ToolDeclaration, ...] = ()
    custom: frozenset[str] = frozenset()
    options: CallOptions = field(default_factory=CallOptions)
    output: JsonObject | None = None
    stream: bool = False
    usage_wanted: bool = False
    reasoning_wanted: bool = True
    session: str = ""
    previous: str = ""
    nameless: bool = False


@dataclass(frozen=True, slots=True)
class AnswerHead(Value):
    """What is known of an answer before it comes."""

    id: str
    created: int
    model: str


@dataclass(frozen=True, slots=True)
class ServedAnswer(Value):
    """One answer. `steps` are the words between which tools were used."""

    head: AnswerHead
    steps: tuple[str, ...]
    reasoning: str = ""
    calls: tuple[Action, ...] = ()
    usage: Usage = NO_USAGE
    finish: Finish = "stop"

    @property
    def text(self) -> str:
        return "\n\n".join(self.steps)


def answer_of(head: AnswerHead, result: TurnResult) -> ServedAnswer:
    """What the client sees of a turn: all of its words, and the calls that are left to it."""
    steps = [step.reply.text for step in result.steps if step.reply.text]
    if result.stop == "handoff" and result.text not in steps:
        steps.append(result.text)
    reasoning = [step.reply.reasoning for step in result.steps if step.reply.reasoning]
    return ServedAnswer(
        head,
        tuple(steps),
        "\n\n".join(reasoning),
        result.calls,
        usage_of(result),
        _finish(result),
    )


def usage_of(result: TurnResult) -> Usage:
    """As reported; where nobody reported anything, as it was counted here."""
    if result.reply.usage is not None:
        return result.reply.usage
    planned = [call.planned_usage for call in result.model_calls]
    said = EstimatingCounter().count("".join(call.reply.text for call in result.model_calls))
    return Usage(sum(one.input for one in planned if one is not None), said.tokens)


def _finish(result: TurnResult) -> Finish:
    if result.calls:
        return "calls"
    if result.reply.stop == "length" or result.stop in _CUT:
        return "length"
    return "filter" if result.reply.stop == "filtered" else "stop"
