"""One unit of prompt content in the library, with the conditions under which it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast, get_args

from mentis.errors import BadInput

from .keywords import Keywords
from .stability import Stability
from .trust import Trust
from .value import LATE, Value

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
OldMode: TypeAlias = Literal["grillo"]
_RENAMED: Mapping[str, Mode] = {"grillo": "beat"}


def mode_named(name: str) -> Mode:
    """The mode of that name, also of the one it had in older prompt sets; BadInput for no mode."""
    if name in _RENAMED:
        return _RENAMED[name]
    if name not in get_args(Mode):
        raise BadInput(
            f"there is no mode {name!r}",
            hint=f"modes are {', '.join(get_args(Mode))}; `grillo` is the old name of `beat`",
            mode=name,
        )
    return cast("Mode", name)


def current_mode_name(name: object) -> object:
    """The name that a mode has now, for a reader that checks names itself."""
    return _RENAMED.get(name, name) if isinstance(name, str) else name


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
    `keep_with` stay or go together. `owned` names the wordings of a shipped block that its owner
    wrote: they are told before the shipped ones. With `personas`, it is told to these alone;
    with `keywords`, only where what was said brings it up.
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
    owned: tuple[str, ...] = field(default=(), metadata=LATE)
    personas: tuple[str, ...] = field(default=(), metadata=LATE)
    keywords: Keywords | None = field(default=None, metadata=LATE)


def wording_names(variant: str, language: str) -> tuple[str, ...]:
    """The wordings that may serve a variant and a language, the best first."""
    return (f"{variant}@{language}", variant, f"default@{language}", "default")


def variant_name(block: Block, variant: str, language: str) -> str | None:
    """Which of a block's wordings serves a variant and a language: the owner's before shipped."""
    names = wording_names(variant, language)
    own = next((name for name in names if name in block.owned), None) if block.owned else None
    return own or next((name for name in names if name in block.variants), None)


def passed_over(block: Block, variant: str, language: str) -> str | None:
    """The shipped wording made for this variant, where one of the owner's for any is told."""
    if variant_name(block, variant, language) not in {"default", f"default@{language}"}:
        return None
    names = (f"{variant}@{language}", variant) if variant != "default" and block.owned else ()
    return next((name for name in names if name in block.variants), None)


def pick_variant(block: Block, variant: str, language: str) -> Variant | None:
    """The wording for a variant and a language; an entry that is there but empty blanks it."""
    name = variant_name(block, variant, language)
    return None if name is None else block.variants[name]
