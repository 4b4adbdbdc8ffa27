"""Which blocks each builder takes, before the conditions of the blocks themselves are asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from mentis.values.block import Category, Mode, Position, Target
from mentis.values.keywords import LoreRules
from mentis.values.value import LATE, Value

from .placeholders import Policy


@dataclass(frozen=True, slots=True)
class Policies(Value):
    """What stands where a key has no value, by where the block is going; how lore is told; how much
    of the conversation. `history_tokens` are the most that is told of it, in steps; 0 is as much as
    has room. None is as much as has room in each prompt anew, as an older Mentis told it.
    """

    system_prompt: Policy = "keep"
    message: Policy = "keep"
    prefill: Policy = "keep"
    lore: LoreRules = field(default=LoreRules(), metadata=LATE)
    history_tokens: int | None = field(default=None, metadata=LATE)

    def of(self, target: Target) -> Policy:
        match target:
            case "system_prompt":
                return self.system_prompt
            case "message":
                return self.message
            case "prefill":
                return self.prefill


KEEP = Policies()


@dataclass(frozen=True, slots=True, eq=False)
class Purpose(Value):
    """What is empty is not asked for. `unasked` categories are told only when named.

    `worded` says that a block without text for the variant is of no use. Purposes are the
    constants below, so they are told apart as objects.
    """

    name: str
    target: Target | None = None
    positions: tuple[Position, ...] = ()
    not_position: Position | None = None
    type: Literal["text", "multi_turn"] | None = "text"
    category: Category | None = None
    unasked: tuple[Category, ...] = ()
    never: tuple[Category, ...] = ()
    worded: bool = True


# Both the system prompt and what is appended to it: what a whole request begins with.
INSTRUCTION = Purpose(
    "the system prompt", "system_prompt", unasked=("summary", "spec_autofill", "cortex")
)
SYSTEM = Purpose(
    "the system prompt",
    "system_prompt",
    not_position="system_prompt_append",
    unasked=("summary", "spec_autofill", "cortex"),
)
APPEND = Purpose(
    "the end of the system prompt", "system_prompt", positions=("system_prompt_append",)
)
PREFILL = Purpose("the prefill", "prefill", unasked=("summary", "spec_autofill"))
FIRST_ASSISTANT = Purpose("the first answer", "message", positions=("first_assistant",))
INJECTIONS = Purpose("injected dialogue", type="multi_turn", category="dialog_injection")
# One block by its id, wherever it would go.
ALONE = Purpose("a prompt of its own")
ALONE_MESSAGES = Purpose("messages of their own", type="multi_turn")
# The steps of a conversation: where things stand, not what they say.
MESSAGE_STEP = Purpose(
    "the conversation",
    "message",
    positions=("first_assistant", "history"),
    type=None,
    never=("afterthought", "utility", "summary"),
    worded=False,
)
PREFILL_STEP = Purpose("the conversation", "prefill", type=None, never=("summary",), worded=False)


@dataclass(frozen=True, slots=True)
class Occasion(Value):
    """What a prompt is wanted for."""

    variant: str
    language: str
    mode: Mode = "chat"
    category: Category | None = None
    purpose: Purpose = INSTRUCTION
    policies: Policies = KEEP
