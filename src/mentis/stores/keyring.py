"""Secrets from the environment, and from the system's keyring where the package is installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import cast

from mentis.errors import StoreError

from .environment import EnvironmentSecrets

SERVICE = "mentis"
Lookup = Callable[[str, str], "str | None"]


class SystemSecrets:
    """The environment first. The keyring is asked only for what is missing there."""

    def __init__(self, environ: Mapping[str, str], lookup: Lookup | None = None) -> None:
        self._environ = EnvironmentSecrets(environ)
        self._lookup = lookup

    def get(self, name: str) -> str | None:
        return self._environ.get(name) or self._from_keyring(name)

    def _from_keyring(self, name: str) -> str | None:
        try:
            lookup = self._lookup or cast("Lookup", import_module("keyring").get_password)
        except ImportError:
            return None  # it is optional, and the error about a missing key says what to do
        try:
            return lookup(SERVICE, name) or None
        except Exception as error:  # every backend of it has errors of its own
            raise StoreError(
                f"the keyring could not be asked for {name}: {error}",
                hint=f"unlock it, or export {name}=...",
            ) from error
