"""Everything a turn works with, put together once by the wiring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mentis.library.memory.files import PersonaMemory
from mentis.library.shelf import Shelf
from mentis.ports.act_handler import ActHandler
from mentis.ports.clock import Clock
from mentis.ports.conversation_store import ConversationStore
from mentis.ports.ids import Ids
from mentis.ports.ledger_store import LedgerStore
from mentis.ports.provider import Provider
from mentis.ports.token_counter import TokenCounter
from mentis.values.persona import Persona, Profile
from mentis.values.route import Route

from .settings_sources import LiveSettings


@dataclass(frozen=True, slots=True)
class Mind:
    agent: str
    persona: Persona
    profile: Profile
    shelf: Shelf
    memory: PersonaMemory
    settings: LiveSettings
    route: Route
    fallbacks: tuple[Route, ...]
    provider: Provider
    counter: Callable[[Route], TokenCounter]
    conversations: ConversationStore
    ledger: LedgerStore
    clock: Clock
    ids: Ids
    handlers: Mapping[str, ActHandler]
