"""A request on its way to a wire format: neutral messages of neutral items, already put right.

What every format needs done the same way (pairing, names, media, notices) is done before a draft
exists; what is left to a renderer is how its format writes each item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from mentis.values.json import JsonObject
from mentis.values.part import MediaPart
from mentis.values.rendering import Loss
from mentis.values.span import Span, join_spans
from mentis.values.stability import Stability
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

Speaker: TypeAlias = Literal["user", "assistant", "system", "tool"]
_NO_STATE: JsonObject = {}
BLOCK_END = Span("\n", source="layout", trust=Trust.RUNTIME, reason="end of a system block")
GAP = Span("\n\n", source="layout", trust=Trust.RUNTIME, reason="between texts")


@dataclass(slots=True)
class Text:
    """`state` is the provider's own, and empty unless it goes back to its issuer."""

    spans: list[Span]
    state: JsonObject = field(default_factory=lambda: _NO_STATE)

    @property
    def text(self) -> str:
        spans = self.spans
        return spans[0].text if len(spans) == 1 else join_spans(spans)


@dataclass(slots=True)
class Thought:
    text: str
    state: JsonObject


@dataclass(slots=True)
class Call:
    """`arguments` are in `json` once more, as the text that some formats want."""

    id: str
    name: str
    arguments: JsonObject
    json: str
    state: JsonObject = field(default_factory=lambda: _NO_STATE)


@dataclass(slots=True)
class Result:
    id: str
    name: str
    span: Span
    failed: bool = False


@dataclass(slots=True)
class Media:
    """A part the model can take as it is; `mime` is what the bytes really are."""

    part: MediaPart
    mime: str
    base64: str = ""

    @property
    def data_url(self) -> str:
        return f"data:{self.mime};base64,{self.base64}"


Item: TypeAlias = Text | Thought | Call | Result | Media


@dataclass(slots=True)
class Message:
    """`role` is `tool` for a message that holds results and nothing else."""

    role: Speaker
    items: list[Item]

    @property
    def texts(self) -> list[Text]:
        return [item for item in self.items if type(item) is Text]


@dataclass(slots=True)
class Region:
    """Part of the system text that changes together; a cache boundary may follow it.

    `goes_on`: it belongs to the same text as the region before it, which has its own spacing.
    """

    stability: Stability
    spans: list[Span]
    goes_on: bool = False


@dataclass(slots=True)
class Draft:
    """`head` is settled history, `tail` the current turn and what it is joined to.

    `names` leads from our own names to those on the wire, for the ones that differ.
    """

    regions: list[Region]
    tools: tuple[ToolDeclaration, ...]
    head: Sequence[Message]
    tail: list[Message]
    losses: list[Loss]
    names: Mapping[str, str]
    ids: Mapping[str, str]
    told: object  # what the head was made from: the same one, the same head

    def wire_name(self, name: str) -> str:
        return self.names.get(name, name)


def spaced(texts: Sequence[Text]) -> list[Span]:
    """The spans of several texts as one row, with a gap between each two."""
    if len(texts) == 1:
        return texts[0].spans
    row: list[Span] = []
    for text in texts:
        if row:
            row.append(GAP)
        row += text.spans
    return row
