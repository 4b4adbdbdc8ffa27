"""Where a rendering is sent and what that place wants."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from .json import JsonObject
from .value import Value

Backend: TypeAlias = Literal[
    "embedded", "openai", "openai-responses", "anthropic", "gemini", "scripted", "replay"
]
# How a replay finds the recording to play: by the bytes that would be sent, or in their order.
Match: TypeAlias = Literal["body", "order"]
# What a provider finds in its cache itself, or a cache that is made and named for it.
CacheKind: TypeAlias = Literal["implicit", "explicit"]


@dataclass(frozen=True, slots=True)
class Route(Value):
    """A named destination. `key_env` names the variable that holds the key, never the key.

    `fallback` names the routes to try when this one fails before it said anything. `folder` and
    `replays` are for the backend `replay`: where the recordings are, and whose they are. `caching`
    off means no cache marker at all; `facts` overrides what the facts table says of this model.
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

    def for_rendering(self) -> Route:
        """This route as a renderer sees it: a replay is rendered like what it replays."""
        return replace(self, backend=self.replays) if self.backend == "replay" else self
