"""A checklist of a home: what holds, what wants looking at, what fails, and what to do about it.

Every check costs the same in a home of any size: nothing here reads through the record.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from mentis.act.payloads import has_checker
from mentis.errors import MentisError
from mentis.home.signing import Sealing, missing_key, open_sealing
from mentis.settings.settings import Settings
from mentis.stores.files.home import Home
from mentis.system.users import others_can_touch
from mentis.values.health import Health
from mentis.values.status import BackendState
from mentis.values.value import Value
from mentis.values.words import entries_of, quantity

_LITTLE_BYTES = 512 * 1024 * 1024  # what a busy home writes in a few days


@dataclass(frozen=True, slots=True)
class HealthCheck(Value):
    """One line of the checklist; `remedy` is empty where nothing has to be done."""

    name: str
    state: Literal["ok", "warn", "fail"]
    reason: str
    remedy: str = ""


def home_checks(
    home: Home,
    settings: Settings,
    environ: Mapping[str, str],
    *,
    health: Health,
    state: BackendState,
) -> tuple[HealthCheck, ...]:
    """Of one agent of the home. It blocks."""
    return (
        _record(health),
        _key(home, settings, environ),
        *_seals(home, settings, environ, state),
        _drafts(health),
        _space(home),
        _permissions(home),
        _tools(),
    )


def _record(health: Health) -> HealthCheck:
    if health.persists:
        return HealthCheck("record", "ok", "it can be written")
    return HealthCheck("record", "fail", health.reason, "see the reason; drafts wait in the spool")


def _key(home: Home, settings: Settings, environ: Mapping[str, str]) -> HealthCheck:
    try:
        fault = missing_key(home, settings, environ)
    except MentisError as error:
        return HealthCheck("signing key", "fail", error.message, error.hint or "")
    if fault is None:
        return HealthCheck("signing key", "ok", "it is here")
    return HealthCheck("signing key", "fail", fault.reason, fault.remedy)


def _seals(
    home: Home, settings: Settings, environ: Mapping[str, str], state: BackendState
) -> Iterator[HealthCheck]:
    try:
        sealing = open_sealing(home, settings, environ)
        if sealing is not None:
            yield _checkpoint(sealing, state)
            yield _anchors(sealing)
    except MentisError as error:
        yield HealthCheck("checkpoint", "fail", error.message, error.hint or "")


def _checkpoint(sealing: Sealing, state: BackendState) -> HealthCheck:
    standing = sealing.last_standing(state.agent)
    size = standing.size if standing else 0
    if size or not state.total_entries:
        reason = f"{size} of {entries_of(state.total_entries)} sealed"
        return HealthCheck("checkpoint", "ok", reason)
    reason = f"none of {entries_of(state.total_entries)} is sealed"
    return HealthCheck("checkpoint", "warn", reason, "mentis ledger checkpoint")


def _anchors(sealing: Sealing) -> HealthCheck:
    if strange := sealing.strange():
        return HealthCheck("anchors", "warn", strange[0], "mentis ledger anchor list")
    if not sealing.anchors:
        reason = "nobody else keeps a checkpoint: home and keys rolled back together go unseen"
        return HealthCheck(
            "anchors", "warn", reason, "mentis ledger anchor add --file FILE-ELSEWHERE"
        )
    return HealthCheck("anchors", "ok", f"{quantity(len(sealing.anchors), 'anchor')} told")


def _drafts(health: Health) -> HealthCheck:
    waiting, aside = quantity(health.waiting, "draft"), health.quarantined
    reason = f"{waiting} waiting, {aside} refused and put aside"
    consumed = any(route.up for route in health.routes if route.route in ("A watcher", "D monitor"))
    if health.waiting and not consumed:
        return HealthCheck("drafts", "warn", f"{reason}; nobody consumes", "mentis status watch")
    if aside:
        return HealthCheck(
            "drafts", "warn", reason, "look into the folder quarantine of status/, mend, send again"
        )
    return HealthCheck("drafts", "ok", reason)


def _space(home: Home) -> HealthCheck:
    try:
        free = shutil.disk_usage(home.path).free
    except OSError as error:
        return HealthCheck(
            "disk", "fail", f"it cannot be asked: {error.strerror}", "check the disk"
        )
    reason = f"{free / 1e9:.1f} GB free"
    if free < _LITTLE_BYTES:
        return HealthCheck("disk", "warn", reason, "free some space; mentis ledger rotate")
    return HealthCheck("disk", "ok", reason)


def _permissions(home: Home) -> HealthCheck:
    for place in (home.path, home.secret):
        try:
            status = place.stat()
        except OSError:
            continue
        if others_can_touch(status) and (place != home.path or status.st_mode & 0o007):
            return HealthCheck(
                "permissions", "warn", f"others may read {place}", f"chmod go-rwx {place}"
            )
    return HealthCheck("permissions", "ok", "nobody else may read the home")


def _tools() -> HealthCheck:
    if has_checker():
        return HealthCheck("tools", "ok", "calls are checked before they are made")
    reason = "calls cannot be checked, so every call is refused"
    return HealthCheck("tools", "warn", reason, "pip install 'mentis[tools]'")
