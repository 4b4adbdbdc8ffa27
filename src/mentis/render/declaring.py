"""Tools as they are declared to a model: name, description and schema as a format takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mentis.errors import RenderError
from mentis.values.json import JsonObject
from mentis.values.rendering import Loss
from mentis.values.span import Span
from mentis.values.tool import ToolDeclaration

from .draft import PayloadDraft
from .schemas import Dialect, LoweredSchema, lower_schemas
from .strict import enforce_schemas


@dataclass(slots=True)
class DeclaredTool:
    """`name` is the one on the wire, `text` the description."""

    tool: ToolDeclaration
    name: str
    text: str
    schema: JsonObject
    strict: bool

    @property
    def spans(self) -> Sequence[Span]:
        return (Span(self.text, source=f"tool {self.tool.name}", trust=self.tool.trust),)


def declarations(draft: PayloadDraft, dialect: Dialect, losses: list[Loss]) -> list[DeclaredTool]:
    """In their order; what could not be said of them is added to the losses."""
    _check_number(draft)
    lowered = list(zip(draft.tools, lower_schemas(draft.tools, dialect), strict=True))
    strict = enforce_schemas(lowered, dialect, able=draft.able.strict_tools)
    losses += strict.losses
    names, schemas = draft.names, strict.schemas
    declared: list[DeclaredTool] = []
    for tool, low in lowered:
        own, said, schema = tool.name, tool.description, low.schema
        if low.losses:
            losses += low.losses
        if low.beside or not said.isascii():
            said = _description(draft, tool, low)
        declared.append(
            DeclaredTool(tool, names.get(own, own), said, schemas.get(own, schema), own in schemas)
        )
    return declared


def _check_number(draft: PayloadDraft) -> None:
    most, given = draft.able.tools, len(draft.tools)
    if most and given > most:
        raise RenderError(
            f"the request declares {given} tools, and this model takes {most}",
            hint="declare fewer, or set native_tools = false in the route's facts",
            tools=given,
        )


def _description(draft: PayloadDraft, tool: ToolDeclaration, low: LoweredSchema) -> str:
    text = tool.description
    if low.beside:
        also = draft.notices.say("notice_also_match", schema=low.beside)
        text = f"{text}\n{also}".strip()
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RenderError(
            f"the description of tool {tool.name!r} holds half a character",
            hint="decode the text properly where it comes in",
            tool=tool.name,
        ) from error
    return text
