"""Snapshot of what may have changed since the last turn: prompts, settings, persona memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mentis.compose.purposes import Policies
from mentis.disk.inside import seen_from
from mentis.library.memory.files import PersonaMemory
from mentis.library.shelf import Shelf
from mentis.record.agent_record import AgentRecord
from mentis.settings.settings import Settings
from mentis.settings.sources import LiveSettings
from mentis.stores.files.home import Home
from mentis.tools.acting import ActRunner
from mentis.values.block import Mode
from mentis.values.given import GivenText
from mentis.values.library import Library
from mentis.values.location import Problem
from mentis.values.trace import Degradation

from .window import WindowRequest, ask_for_windows

_MOST = 20
_NOTHING: Mapping[str, GivenText] = {}


@dataclass(frozen=True, slots=True)
class TurnSources:
    """What is read anew for each turn. `noted` had to be made good when the agent was opened."""

    settings: LiveSettings
    shelf: Shelf
    memory: PersonaMemory
    noted: tuple[Degradation, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnSnapshot:
    """Looked at once a turn, so that the whole turn sees the same."""

    library: Library
    policies: Policies
    variables: Mapping[str, object]
    settings: Settings
    degraded: tuple[Degradation, ...] = ()
    window: WindowRequest | None = None

    def variables_for(self, mode: Mode) -> Mapping[str, object]:
        """What a request of that mode may tell. A delivery goes to whoever waits for a result: what
        the persona keeps about itself and others has no place in it.
        """
        return _NOTHING if mode == "delivery" else self.variables


def take_snapshot(
    sources: TurnSources, acting: ActRunner, record: AgentRecord, home: Home
) -> TurnSnapshot:
    """How things stand now. What is wrong with them is told, and the turn goes on. It blocks."""
    settings, fault = sources.settings.current()
    loaded = sources.shelf.current()
    degraded = [*sources.noted, *acting.notes(), *_each("prompts", loaded.problems)]
    if fault is not None:
        reason = seen_from(sources.settings.home, fault.message)
        degraded.append(Degradation("settings", f"{reason}; the earlier ones hold"))
    variables = _NOTHING
    if settings.model.features.persona_memory:
        remembered = sources.memory.remember()
        variables = remembered.values
        degraded.extend(_each("persona memory", remembered.problems))
    window = ask_for_windows(record, home, settings)
    if isinstance(window, Degradation):
        degraded.append(window)
        window = None
    policies = settings.policies
    return TurnSnapshot(loaded.library, policies, variables, settings, tuple(degraded), window)


def _each(part: str, problems: tuple[Problem, ...]) -> Iterator[Degradation]:
    for problem in problems[:_MOST]:
        where = f"{problem.location}: " if problem.location else ""
        yield Degradation(part, f"{where}{problem.message}")
    if len(problems) > _MOST:
        yield Degradation(part, f"and {len(problems) - _MOST} problems more")
