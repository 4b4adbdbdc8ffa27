"""Health of an agent: the ways into its record, stages that keep failing, updates that failed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mentis.codec.forms import to_object
from mentis.errors import BadInput
from mentis.settings.sources import load_settings
from mentis.status.statuses import Statuses
from mentis.stores.files.home import find_home
from mentis.talk.persona_update import failed_updates
from mentis.tick.failing import StageFailures
from mentis.tick.health import Alarm, streaks_in
from mentis.values.health import Health
from mentis.values.status import BackendState
from mentis.values.value import Value

_LOOKED_BACK = 256  # entries among which the last ticks are looked for


@dataclass(frozen=True, slots=True)
class FailedUpdate(Value):
    """The last update of the memory files from a session, which failed."""

    session: str
    failure: str
    entry: int


@dataclass(frozen=True, slots=True)
class AgentHealth(Value):
    """`notes` say what could not be looked at."""

    health: Health
    state: BackendState
    alarms: tuple[Alarm, ...] = ()
    failed_updates: tuple[FailedUpdate, ...] = ()
    notes: tuple[str, ...] = ()


def read_health(
    statuses: Statuses,
    path: Path,
    persona: str | None,
    environ: Mapping[str, str] | None = None,
) -> AgentHealth:
    """It blocks."""
    health, state = statuses.health(), statuses.backend_state()
    if not health.persists:
        return AgentHealth(health, state)
    home, notes = find_home(path), tuple[str, ...]()
    chosen = load_settings(home.path, os.environ if environ is None else environ).model.cortex
    entries = statuses.latest(_LOOKED_BACK)
    streaks = streaks_in(entries)
    try:
        streaks = streaks.plus(StageFailures(home, home.pick_persona(persona)).streaks())
    except BadInput as error:
        notes = (f"{error.message}; {error.hint}",)
    failed = tuple(FailedUpdate(name, why, e.index) for name, e, why in failed_updates(entries))
    return AgentHealth(health, state, streaks.alarms(chosen.alarm_failures), failed, notes)


def health_data(found: AgentHealth) -> dict[str, object]:
    """As JSON: the same for every surface."""
    more = [to_object(one) for one in found.alarms], [to_object(o) for o in found.failed_updates]
    told = {"state": to_object(found.state), "alarms": more[0], "failed_updates": more[1]}
    return {**to_object(found.health), **told}
