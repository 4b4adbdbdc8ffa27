"""Targets: the servers that calls may be passed on to, by name. There are no others.

A program names one in the path (`http://127.0.0.1:8788/anthropic/v1/messages`), never by its
address, so that nobody can have the recorder call whatever it can reach.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from mentis.errors import RouteError
from mentis.facts.presets import PRESETS
from mentis.net.targets import check_target, host_of, origin_of
from mentis.settings.recorder import TARGET_NAME
from mentis.settings.settings import Settings
from mentis.values.json import JsonObject
from mentis.values.value import Value

_NAME = re.compile(TARGET_NAME)
_ODD = re.compile(r"[^a-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class CallTarget(Value):
    """`origin` is scheme, host and port; the path is the program's own. `facts` correct the table
    for what is served there.
    """

    name: str
    origin: str
    facts: JsonObject = field(default_factory=dict[str, object], hash=False)


def known_targets(settings: Settings) -> dict[str, CallTarget]:
    """Presets first: nothing in a home can send what goes to `openai` to another server."""
    found = {
        preset.name: CallTarget(preset.name, origin_of(preset.url), preset.facts)
        for preset in PRESETS.values()
        if preset.url
    }
    for name, url in settings.model.recorder.targets.items():
        found.setdefault(name, make_target(name, url))
    for route in settings.every_route():
        if route.url and _NAME.fullmatch(route.name):
            made = make_target(route.name, route.url, facts=route.facts)
            found.setdefault(route.name, made)
    return found


def make_target(name: str, url: str, *, facts: JsonObject | None = None) -> CallTarget:
    """RouteError for an address that is not called: link-local, or with credentials in it."""
    check_target(url, with_key=False)
    return CallTarget(name, origin_of(url), facts or {})


def target_of(url: str, targets: Mapping[str, CallTarget]) -> CallTarget:
    """The target that an address is at, or one of its own for an address nobody named before."""
    check_target(url, with_key=True)
    origin = origin_of(url)
    known = next((one for one in targets.values() if one.origin == origin), None)
    if known is not None:
        return known
    name = _ODD.sub("-", origin.partition("://")[2].lower()).strip("-")[:64]
    return CallTarget(name or host_of(url), origin)


def address_at(base: str, target: CallTarget, url: str) -> str:
    """Where a program that calls `url` has to call instead: the same path, below the target."""
    path = urlsplit(url).path.rstrip("/")
    return f"{base}/{target.name}{path}"


def find_target(name: str, targets: Mapping[str, CallTarget]) -> CallTarget:
    if name in targets:
        return targets[name]
    raise RouteError(
        f"there is no target {name!r}",
        hint=f"the path begins with one of: {', '.join(sorted(targets))}; others are named in"
        " recorder.targets",
        target=name,
    )
