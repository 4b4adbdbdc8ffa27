"""The secret of a home."""

from __future__ import annotations

from mentis.stores.files.home import Home
from mentis.stores.files.secret import make_secret, read_secret
from mentis.values.trace import Degradation

from .parts import Parts
from .system import RandomIds


def open_secret(home: Home, parts: Parts) -> tuple[bytes, tuple[Degradation, ...]]:
    """The home's secret; a home that is older than secrets gets one, and it is noted."""
    secret = parts.secret or read_secret(home)
    if secret is not None:
        return secret, ()
    # Never from the ids that were handed in: those may count, and so could be guessed.
    secret = make_secret(home, RandomIds().salt)
    note = f"there was none, so {home.secret.name} was made; marks around outside text are new"
    return secret, (Degradation("home secret", note),)
