"""The parts of one open agent, for whoever runs a whole turn or tick and hands them on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from mentis.ask.models import Models
from mentis.home.identity import Identity
from mentis.record.agent_record import AgentRecord
from mentis.record.stored_inputs import TurnInputStore
from mentis.tools.acting import ActRunner
from mentis.values.act import ActSpec

from .news_lock import NewsClaims
from .recaller import Recaller
from .snapshot import TurnSnapshot, TurnSources, take_snapshot


@dataclass(frozen=True, slots=True)
class AgentParts:
    """Nothing but the parts. A function that needs two of them takes these two.

    `declared` are tools that the caller of this one turn executes.
    """

    who: Identity
    record: AgentRecord
    models: Models
    sources: TurnSources
    acting: ActRunner
    recaller: Recaller
    inputs: TurnInputStore
    claims: NewsClaims = field(default_factory=NewsClaims)
    declared: tuple[ActSpec, ...] = ()

    def look(self) -> TurnSnapshot:
        """How things stand now, for a whole turn or tick. It blocks."""
        return take_snapshot(self.sources, self.acting, self.record, self.who.home)

    def asking(self, models: Models) -> AgentParts:
        """The same agent, asking other models."""
        return replace(self, models=models)

    def writing(self, record: AgentRecord) -> AgentParts:
        """The same agent, whose turn is written with this record."""
        return replace(self, record=record)

    def offering(self, declared: tuple[ActSpec, ...]) -> AgentParts:
        """With these tools beside its own; of two of one name it is the caller's."""
        return replace(self, declared=declared)

    def limited(self, tokens: int) -> AgentParts:
        """With answers no longer than that, nor than its context has room for."""
        return self.asking(self.models.limited(tokens))
