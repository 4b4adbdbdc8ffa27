"""A counter, a small library and one way to compose, for all tests of the room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import pytest

from mentis.compose.compose import Composition, compose
from mentis.values.block import Block, Variant
from mentis.values.library import Library
from mentis.values.persona import Persona, Profile
from mentis.values.placeholder import Placeholder
from mentis.values.recalled import RecalledContext, Stimulus
from mentis.values.stability import Stability
from mentis.values.trace import TokenCount

NOON = datetime(2026, 1, 1, 12, 0)  # noqa: DTZ001  # the caller's local time

BO = Persona("bo", "Bo")
ROBIN = Profile("Robin")


class Quarters:
    """Four characters are a token."""

    def count(self, text: str) -> TokenCount:
        return TokenCount(len(text) // 4)


@dataclass(frozen=True)
class Desk:
    """Composes with everything a test does not care about filled in."""

    persona: Persona = BO
    profile: Profile = ROBIN
    counter: Quarters = field(default_factory=Quarters)

    def placeholder(self, key: str, **fields: Any) -> Placeholder:  # noqa: ANN401  # as the value has them
        given: dict[str, Any] = {
            "phase": "runtime",
            "source": "runtime",
            "stability": Stability.STABLE,
        }
        return Placeholder(key, **{**given, **fields})

    def library(self, *blocks: Block, **words: Mapping[str, tuple[str, ...]]) -> Library:
        registered = [
            self.placeholder("name", phase="static", source="persona_config", source_path="name"),
            self.placeholder(
                "clock",
                phase="computed",
                source="computed",
                compute_function="current_time",
                stability=Stability.TURN,
            ),
            self.placeholder("mood", stability=Stability.SESSION),
            self.placeholder("note"),
        ]
        ordered = tuple(sorted(blocks, key=lambda block: block.order))
        return Library("test", ordered, {one.key: one for one in registered}, words)

    def block(self, name: str, text: str | None = None, **fields: Any) -> Block:  # noqa: ANN401  # as the value has them
        given: dict[str, Any] = {
            "name": name,
            "order": 10,
            "target": "system_prompt",
            "position": "system_prompt",
            "variants": {"default": Variant(f"[{name}]" if text is None else text)},
        }
        return Block(name, **{**given, **fields})

    def compose(self, library: Library, **inputs: Any) -> Composition:  # noqa: ANN401  # passed on
        given: dict[str, Any] = {
            "persona": self.persona,
            "profile": self.profile,
            "recalled": RecalledContext(Stimulus("Hello")),
            "history": (),
            "now": NOON,
            "variant": "default",
            "counter": self.counter,
            "context_tokens": 8192,
            "reserve_tokens": 256,
        }
        return compose(library, **{**given, **inputs})

    def speaking(self, language: str) -> Desk:
        return replace(self, persona=replace(self.persona, language=language))


@pytest.fixture
def desk() -> Desk:
    return Desk()
