"""The typed pieces of a turn. Each carries `kind`, its tag in the JSON form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .fence import Fence
from .json import JsonObject
from .trust import Trust
from .value import LATE, Value


@dataclass(frozen=True, slots=True)
class ProviderState(Value):
    """Opaque state (signature, encrypted reasoning, item id) that only its issuer understands."""

    provider: str
    model: str
    data: JsonObject


@dataclass(frozen=True, slots=True)
class TextPart(Value):
    text: str
    state: ProviderState | None = None
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class MediaPart(Value):
    """An image, a sound, a film or a document, by bytes, path or address: one of them.

    `metadata` is what is known of it (`width`, `height`, `seconds`, `pages`, `bytes`). There is
    `state` only of what a model made.
    """

    kind: Literal["image", "audio", "video", "document"]
    mime: str
    data: bytes | None = None
    path: str = ""
    url: str = ""
    name: str = ""
    extracted: str = ""
    metadata: JsonObject = field(default_factory=dict[str, object])
    state: ProviderState | None = field(default=None, metadata=LATE)


@dataclass(frozen=True, slots=True)
class ToolCallPart(Value):
    """`raw` is the text of arguments that could not be read; there are none then."""

    id: str
    name: str
    arguments: JsonObject
    state: ProviderState | None = None
    kind: Literal["tool_call"] = "tool_call"
    raw: str = field(default="", metadata=LATE)


# "": nobody had to look; "released": it was dropped, and the owner lets it be told.
Verdict: TypeAlias = Literal["", "clean", "suspicious", "dropped", "released"]


@dataclass(frozen=True, slots=True)
class ToolResultPart(Value):
    """Result of the call `call_id`, also as a caller brings it: `agent.chat(results=[...])`.

    `trust` says who vouches for the text, `verdict` what screening said of it. A `fence` is set
    where nobody vouches, for as long as it is told: a conversation keeps none. `media`: so many of
    the media parts right after it came with it.
    """

    call_id: str
    name: str
    text: str
    failed: bool = False
    kind: Literal["tool_result"] = "tool_result"
    trust: Trust = field(default=Trust.UNTRUSTED, metadata=LATE)
    fence: Fence | None = field(default=None, metadata=LATE)
    verdict: Verdict = field(default="", metadata=LATE)
    media: int = field(default=0, metadata=LATE)


@dataclass(frozen=True, slots=True)
class ReasoningPart(Value):
    text: str
    state: ProviderState | None = None
    kind: Literal["reasoning"] = "reasoning"


Part: TypeAlias = TextPart | MediaPart | ToolCallPart | ToolResultPart | ReasoningPart
