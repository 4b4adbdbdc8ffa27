"""Guards the constitution: blocks above every other rule are changed only on purpose."""

from __future__ import annotations

from mentis.errors import LibraryError
from mentis.values.json import JsonObject
from mentis.values.trust import Trust

from .block_layer import BlockLayer, effective, fields_of
from .layer import Layer
from .overlay import digest_of


def needs_force(
    block_id: str, old: BlockLayer | None, new: BlockLayer | None, shipped: Layer
) -> bool:
    """Whether a change touches the constitution. Going back towards what is shipped never does."""
    states = (
        shipped.prompts.get(block_id, {}),
        *(_meta(block_id, each, shipped) for each in (old, new)),
    )
    if not any(meta.get("trust") == Trust.CONSTITUTION for meta in states):
        return False
    before = {path: digest_of(value) for path, value in fields_of(old).items()}
    after = {path: digest_of(value) for path, value in fields_of(new).items()}
    if block_id in shipped.prompts:
        return not after.items() <= before.items()
    return before != after


def require_force(block_id: str, *, force: bool) -> None:
    if not force:
        raise LibraryError(
            f"{block_id!r} is part of the constitution, or would be",
            hint="repeat it with force if you mean it; the history will say so",
            block=block_id,
            needs="force",
        )


def _meta(block_id: str, layer: BlockLayer | None, shipped: Layer) -> JsonObject:
    return effective(block_id, layer, shipped)[0]
