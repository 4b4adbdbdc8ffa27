"""The form of the final answer: as the schema of the words where a format has a place for it, else
as a tool that gives the answer.

What a provider cannot be held to is a loss here, and is still checked when the answer is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mentis.facts.ability import Abilities
from mentis.values.output import OUTPUT_TOOL, OutputSchema
from mentis.values.rendering import Loss
from mentis.values.request import PromptRequest
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

from .bound import bound_output
from .memo import remember
from .schemas import Dialect, lower_schema
from .strict import enforce_schemas


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """How the answer is held to its form: by `schema`, for its words, or by a tool of the request.

    `strict`: the provider enforces the schema.
    """

    request: PromptRequest
    schema: Mapping[str, object] | None = None
    strict: bool = False
    losses: tuple[Loss, ...] = ()

    @property
    def name(self) -> str:
        return "" if self.request.output is None else self.request.output.name


def answer_form(request: PromptRequest, able: Abilities, dialect: Dialect) -> AnswerForm:
    """The request itself where no form is asked for; with one more tool where words cannot have
    a schema, or not beside the tools there are, or not this one.
    """
    output = request.output
    if output is None:
        return AnswerForm(request)
    alone = not request.tool_declarations and able.structured_output == "alone"
    if alone or able.structured_output == "with_tools":
        key = ("answer", able.bound_answers, dialect)
        made = remember(key, (output,), lambda: _native(output, able, dialect))
        if made.schema is not None:
            return replace(made, request=request)
    return AnswerForm(with_output_tool(request))


def with_output_tool(request: PromptRequest) -> PromptRequest:
    """With the tool that gives the answer; the same where no form is wanted."""
    output = request.output
    if output is None:
        return request
    names, name = {tool.name for tool in request.tool_declarations}, OUTPUT_TOOL
    while name in names:
        name += "_"
    tool = remember(("output-tool", name), (output,), lambda: _tool(output, name))
    return replace(request, tool_declarations=(*request.tool_declarations, tool))


def output_tool_of(request: PromptRequest) -> str:
    """The name of the tool that gives the answer; empty where there is none."""
    if request.output is None or not request.tool_declarations:
        return ""
    last = request.tool_declarations[-1]
    return last.name if last.parameters is request.output.schema else ""


def _tool(output: OutputSchema, name: str) -> ToolDeclaration:
    told = output.schema.get("description")
    text = told if isinstance(told, str) else ""
    return ToolDeclaration(name, text, output.schema, trust=Trust.OWNER, strict=True)


def _native(output: OutputSchema, able: Abilities, dialect: Dialect) -> AnswerForm:
    """Without a schema where the provider would refuse it."""
    tool, nothing = _tool(output, output.name), PromptRequest()
    if able.bound_answers:
        bound = bound_output(tool)
        return AnswerForm(nothing, bound.schema, strict=True, losses=bound.losses)
    lowered = lower_schema(tool, dialect)
    enforced = enforce_schemas([(tool, lowered)], dialect, able=True)
    schema, losses = enforced.schemas.get(tool.name), (*lowered.losses, *enforced.losses)
    if schema is None and dialect == "anthropic":
        return AnswerForm(nothing)
    if schema is None:
        return AnswerForm(nothing, lowered.schema, losses=losses)
    return AnswerForm(nothing, schema, strict=True, losses=losses)
