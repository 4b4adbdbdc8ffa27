"""What came back from a model, brought to one form, and the pieces of it as they arrive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .action import Action
from .part import Part, ProviderState
from .value import Value

# `interrupted`: we stopped reading. `other`: the provider gave a reason we do not know (see raw).
Stop: TypeAlias = Literal[
    "end", "length", "tool_use", "filtered", "interrupted", "cut_off", "error", "other"
]


@dataclass(frozen=True, slots=True)
class Usage(Value):
    """Tokens as the provider reported them; `input` includes what was read from the cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class ReplyProblem(Value):
    """Something in the answer that was not as it should be, with the raw text of it.

    `call_id` and `action` name the call it is about, where it is about one.
    """

    code: str
    message: str
    raw: str = ""
    call_id: str = ""
    action: str = ""


@dataclass(frozen=True, slots=True)
class Reply(Value):
    """`parts` are what a next request replays, in their order, each with its provider's state.

    `errors` could not be used; `notes` could, but not as it came: each says what was done to it.
    """

    text: str
    stop: Stop
    actions: tuple[Action, ...] = ()
    errors: tuple[ReplyProblem, ...] = ()
    usage: Usage | None = None
    reasoning: str = ""
    provider_state: ProviderState | None = None
    model: str = ""
    raw: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    notes: tuple[ReplyProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class TextDelta(Value):
    text: str
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class ReasoningDelta(Value):
    text: str
    kind: Literal["reasoning"] = "reasoning"


@dataclass(frozen=True, slots=True)
class CallDelta(Value):
    """A piece of a tool call; the arguments are not complete before the reply is."""

    index: int
    name: str = ""
    arguments: str = ""
    kind: Literal["call"] = "call"


Delta: TypeAlias = TextDelta | ReasoningDelta | CallDelta
