"""What a backend and a model can take. Facts as of 2026-11; nothing here is guessed from a URL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mentis.values.route import Backend, Route
from mentis.values.value import Value

AS_OF = "2026-11-15"


@dataclass(frozen=True, slots=True)
class Abilities(Value):
    """`mid_system`: a system message may stand after the first one."""

    mid_system: bool = False
    sampling: bool = True
    limit_key: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"


# Reasoning models of the provider that coined this API refuse sampling and the older limit key.
_REASONING_PREFIXES = ("gpt-5", "o1", "o3", "o4")

_BY_BACKEND: dict[Backend, Abilities] = {
    "embedded": Abilities(mid_system=True),
    "openai": Abilities(),
    "scripted": Abilities(mid_system=True),
}


def abilities(route: Route) -> Abilities:
    if route.backend == "openai" and route.model.startswith(_REASONING_PREFIXES):
        return Abilities(mid_system=True, sampling=False, limit_key="max_completion_tokens")
    return _BY_BACKEND[route.backend]
