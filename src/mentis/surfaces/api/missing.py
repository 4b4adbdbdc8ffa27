"""Which status an error has where it is about the request, and not about the home."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from mentis.errors import (
    BadInput,
    LibraryError,
    MentisError,
    OutsideHome,
    PersonaError,
    SettingsError,
    UsageError,
)
from mentis.web.problems import with_status

_NAMING = (BadInput, LibraryError, OutsideHome, PersonaError, UsageError)


@contextmanager
def is_there(kinds: tuple[type[MentisError], ...] = _NAMING) -> Generator[None]:
    """Look something up by the name that the path has."""
    try:
        yield
    except kinds as error:
        raise with_status(error, 404) from error


@contextmanager
def fits() -> Generator[None]:
    """Put something into the settings, or look for it there, that the client named."""
    try:
        yield
    except SettingsError as error:
        raise with_status(error, 422) from error
