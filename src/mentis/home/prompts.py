"""The prompts of a home."""

from __future__ import annotations

from mentis.library.integrity import validate_integrity
from mentis.library.shelf import Shelf
from mentis.settings.settings import Settings
from mentis.stores.files.home import Home


def open_shelf(home: Home, settings: Settings) -> Shelf:
    """The prompts of a home. Files that are broken are kept aside, once, and named."""
    shelf = Shelf(home.prompts, max_file_bytes=settings.model.limits.prompt_file_bytes)
    if shelf.current().problems:
        validate_integrity(shelf)
    return shelf
