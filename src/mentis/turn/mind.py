"""The parts of one open agent, for whoever runs a whole turn or tick and hands them on."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mentis.ask.models import Models
from mentis.home.identity import Identity
from mentis.library.memory.files import PersonaMemory
from mentis.library.shelf import Shelf
from mentis.record.agent_record import AgentRecord
from mentis.record.stored_inputs import KeptInputs
from mentis.settings.sources import LiveSettings
from mentis.tools.acting import Acting
from mentis.values.trace import Degradation

from .recaller import Bringing


@dataclass(frozen=True, slots=True)
class Sources:
    """What is read anew for each turn. `noted` had to be made good when the agent was opened."""

    settings: LiveSettings
    shelf: Shelf
    memory: PersonaMemory
    noted: tuple[Degradation, ...] = ()


@dataclass(frozen=True, slots=True)
class Mind:
    """Nothing but the parts. A function that needs two of them takes these two."""

    who: Identity
    record: AgentRecord
    models: Models
    sources: Sources
    acting: Acting
    recaller: Bringing
    inputs: KeptInputs

    def asking(self, models: Models) -> Mind:
        """The same agent, asking other models."""
        return replace(self, models=models)

    def limited(self, tokens: int) -> Mind:
        """With answers no longer than that, nor than its context has room for."""
        return self.asking(self.models.limited(tokens))
