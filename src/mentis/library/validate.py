"""Makes checked values out of raw entries, or says what is wrong with them.

A fault names its place by the path of keys. Where that is in which file is worked out only when
there is something to report: see `faults.py`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mentis.errors import LibraryError
from mentis.values.block import Block
from mentis.values.json import JsonObject
from mentis.values.placeholder import Placeholder
from mentis.values.stability import Stability

from .build import build_block, build_placeholder
from .overlay import MergedBlock, domain_file
from .problems import hint_for, message_for, real_path
from .search import block_keys

if TYPE_CHECKING:
    from pydantic import ValidationError

    from .formats import BlockEntry, ContentEntry

Path = tuple[str | int, ...]
_KEY = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class EntryFault:
    """What is wrong at `path` of the manifest, the registry or the block's domain file."""

    part: Literal["manifest", "domain", "registry"]
    path: Path
    message: str
    hint: str = ""
    code: str = LibraryError.code


def make_block(merged: MergedBlock, domains: Collection[str] = ()) -> Block | list[EntryFault]:
    """The block, or its faults. `domains` are the domain files there are."""
    from pydantic import ValidationError

    from .formats import BlockEntry, ContentEntry  # loads pydantic

    if not merged.id:
        return [EntryFault("manifest", ("prompts", ""), "a block has no id", "give it a name")]
    try:
        entry = BlockEntry.model_validate(merged.meta)
    except ValidationError as error:
        return _faults(error, "manifest", ("prompts", merged.id))
    if not merged.content:
        return [_without_content(merged, domains)]
    try:
        content = ContentEntry.model_validate(merged.content)
    except ValidationError as error:
        return _faults(error, "domain", (merged.id,))
    return _unworded(merged.id, entry, content) or build_block(
        merged.id, entry, content, origin=merged.origin, owned=merged.owned
    )


def fleeting(block: Block, placeholders: Mapping[str, Placeholder]) -> list[EntryFault]:
    """What in a block that calls itself stable changes every turn."""
    if block.stability is not Stability.STABLE:
        return []
    found = (key for key in block_keys(block) if key in placeholders)
    return [
        EntryFault(
            "manifest",
            ("prompts", block.id, "stability"),
            f"{block.id!r} is declared stable, but {{{{{key}}}}} in it changes every turn",
            f'declare "stability": "turn" for {block.id!r}, or take {{{{{key}}}}} out of it',
            "prompt-turn-in-stable",
        )
        for key in found
        if placeholders[key].stability is Stability.TURN
    ]


def make_placeholder(key: str, raw: JsonObject) -> Placeholder | list[EntryFault]:
    from pydantic import ValidationError

    from .formats import PlaceholderEntry  # loads pydantic

    place = ("placeholders", key)
    if not _KEY.fullmatch(key):
        message = f"{'.'.join(place)} has a form that is not allowed: {key!r}"
        return [EntryFault("registry", place, message, "use letters, digits and underscores alone")]
    try:
        return build_placeholder(key, PlaceholderEntry.model_validate(raw))
    except ValidationError as error:
        return _faults(error, "registry", place)


def _faults(
    error: ValidationError, part: Literal["manifest", "domain", "registry"], place: Path
) -> list[EntryFault]:
    found: dict[Path, EntryFault] = {}  # a union says the same of each of its members
    for details in error.errors(include_url=False):
        path = (*place, *real_path(details))
        found.setdefault(
            path, EntryFault(part, path, message_for(details, path), hint_for(details, ()))
        )
    return list(found.values())


def _without_content(merged: MergedBlock, domains: Collection[str]) -> EntryFault:
    file, path = domain_file(merged.meta), ("prompts", merged.id, "domain_file")
    if file in domains:
        hint = f"add {merged.id!r} to that file, or name the file that holds it"
        return EntryFault("manifest", path, f"{file} holds no block {merged.id!r}", hint)
    hint = "put the file back, or correct the name"
    return EntryFault("manifest", path, f"there is no file {file}", hint)


def _unworded(block_id: str, entry: BlockEntry, content: ContentEntry) -> list[EntryFault]:
    text = entry.type == "text"
    faults: list[EntryFault] = []
    for name, variant in content.variants.items():
        if (variant.content if text else variant.messages) is None:
            wanted = "content" if text else "messages"
            message = f"variant {name!r} of {entry.type} block {block_id!r} has no {wanted}"
            hint = f"add {wanted}; an empty one blanks the block"
            faults.append(EntryFault("domain", (block_id, "variants", name), message, hint))
    return faults
