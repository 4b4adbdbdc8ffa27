"""One unit of prompt content in the library, with the conditions under which it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .stability import Stability
from .trust import Trust
from .value import Value

Category: TypeAlias = Literal[
    "system",
    "persona",
    "context",
    "prefill",
    "dialog_injection",
    "afterthought",
    "summary",
    "spec_autofill",
    "utility",
    "custom",
    "cortex",
]
Target: TypeAlias = Literal["system_prompt", "message", "prefill"]
Position: TypeAlias = Literal[
    "system_prompt",
    "system_prompt_append",
    "first_assistant",
    "consent_dialog",
    "user_message",
    "prefill",
    "history",
]
Mode: TypeAlias = Literal["chat", "beat", "delivery", "live"]


@dataclass(frozen=True, slots=True)
class Message(Value):
    """One message of a multi-turn block."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Variant(Value):
    """The wording of a block: a text, or the messages of a multi-turn block."""

    content: str = ""
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Block(Value):
    """Content and conditions of one block, as merged from the shipped and the owner's layer.

    Where room is short: a `required` block is never cut, and blocks that name each other in
    `keep_with` stay or go together.
    """

    id: str
    name: str
    order: float
    target: Target
    position: Position
    variants: Mapping[str, Variant]
    type: Literal["text", "multi_turn"] = "text"
    category: Category = "custom"
    enabled: bool = True
    description: str = ""
    tags: tuple[str, ...] = ()
    variant_condition: str | None = None
    requires_any: tuple[str, ...] = ()
    requires_all: tuple[str, ...] = ()
    requires_none: tuple[str, ...] = ()
    modes: tuple[Mode, ...] = ()
    group: str | None = None
    stability: Stability | None = None
    trust: Trust = Trust.OWNER
    priority: int = 0
    max_tokens: int | None = None
    required: bool = False
    keep_with: str | None = None
    origin: Literal["shipped", "owner"] = "shipped"
    file: str = ""
    extra: Mapping[str, object] = field(default_factory=dict[str, object])


def variant_name(block: Block, variant: str, language: str) -> str | None:
    """Which of a block's wordings serves a variant and a language."""
    for name in (f"{variant}@{language}", variant, f"default@{language}", "default"):
        if name in block.variants:
            return name
    return None


def pick_variant(block: Block, variant: str, language: str) -> Variant | None:
    """The wording for a variant and a language; an entry that is there but empty blanks it."""
    name = variant_name(block, variant, language)
    return None if name is None else block.variants[name]
