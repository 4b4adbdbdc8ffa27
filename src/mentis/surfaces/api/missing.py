"""What a path names and is not there has the status 404, whatever error says so."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from mentis.errors import BadInput, LibraryError, MentisError, PersonaError, UsageError
from mentis.web.problems import with_status

_NAMING = (BadInput, LibraryError, PersonaError, UsageError)


@contextmanager
def is_there(kinds: tuple[type[MentisError], ...] = _NAMING) -> Generator[None]:
    """Look something up by the name that the path has."""
    try:
        yield
    except kinds as error:
        raise with_status(error, 404) from error
