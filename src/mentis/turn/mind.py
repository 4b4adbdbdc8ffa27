"""Everything a turn works with, put together once by the wiring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mentis.home.parts import Rule
from mentis.library.memory.files import PersonaMemory
from mentis.library.shelf import Shelf
from mentis.ports.clock import Clock
from mentis.ports.ids import Ids
from mentis.ports.ledger_store import LedgerStore
from mentis.ports.provider import Provider
from mentis.ports.token_counter import TokenCounter
from mentis.record.conversations import CarriedTalk
from mentis.record.stored_inputs import KeptInputs
from mentis.settings.sources import LiveSettings
from mentis.tools.acting import Acting
from mentis.turn.ask.caching import Caching
from mentis.values.persona import Persona, Profile
from mentis.values.route import Route
from mentis.values.trace import Degradation

from .recaller import Bringing


@dataclass(frozen=True, slots=True)
class Mind:
    """`correction` is the route that is asked again, where it is not the one that answered.

    `secret` is the home's. `noted` is what had to be made good when the mind was opened.
    """

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
    caching: Caching
    conversations: CarriedTalk
    ledger: LedgerStore
    clock: Clock
    ids: Ids
    acting: Acting
    bringing: Bringing
    kept: KeptInputs
    correction: Route | None = None
    rules: tuple[Rule, ...] = ()
    secret: bytes = field(default=b"", repr=False)
    noted: tuple[Degradation, ...] = ()
