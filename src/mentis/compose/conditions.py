"""Why a block stays out, in words a person can act on. None means nothing keeps it out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from mentis.values.block import Block, Category, Mode, variant_name
from mentis.values.value import Value

from .placeholders import Values

# Told only when a builder asks for that category by name.
ON_DEMAND: tuple[Category, ...] = ("summary", "spec_autofill", "cortex")


@dataclass(frozen=True, slots=True)
class Occasion(Value):
    """What a system prompt is wanted for."""

    variant: str
    language: str
    mode: Mode = "chat"
    category: Category | None = None


_Check: TypeAlias = Callable[[Block, Occasion, Values], str | None]


def why_out(block: Block, occasion: Occasion, values: Values) -> str | None:
    """The first condition that does not hold, in the order of `_CHECKS`."""
    for check in _CHECKS:
        if reason := check(block, occasion, values):
            return reason
    return None


def why_in(block: Block, values: Values) -> str:
    met = [key for key in (*block.requires_all, *block.requires_any) if values.filled(key)]
    return f"{', '.join(met)} given" if met else "always"


def required_keys(block: Block) -> tuple[str, ...]:
    return (*block.requires_any, *block.requires_all, *block.requires_none)


def _enabled(block: Block, _occasion: Occasion, _values: Values) -> str | None:
    return None if block.enabled else "switched off"


def _mode(block: Block, occasion: Occasion, _values: Values) -> str | None:
    if not block.modes or occasion.mode in block.modes:
        return None
    return f"only for mode {_any_of(block.modes)}, this is {occasion.mode}"


def _place(block: Block, _occasion: Occasion, _values: Values) -> str | None:
    if block.target != "system_prompt":
        return f"its target is {block.target}, not the system prompt"
    if block.position not in ("system_prompt", "system_prompt_append"):
        return f"its position is {block.position}, not the system prompt"
    return "holds messages, not text" if block.type == "multi_turn" else None


def _category(block: Block, occasion: Occasion, _values: Values) -> str | None:
    if block.position == "system_prompt_append":
        return None
    if occasion.category is None:
        wanted = block.category not in ON_DEMAND
        return None if wanted else f"category {block.category} is told only when asked for"
    wanted = block.category == occasion.category
    return None if wanted else f"category {block.category}, asked for is {occasion.category}"


def _variant(block: Block, occasion: Occasion, _values: Values) -> str | None:
    if block.variant_condition in (None, occasion.variant):
        return None
    return f"only for variant {block.variant_condition}, this is {occasion.variant}"


def _any(block: Block, _occasion: Occasion, values: Values) -> str | None:
    if not block.requires_any or any(values.filled(key) for key in block.requires_any):
        return None
    return f"needs {_any_of(block.requires_any)}; nothing given"


def _all(block: Block, _occasion: Occasion, values: Values) -> str | None:
    missing = [key for key in block.requires_all if not values.filled(key)]
    return f"needs {', '.join(missing)}; not given" if missing else None


def _none(block: Block, _occasion: Occasion, values: Values) -> str | None:
    present = [key for key in block.requires_none if values.filled(key)]
    return f"gives way to {', '.join(present)}" if present else None


def _wording(block: Block, occasion: Occasion, _values: Values) -> str | None:
    name = variant_name(block, occasion.variant, occasion.language)
    if name is None:
        return f"has no wording for variant {occasion.variant}"
    blank = not block.variants[name].content.strip()
    return f"left out on purpose in variant {name}" if blank else None


def _any_of(words: tuple[str, ...]) -> str:
    return " or ".join(words)


_CHECKS: tuple[_Check, ...] = (
    _enabled,
    _place,
    _category,
    _mode,
    _variant,
    _any,
    _all,
    _none,
    _wording,
)
