"""The same library with other words in one block: nothing is written, and no file is read."""

from __future__ import annotations

import json
from dataclasses import replace

from mentis.errors import BadInput, LibraryError
from mentis.values.block import Block, Variant, variant_name
from mentis.values.digest import digest
from mentis.values.library import Library
from mentis.values.trust import Trust

from .constitution import require_force
from .faults import as_error
from .problems import did_you_mean
from .validate import fleeting


def reword_block(
    library: Library,
    block_id: str,
    text: str,
    *,
    variant: str,
    language: str,
    force: bool = False,
) -> Library:
    """Only the wording that serves this variant and language is changed; checked like an edit.

    The revision is a new one, made of the old one and the change.
    """
    block = _text_block(library, block_id, f"that turn had no block {block_id!r}")
    if block.trust is Trust.CONSTITUTION:
        require_force(block_id, force=force)
    name = variant_name(block, variant, language)
    if name is None:
        raise LibraryError(
            f"block {block_id!r} has no wording for {variant}@{language}",
            hint=f"it has {', '.join(sorted(block.variants))}",
            block=block_id,
        )
    return _with_wording(library, block, name, text)


def try_wording(library: Library, block_id: str, name: str, text: str) -> Library:
    """With one wording of a block as if its owner had saved it: theirs is told before any that is
    shipped. Checked like an edit, and written nowhere.
    """
    block = _text_block(library, block_id, f"there is no block {block_id!r}")
    if block.origin != "owner" and name not in block.owned:
        owned = replace(block, owned=(*block.owned, name))
        blocks = tuple(owned if one is block else one for one in library.blocks)
        library, block = replace(library, blocks=blocks), owned
    return _with_wording(library, block, name, text)


def _with_wording(library: Library, block: Block, name: str, text: str) -> Library:
    changed = replace(block, variants={**block.variants, name: Variant(_checked(block.id, text))})
    if faults := fleeting(changed, library.placeholders):
        raise as_error(faults)
    blocks = tuple(changed if one is block else one for one in library.blocks)
    return replace(library, revision=_revision(library, block.id, name, text), blocks=blocks)


def _text_block(library: Library, block_id: str, absent: str) -> Block:
    block = library.block(block_id)
    if block is None:
        known = [one.id for one in library.blocks]
        hint = did_you_mean(block_id, known) or "`mentis prompts list` shows those of now"
        raise LibraryError(absent, hint=hint, block=block_id)
    if block.type != "text":
        raise LibraryError(
            f"block {block_id!r} holds messages, and only a text can be put in its place",
            hint="choose a block of type `text`",
            block=block_id,
        )
    return block


def _checked(block_id: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = f"the text for block {block_id!r} holds half a surrogate pair"
        raise BadInput(message, hint="save it as UTF-8") from error
    return text


def _revision(library: Library, block_id: str, variant: str, text: str) -> str:
    return digest(json.dumps([library.revision, block_id, variant, text]).encode())
