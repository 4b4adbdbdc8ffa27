"""The keys that routes send, and which of them may go to which server.

A home that somebody else made can name any variable and any server. So a key goes only where its
provider is, where a variable of the environment says, or where the owner here has said that it may:
that is remembered outside of the home, for this home.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Literal, TypeAlias

from mentis.call.dialects import DIALECTS, KEY_SERVERS
from mentis.call.http import key_of
from mentis.codec.option_check import check_options
from mentis.errors import OptionError, RouteError
from mentis.net.redact import redact
from mentis.net.targets import origin_of
from mentis.settings.settings import Settings
from mentis.settings.sources import load_settings
from mentis.stores.files.home import find_home
from mentis.stores.files.key_folder import config_folder
from mentis.stores.files.trusted import TrustedRoutes
from mentis.stores.keyring import SystemSecrets
from mentis.values.digest import Digest, digest
from mentis.values.options import NO_OPTIONS
from mentis.values.route import Route
from mentis.values.value import Value

from .parts import Parts

_SHORTEST_KEY = 8  # anything shorter may be a word
KeyTrust: TypeAlias = Literal["provider", "environment", "trusted", "untrusted"]


@dataclass(frozen=True, slots=True)
class KeyTarget(Value):
    """A key, by the variable or entry of the keyring that holds it, and the server it goes to."""

    variable: str
    server: str

    @property
    def name(self) -> str:
        return f"{self.variable} {self.server}"

    @property
    def digest(self) -> Digest:
        return digest(json.dumps([self.variable, self.server]).encode())


def open_route_keys(home: str | Path, parts: Parts | None = None) -> RouteKeys:
    """The keys that the routes of a home send, to see and to say where they may go."""
    path, parts = find_home(Path(home)).path, parts or Parts()
    return RouteKeys(path, load_settings(path, parts.variables), parts.variables)


class RouteKeys:
    """Those of one home. These methods block."""

    def __init__(self, home: Path, settings: Settings, environ: Mapping[str, str]) -> None:
        self._home = home
        self._settings = settings
        self._by_environment = frozenset(_by_environment(settings))
        self._trusted = TrustedRoutes(config_folder(environ))
        self._secrets = SystemSecrets(environ)
        self._environ = environ

    def key_of(self, route: Route) -> str:
        """The key of a route, "" if it sends none; RouteError if it may not go there."""
        target = target_of(route)
        if target is not None and self.trust_in(target) == "untrusted":
            raise RouteError(
                f"route {route.name!r} would send {target.variable} to {target.server}, and nobody"
                " here has said that it may",
                hint=f"if it belongs there: mentis routes trust {quote(route.name)}",
                route=route.name,
                variable=target.variable,
                server=target.server,
            )
        key = key_of(route, self._secrets)
        if route.options != NO_OPTIONS:
            self._check_options(route, key)
        return key

    def _check_options(self, route: Route, own: str) -> None:
        """No key travels in a header or an extra body: not its own, nor that of another route."""
        given = check_options(route.options, f"routes.{route.name}.options")
        sent = json.dumps([dict(given.headers), dict(given.body), list(given.server_tools)])
        routes = (one.key_env for one in self._settings.model.routes.values())
        variables = sorted({*routes, *(name for name, _ in KEY_SERVERS)} - {""})
        known = {name: self._environ.get(name, "").strip() for name in variables}
        for variable, key in {**known, route.key_env: own}.items():
            if len(key) >= _SHORTEST_KEY and redact(sent, [key]) != sent:
                raise OptionError(
                    f"route {route.name!r}: its options hold the key in {variable}",
                    hint="take it out: a key is named by key_env, and goes to its own server alone",
                    route=route.name,
                    variable=variable,
                )

    def target(self, name: str = "default") -> KeyTarget | None:
        """Which key a route of the settings sends where; None if it sends none."""
        return target_of(self._settings.route(name))

    def trust_in(self, target: KeyTarget) -> KeyTrust:
        """By whom it is said that this key may go there, if by anybody."""
        if (target.variable, target.server) in KEY_SERVERS:
            return "provider"
        if target in self._by_environment:
            return "environment"
        known = self._trusted.is_trusted(self._home, target.name, target.digest)
        return "trusted" if known else "untrusted"

    def trusted_targets(self) -> tuple[KeyTarget, ...]:
        """Everything that the owner said of this home, whether a route still names it or not."""
        names = [name.rpartition(" ") for name in self._trusted.trusted_parts(self._home)]
        return tuple(KeyTarget(variable, server) for variable, _, server in names)

    def trust(self, target: KeyTarget) -> None:
        """Let this key go to this server from now on, on every route of this home."""
        self._trusted.trust(self._home, target.name, target.digest)

    def forget(self, target: KeyTarget) -> bool:
        """From now on no more; False when nobody had said that it may."""
        return self._trusted.forget(self._home, target.name)


def target_of(route: Route) -> KeyTarget | None:
    """None where nothing is called, or without a key."""
    if route.backend not in DIALECTS or not route.key_env:
        return None
    return KeyTarget(route.key_env, origin_of(route.url))


def _by_environment(settings: Settings) -> Iterator[KeyTarget]:
    """Those of which variables say both halves: half a target could be anybody's."""
    for name, given in settings.model.routes.items():
        server = "url" if given.url else "backend"
        if all(settings.of_environment("routes", name, key) for key in ("key_env", server)):
            try:
                target = target_of(given.as_route(name))
            except RouteError:
                continue  # it is told when the route is used
            if target is not None:
                yield target
