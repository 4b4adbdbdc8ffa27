"""A request on its way to a wire format: neutral messages of neutral items, already put right.

What every format needs done the same way (pairing, names, media, notices) is done before a draft
exists; what is left to a renderer is how its format writes each item.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from mentis.facts.ability import Abilities
from mentis.values.json import JsonObject
from mentis.values.options import CallOptions
from mentis.values.part import MediaPart
from mentis.values.rendering import Loss
from mentis.values.span import Span, join_spans
from mentis.values.stability import Stability
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

from .memo import remember, seen_before
from .notices import Notices
from .wording import in_words

Speaker: TypeAlias = Literal["user", "assistant", "system", "tool"]
_NO_STATE: JsonObject = {}
BLOCK_END = Span("\n", source="layout", trust=Trust.RUNTIME, reason="end of a system block")
_KEPT_BYTES = 1_000_000
# What Gemini itself ran or used, and what came of it: such a part goes back whole.
GEMINI_OWN = (
    *("executableCode", "codeExecutionResult", "toolCall", "toolResponse"),
    *("executable_code", "code_execution_result", "tool_call", "tool_response"),
)
GAP = Span("\n\n", source="layout", trust=Trust.RUNTIME, reason="between texts")


@dataclass(slots=True)
class SourcedText:
    """A text, and its source in words, or the spans it was joined from.

    A span of its own is made once somebody asks where the text came from.
    """

    text: str
    source: str | Sequence[Span]
    trust: Trust = Trust.UNTRUSTED
    stability: Stability = Stability.SESSION

    @property
    def spans(self) -> Sequence[Span]:
        if not isinstance(self.source, str):
            return self.source
        return (Span(self.text, "", "", self.source, self.trust, self.stability),)


@dataclass(slots=True)
class Text(SourcedText):
    """`state` is the provider's own, and empty unless it goes back to its issuer."""

    state: JsonObject = field(default_factory=lambda: _NO_STATE)


@dataclass(slots=True)
class ThoughtItem:
    text: str
    state: JsonObject


@dataclass(slots=True)
class CallItem:
    id: str
    name: str
    arguments: JsonObject
    state: JsonObject
    size: int  # of the arguments, about
    raw: str = ""  # of arguments that are no JSON, where the format takes them so

    @property
    def json(self) -> str:
        """The arguments as the text that some formats want."""
        return self.raw or in_words(self.arguments)

    @property
    def spans(self) -> Sequence[Span]:
        return (Span(self.json, source=f"call of {self.name}", trust=Trust.SELF),)


@dataclass(slots=True)
class Result(SourcedText):
    """`media` are those that the format has a place for in a result."""

    id: str = ""
    name: str = ""
    failed: bool = False
    media: tuple[Media, ...] = ()


@dataclass(slots=True)
class Media:
    """A part the model can take as it is; `mime` is what the bytes really are.

    `state` is the provider's own, of what the model itself made.
    """

    part: MediaPart
    mime: str
    state: JsonObject = field(default_factory=lambda: _NO_STATE)

    @property
    def base64(self) -> str:
        return self._kept("")

    @property
    def data_url(self) -> str:
        return self._kept(f"data:{self.mime};base64,")

    def _kept(self, before: str) -> str:
        """From the second time on, for the steps of a long turn, unless it is large."""
        data = self.part.data or b""
        if len(data) > _KEPT_BYTES or not seen_before("media", (self.part,)):
            return _encoded(before, data)
        return remember(("media", before), (self.part,), lambda: _encoded(before, data))


Item: TypeAlias = Text | ThoughtItem | CallItem | Result | Media


@dataclass(slots=True)
class WireMessage:
    """`role` is `tool` for a message that holds results and nothing else. One that is `lasting`
    was made of one turn alone, and will be the same object in the next payload.
    """

    role: Speaker
    items: list[Item]
    lasting: bool = False

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
class PayloadDraft:
    """`head` is settled history, `tail` the current turn and what it is joined to.

    `names` leads from our own names to those on the wire, for the ones that differ. `continues`:
    the tail goes on after the current turn, and the next step sends all of it again.
    """

    regions: list[Region]
    tools: tuple[ToolDeclaration, ...]
    head: Sequence[WireMessage]
    tail: list[WireMessage]
    losses: list[Loss]
    names: Mapping[str, str]
    ids: Mapping[str, str]
    told: object  # what the head was made from: the same one, the same head
    able: Abilities
    notices: Notices
    options: CallOptions
    weight: int = 0  # characters, about; 0 where nobody asks
    continues: bool = False
    output_tool: str = ""  # the tool that gives the final answer, if one does

    def wire_name(self, name: str) -> str:
        return self.names.get(name, name)


def weight_of(messages: Iterable[WireMessage]) -> int:
    """How many characters of text and data they hold."""
    total = 0
    for message in messages:
        for item in message.items:
            if isinstance(item, SourcedText):
                total += len(item.text)
                if type(item) is Result:
                    total += sum(len(one.part.data or b"") * 4 // 3 for one in item.media)
            elif type(item) is CallItem:
                total += item.size
            elif type(item) is Media:
                total += len(item.part.data or b"") * 4 // 3
            elif type(item) is ThoughtItem:
                held = [part for part in item.state.values() if isinstance(part, str)]
                total += len(item.text) + sum(map(len, held))
    return total


def _encoded(before: str, data: bytes) -> str:
    # Loaded for the first picture; it writes megabytes where the standard library writes kilobytes.
    from pybase64 import b64encode_as_string

    written = b64encode_as_string(data)
    return f"{before}{written}" if before else written


def of(*spans: Span) -> Text:
    return Text(join_spans(spans), spans)


def join_texts(texts: Sequence[Text]) -> Text:
    """Several texts as one, with a gap between each two."""
    if len(texts) == 1:
        return texts[0]
    row: list[Span] = []
    for text in texts:
        if row:
            row.append(GAP)
        row += text.spans
    return of(*row)
