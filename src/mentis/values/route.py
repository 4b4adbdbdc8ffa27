"""Where a rendering is sent and what that place wants."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from .json import JsonObject
from .options import NO_OPTIONS, CallOptions
from .value import LATE, Value

Backend: TypeAlias = Literal[
    "embedded", "openai", "openai-responses", "anthropic", "gemini", "scripted", "replay"
]
# How a replay finds the recording to play: by the bytes that would be sent, or in their order.
Match: TypeAlias = Literal["body", "order"]
# What a provider finds in its cache itself, or a cache that is made and named for it.
CacheKind: TypeAlias = Literal["implicit", "explicit"]
# Options that a route had before there were others: they stay where they are.
_BY_NAME = ("temperature", "seed", "max_tokens")


@dataclass(frozen=True, slots=True)
class Route(Value):
    """A named destination. `key_env` names the variable that holds the key, never the key.

    `fallback` names the routes to try when this one fails before it said anything. `folder` and
    `replays` are for the backend `replay`: where the recordings are, and whose they are. `caching`
    off means no cache marker at all; `facts` overrides what the facts table says of this model.
    `options` are those of every call on it, but for the three that stand here by name.
    """

    name: str
    backend: Backend
    model: str
    url: str = ""
    key_env: str = ""
    variant: str = "default"
    context_tokens: int = 8192
    max_tokens: int = 512
    temperature: float | None = None
    seed: int | None = None
    timeout_seconds: float = 120.0
    idle_seconds: float = 60.0
    threads: int = 0
    replies: tuple[str, ...] = ()
    fallback: tuple[str, ...] = ()
    attempts: int = 3
    concurrency: int = 8
    per_minute: int = 0
    folder: str = ""
    replays: Backend = "openai"
    match: Match = "body"
    caching: bool = True
    cache: CacheKind = "implicit"
    cache_seconds: int = 300
    facts: JsonObject = field(default_factory=dict[str, object], hash=False)
    options: CallOptions = field(default=NO_OPTIONS, metadata=LATE)

    def calling(self, options: CallOptions) -> Route:
        """This route with other options, where these choose any."""
        own = {name: getattr(options, name) for name in _BY_NAME}
        chosen = {name: value for name, value in own.items() if value is not None}
        rest = replace(options, **dict.fromkeys(_BY_NAME)).over(self.options)
        return replace(self, **chosen, options=rest)

    def for_rendering(self) -> Route:
        """This route as a renderer sees it: a replay is rendered like what it replays."""
        return replace(self, backend=self.replays) if self.backend == "replay" else self
