"""Why a block stays out, in words a person can act on. None means nothing keeps it out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from mentis.values.block import Block, variant_name

from .placeholders import Values
from .purposes import Occasion, Purpose

_Check: TypeAlias = Callable[[Block, Occasion, Values], str | None]


def why_out(block: Block, occasion: Occasion, values: Values) -> str | None:
    """The first condition that does not hold, in the order of `_CHECKS`."""
    for check in _CHECKS:
        if reason := check(block, occasion, values):
            return reason
    return None


def concerns(purpose: Purpose, block: Block) -> bool:
    """Whether a block is one of those a builder chooses among at all."""
    if block.keywords is not None:
        return False
    if purpose.target not in (None, block.target) or purpose.category not in (None, block.category):
        return False
    return _stands_there(purpose, block)


def elsewhere(block: Block, occasion: Occasion, values: Values) -> bool:
    """Whether a block belongs to another prompt, whatever its other conditions say."""
    for check in _PLACES:  # noqa: SIM110  # asked of every block that stays out
        if check(block, occasion, values):
            return True
    return False


def lore_out(block: Block, occasion: Occasion, values: Values) -> str | None:
    """Why a block that what was said brings up is not told all the same."""
    found = (check(block, occasion, values) for check in _LORE_CHECKS)
    return next((reason for reason in found if reason), None)


def why_in(block: Block, values: Values) -> str:
    met = [key for key in (*block.requires_all, *block.requires_any) if values.has_text(key)]
    return f"{', '.join(met)} given" if met else "always"


def required_keys(block: Block) -> tuple[str, ...]:
    return (*block.requires_any, *block.requires_all, *block.requires_none)


def _enabled(block: Block, _occasion: Occasion, _values: Values) -> str | None:
    return None if block.enabled else "switched off"


def _mode(block: Block, occasion: Occasion, _values: Values) -> str | None:
    if not block.modes or occasion.mode in block.modes:
        return None
    return f"only for mode {_any_of(block.modes)}, this is {occasion.mode}"


def _target(block: Block, occasion: Occasion, _values: Values) -> str | None:
    purpose = occasion.purpose
    if purpose.target in (None, block.target):
        return None
    return f"its target is {block.target}, not {purpose.name}"


def _position(block: Block, occasion: Occasion, _values: Values) -> str | None:
    if _stands_there(occasion.purpose, block):
        return None
    return f"its position is {block.position}, not {occasion.purpose.name}"


def _category(block: Block, occasion: Occasion, _values: Values) -> str | None:
    purpose, own = occasion.purpose, block.category
    wanted = occasion.category or purpose.category
    if block.position == "system_prompt_append" and purpose.target == "system_prompt":
        return None
    if own in purpose.never or (wanted is None and own in purpose.unasked):
        return f"category {own} is told only when asked for"
    return None if wanted in (None, own) else f"category {own}, asked for is {wanted}"


def _type(block: Block, occasion: Occasion, _values: Values) -> str | None:
    if occasion.purpose.type in (None, block.type):
        return None
    return "holds messages, not text" if block.type == "multi_turn" else "holds text, not messages"


def _persona(block: Block, _occasion: Occasion, values: Values) -> str | None:
    persona = values.facts.persona.id
    if not block.personas or persona in block.personas:
        return None
    return f"only for persona {_any_of(block.personas)}, this is {persona}"


def _variant(block: Block, occasion: Occasion, _values: Values) -> str | None:
    if block.variant_condition in (None, occasion.variant):
        return None
    return f"only for variant {block.variant_condition}, this is {occasion.variant}"


def _any(block: Block, _occasion: Occasion, values: Values) -> str | None:
    if not block.requires_any or any(values.has_text(key) for key in block.requires_any):
        return None
    return f"needs {_any_of(block.requires_any)}; nothing given"


def _all(block: Block, _occasion: Occasion, values: Values) -> str | None:
    missing = [key for key in block.requires_all if not values.has_text(key)]
    return f"needs {', '.join(missing)}; not given" if missing else None


def _none(block: Block, _occasion: Occasion, values: Values) -> str | None:
    present = [key for key in block.requires_none if values.has_text(key)]
    return f"gives way to {', '.join(present)}" if present else None


def _wording(block: Block, occasion: Occasion, _values: Values) -> str | None:
    if not occasion.purpose.worded:
        return None
    name = variant_name(block, occasion.variant, occasion.language)
    if name is None:
        return f"has no wording for variant {occasion.variant}"
    variant = block.variants[name]
    told = variant.messages if block.type == "multi_turn" else variant.content.strip()
    return None if told else f"left out on purpose in variant {name}"


def _stands_there(purpose: Purpose, block: Block) -> bool:
    if block.position == purpose.not_position:
        return False
    return not purpose.positions or block.position in purpose.positions


def _any_of(words: tuple[str, ...]) -> str:
    return " or ".join(words)


# What decides whether a block belongs to this prompt at all.
_PLACES: tuple[_Check, ...] = (_target, _position, _category, _type, _mode)
_CHECKS: tuple[_Check, ...] = (
    _enabled,
    *_PLACES,
    _persona,
    _variant,
    _any,
    _all,
    _none,
    _wording,
)
_LORE_CHECKS: tuple[_Check, ...] = (
    _enabled,
    _mode,
    _persona,
    _variant,
    _any,
    _all,
    _none,
    _wording,
)
