"""A model's reply brought to one form, and the pieces of it as they arrive."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .action import Action, OutcomeState
from .part import Part
from .value import LATE, Value

# `interrupted`: we stopped reading. `other`: the provider gave a reason we do not know (see raw).
# `repeated`: nobody answered, and an earlier answer to the same message is given once more.
Stop: TypeAlias = Literal[
    "end", "length", "tool_use", "filtered", "interrupted", "cut_off", "error", "other", "repeated"
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
class CacheDiagnosis(Value):
    """The provider's own comparison of a prompt with an earlier one, for its cache.

    `changed`: the two part, for a `reason` in its words, and so many tokens were `missed`. `same`:
    they do not. `pending`: it was not done yet. `unknown`: it could not be done.
    """

    state: Literal["changed", "same", "pending", "unknown"]
    reason: str = ""
    missed: int = 0


@dataclass(frozen=True, slots=True)
class Reply(Value):
    """One answer of a model, whatever format it came in.

    `parts` are what a next request replays, in their order, each with its provider's state.

    `errors` could not be used; `notes` could, but not as it came: each says what was done to it.
    `diagnosis` is what the provider says of its cache, where it was asked.
    """

    text: str
    stop: Stop
    actions: tuple[Action, ...] = ()
    errors: tuple[ReplyProblem, ...] = ()
    usage: Usage | None = None
    reasoning: str = ""
    model: str = ""
    raw: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    notes: tuple[ReplyProblem, ...] = ()
    diagnosis: CacheDiagnosis | None = field(default=None, metadata=LATE)


@dataclass(frozen=True, slots=True)
class TextDelta(Value):
    """A piece of the answer."""

    text: str
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class ReasoningDelta(Value):
    """A piece of what the model thinks before it answers."""

    text: str
    kind: Literal["reasoning"] = "reasoning"


@dataclass(frozen=True, slots=True)
class CallDelta(Value):
    """A piece of a tool call; the arguments are not complete before the reply is."""

    index: int
    name: str = ""
    arguments: str = ""
    kind: Literal["call"] = "call"


@dataclass(frozen=True, slots=True)
class ResultDelta(Value):
    """A call has come to something: the name of its tool, how it ended, and the first words of it.

    `key` is that of the act, by which an approval names it.
    """

    name: str
    state: OutcomeState
    text: str = ""
    key: str = ""
    kind: Literal["result"] = "result"


@dataclass(frozen=True, slots=True)
class StepDelta(Value):
    """The results are told, and the model is asked again: what follows is its step `number`."""

    number: int
    kind: Literal["step"] = "step"


@dataclass(frozen=True, slots=True)
class OutputDelta(Value):
    """A typed answer as far as it has come. `data` is plain: its last text may be half a one, and
    what has not come is not in it. `output` is made of it as soon as that passes the type, and None
    before; only the result of the turn is checked as a whole. To be sent on, `data` is the one.
    """

    data: object
    output: object = None
    kind: Literal["output"] = "output"


@dataclass(frozen=True, slots=True)
class AgainDelta(Value):
    """Something in the answer so far failed, and the model is asked again: what follows is new.

    `keeps` says that the text so far stands; otherwise what follows takes its place. Nothing in
    `failed`: nobody is asked, but what was told so far turned out to be reasoning.
    """

    failed: tuple[str, ...]
    keeps: bool
    kind: Literal["again"] = "again"


@dataclass(frozen=True, slots=True)
class EndDelta(Value):
    """The answer is over, however it ended: the last piece of every turn, and the only one of it.

    `stop` is `error` when the turn failed, and `chat` raises why. `usage` is that of all its calls.
    """

    stop: Stop
    usage: Usage | None = None
    kind: Literal["end"] = "end"


Delta: TypeAlias = (
    TextDelta
    | ReasoningDelta
    | CallDelta
    | ResultDelta
    | StepDelta
    | OutputDelta
    | AgainDelta
    | EndDelta
)
