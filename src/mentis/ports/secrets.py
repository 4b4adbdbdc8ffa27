"""Where keys come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Secrets(Protocol):
    def get(self, name: str) -> str | None:
        """The secret of that name, or None."""
        ...


class ListedSecrets:
    """Secrets for tests."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._secrets = secrets

    def get(self, name: str) -> str | None:
        return self._secrets.get(name)
