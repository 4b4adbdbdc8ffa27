"""The states of what is edited, and the form in which a revision keeps them.

Things are named by the key of their revisions: `prompt:<id>` or `placeholder:<key>`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TypeAlias, cast

from mentis.codec.forms import from_json, to_json
from mentis.values.json import JsonObject
from mentis.values.value import Value

from .block_layer import BlockLayer, changed_fields, layer_of
from .history import NOTHING
from .layer import Layer

State: TypeAlias = BlockLayer | JsonObject | None
BLOCK, PLACEHOLDER = "prompt:", "placeholder:"


@dataclass(frozen=True, slots=True)
class Edit(Value):
    """One block that changed, or `placeholder:<key>`; `number` is its newest revision."""

    block: str
    number: int
    changed: tuple[str, ...] = ()
    words: str = ""


def key_of(name: str) -> str:
    """The key for a block's id, or for `placeholder:<key>`."""
    return name if name.startswith(PLACEHOLDER) else f"{BLOCK}{name}"


def state_in(key: str, shipped: Layer, owner: Layer) -> State:
    """What the owner's layer says of a thing now."""
    if key.startswith(BLOCK):
        return layer_of(key.removeprefix(BLOCK), shipped, owner)
    return owner.placeholders.get(key.removeprefix(PLACEHOLDER))


def content(state: State) -> str:
    """The form in which a revision keeps a state."""
    if state is None:
        return NOTHING
    if isinstance(state, BlockLayer):
        return to_json(state).decode()
    return json.dumps(state, ensure_ascii=False, separators=(",", ":"))


def parse_state(key: str, text: str) -> State:
    if text == NOTHING:
        return None
    if key.startswith(BLOCK):
        return from_json(BlockLayer, text)
    return cast("JsonObject", json.loads(text))


def changed_paths(old: State, new: State) -> tuple[str, ...]:
    if isinstance(old, BlockLayer) or isinstance(new, BlockLayer):
        return changed_fields(cast("BlockLayer | None", old), cast("BlockLayer | None", new))
    before, after = cast("JsonObject", old or {}), cast("JsonObject", new or {})
    paths = dict.fromkeys((*before, *after))
    return tuple(path for path in paths if before.get(path) != after.get(path))
