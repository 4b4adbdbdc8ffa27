"""Secrets from environment variables."""

from __future__ import annotations

from collections.abc import Mapping


class EnvironmentSecrets:
    """A variable that is set but empty holds no secret."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def get(self, name: str) -> str | None:
        return self._environ.get(name) or None
