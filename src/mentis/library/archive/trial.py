"""The library that a home would have with another prompt set: nothing is written."""

from __future__ import annotations

from typing import cast

from mentis.errors import LibraryError
from mentis.library.assemble import LoadedLibrary
from mentis.library.block_layer import BlockLayer
from mentis.library.documents import Documents
from mentis.library.layer import make_layer
from mentis.library.load import load_layers
from mentis.library.states import BLOCK, state_in
from mentis.values.library import Library

from .plan import plan_import
from .read import Archive


def library_of_set(loaded: LoadedLibrary, archive: Archive) -> Library:
    """Exactly the blocks of the set are on, as after an import that replaces all others.

    LibraryError names the first block that cannot be taken over.
    """
    plan = plan_import(loaded, archive, "replace", force=True)
    refused = [one for one in plan.problems if one.severity == "error"]
    if refused:
        where = f"{refused[0].location}: " if refused[0].location else ""
        raise LibraryError(f"{where}{refused[0].message}", hint=refused[0].hint)
    documents = Documents(loaded.shipped, loaded.owner)
    for block_id, layer in plan.blocks.items():
        old = cast(
            "BlockLayer | None", state_in(f"{BLOCK}{block_id}", loaded.shipped, loaded.owner)
        )
        documents.put_block(block_id, old, layer)
    for key, entry in plan.placeholders.items():
        documents.put_placeholder(key, entry)
    known = loaded.shipped.placeholders
    owner = make_layer("owner", documents.documents, {}, {}, known_keys=known)
    return load_layers(loaded.shipped, owner).library
