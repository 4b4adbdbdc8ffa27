"""Where a rendering is sent and what that place wants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .value import Value

Backend: TypeAlias = Literal["embedded", "openai", "scripted"]


@dataclass(frozen=True, slots=True)
class Route(Value):
    """A named destination. `key_env` names the variable that holds the key, never the key."""

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
    threads: int = 0
    replies: tuple[str, ...] = ()
