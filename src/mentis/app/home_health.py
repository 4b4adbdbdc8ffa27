"""Health of an agent: the ways into its record, stages that keep failing, updates that failed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from mentis.values.measured import ClockJump, jump_words
from mentis.values.status import BackendState
from mentis.values.value import Value

from .home_checks import HealthCheck, home_checks

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
    checks: tuple[HealthCheck, ...] = ()
    notes: tuple[str, ...] = ()


def read_health(
    statuses: Statuses,
    path: Path,
    persona: str | None,
    environ: Mapping[str, str] | None = None,
) -> AgentHealth:
    """It blocks."""
    variables = os.environ if environ is None else environ
    health = statuses.health()
    state = statuses.backend_state(health)
    home, notes = find_home(path), tuple[str, ...]()
    settings = load_settings(home.path, variables)
    checks = home_checks(home, settings, variables, health=health, state=state)
    if not health.persists:
        return AgentHealth(health, state, checks=checks)
    health = _with_checks(health, checks)
    model = settings.model
    entries = statuses.latest(_LOOKED_BACK)
    streaks = streaks_in(entries)
    try:
        chosen = home.pick_persona(persona, model.persona)
        streaks = streaks.plus(StageFailures(home, chosen).streaks())
    except BadInput as error:
        notes = (f"{error.message}; {error.hint}",)
    failed = tuple(FailedUpdate(name, why, e.index) for name, e, why in failed_updates(entries))
    alarms = streaks.alarms(model.cortex.alarm_failures)
    checks = (*checks, *_living(alarms, failed), _clock(statuses.clock_jumps(entries)))
    return AgentHealth(health, state, alarms, failed, checks, notes)


def _with_checks(health: Health, checks: Sequence[HealthCheck]) -> Health:
    """It is not green while a check of the home fails, whatever the store says."""
    failing = [one.name for one in checks if one.state == "fail"]
    if not failing or health.status != "GREEN":
        return health
    reason = f"{health.reason}, but not all is well: {', '.join(failing)}"
    return replace(health, status="YELLOW", reason=reason)


def _living(
    alarms: Sequence[Alarm], failed: Sequence[FailedUpdate]
) -> tuple[HealthCheck, HealthCheck]:
    ticks = HealthCheck("ticks", "ok", "no stage keeps failing")
    if alarms:
        one = alarms[0]
        reason = f"{one.stage} failed {one.failures} times in a row: {one.reason}"
        ticks = HealthCheck("ticks", "warn", reason, one.hint or "mentis routes check")
    files = HealthCheck("memory files", "ok", "no update failed")
    if failed:
        reason = f"the last update from session {failed[0].session} failed: {failed[0].failure}"
        files = HealthCheck("memory files", "warn", reason, "mentis persona update")
    return ticks, files


def _clock(jumps: Sequence[ClockJump]) -> HealthCheck:
    if not jumps:
        return HealthCheck("clock", "ok", "it has not jumped, or that is settled")
    reason = f"{jump_words(jumps[-1])}; what was used before counts against the day still"
    remedy = 'mentis ledger settle-clock --reason "..." if it is right now'
    return HealthCheck("clock", "warn", reason, remedy)


def health_data(found: AgentHealth) -> dict[str, object]:
    """As JSON: the same for every surface."""
    more = [to_object(one) for one in found.alarms], [to_object(o) for o in found.failed_updates]
    told = {"state": to_object(found.state), "alarms": more[0], "failed_updates": more[1]}
    checks = [to_object(one) for one in found.checks]
    return {**to_object(found.health), **told, "checks": checks}
