"""The keys that the settings of a home name: what must not be shown, logged or recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from mentis.settings.settings import Settings


def known_keys(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """Those that are in the environment, by what to call them. The keyring is not unlocked here."""
    names = sorted({*_names(settings)})
    keys = {f"the value of {name}": environ[name] for name in names if environ.get(name)}
    return keys | dict(_password(settings.model.ledger.url_env, environ))


def _names(settings: Settings) -> Iterator[str]:
    yield from (route.key_env for route in settings.every_route())
    yield from (tool.key_env for tool in settings.model.tools.values())
    yield settings.model.ledger.key_env
    yield settings.model.ledger.url_env


def _password(name: str, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """That of an address, which may turn up alone."""
    try:
        password = urlsplit(environ.get(name, "")).password
    except ValueError:
        return
    if password:
        yield f"the password in {name}", password
