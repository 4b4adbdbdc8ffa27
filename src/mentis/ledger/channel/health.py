"""Asks each way into the ledger whether it works just now."""

from __future__ import annotations

import os
from datetime import datetime

from mentis.disk.atomic import write_beside
from mentis.disk.processes import in_force
from mentis.errors import HomeError, MentisError, WorldError
from mentis.ports.leases import Leases
from mentis.system.users import user_id
from mentis.values.health import Health, RouteHealth, RouteName
from mentis.values.lease import CONSUME, Lease
from mentis.values.words import quantity

from .folder import StatusFolder
from .intake import Changing, opened_folder, take_snapshot
from .quarantine import count_aside

_PROBE = "health"
_MOST_TOLD = 4096
_ROUTES: tuple[RouteName, ...] = ("A watcher", "B command", "C save tool", "D monitor")


def check_health(agent: str, store: Leases, folder: StatusFolder, *, now: datetime) -> Health:
    """The store is asked to write, not only to answer: from a full disk one can still read."""
    try:
        _write_probe(agent, store, now)
        lease = store.lease(agent, CONSUME)
    except (WorldError, HomeError) as fault:
        return offline(fault, folder)
    holder = lease if lease is not None and in_force(lease, now) else None
    direct = "the store can be written"
    stuck = _told_fault(folder)
    routes = (
        _consumer("A watcher", "watcher", holder, stuck),
        RouteHealth("B command", up=True, reason=direct),
        RouteHealth("C save tool", up=True, reason=direct),
        _consumer("D monitor", "monitor", holder, stuck),
    )
    waiting = _waiting(folder)
    fault = _spool_fault(folder)
    aside = count_aside(folder.quarantine)
    if fault is not None:
        return Health("YELLOW", f"drafts cannot be spooled: {fault}", routes, waiting, aside)
    if folder.stranded_drafts:
        where = ", ".join(map(str, folder.stranded_drafts))
        reason = f"a draft waits where nobody looks: {where}; write to {folder.pending}"
        return Health("YELLOW", reason, routes, waiting, aside)
    if waiting and holder is not None and stuck:
        return Health("YELLOW", f"drafts cannot be recorded: {stuck}", routes, waiting, aside)
    if waiting and holder is None:
        reason = f"{quantity(waiting, 'draft')} waiting, and nobody consumes what comes as files"
        return Health("YELLOW", reason, routes, waiting, aside)
    return Health("GREEN", direct, routes, waiting, aside)


def offline(fault: MentisError, folder: StatusFolder) -> Health:
    """The health of a store that cannot be written, or not even opened."""
    routes = tuple(RouteHealth(route, up=False, reason=fault.message) for route in _ROUTES)
    reason = f"Persistence offline: {fault.message}"
    return Health("RED", reason, routes, _waiting(folder), count_aside(folder.quarantine))


def _write_probe(agent: str, store: Leases, now: datetime) -> None:
    """A lease nobody uses: it is written as an entry is, and leaves no entry."""
    store.release_lease(store.take_lease(agent, _PROBE, _PROBE, now=now, seconds=0))


def _consumer(route: RouteName, role: str, holder: Lease | None, stuck: str | None) -> RouteHealth:
    if holder is None:
        return RouteHealth(route, up=False, reason="nobody holds the lease")
    up = holder.owner.split(" ")[0] == role
    if up and stuck:
        return RouteHealth(route, up=False, reason=stuck)
    verb = "it" if up else holder.owner
    return RouteHealth(route, up=up, reason=f"{verb} holds the lease, fence {holder.fence}")


def _told_fault(folder: StatusFolder) -> str | None:
    """Read as carefully as a draft: what lies there may be a link to somebody's secret."""
    if not os.path.lexists(folder.fault):
        return None
    try:
        with opened_folder(folder.fault.parent) as where:
            kept = take_snapshot(where, folder.fault.name, max_bytes=_MOST_TOLD, owners={user_id()})
    except Changing:
        return None
    except MentisError as refused:
        return f"{folder.fault.name} cannot be read: {refused.message}"
    return kept.content.decode("utf-8", errors="replace") or None


def _waiting(folder: StatusFolder) -> int:
    return len(folder.waiting()) + sum(slot.exists() for slot in folder.slots)


def _spool_fault(folder: StatusFolder) -> str | None:
    try:
        folder.make()
        write_beside(folder.spool / _PROBE, b"").unlink()
    except (MentisError, OSError) as error:
        return str(error)
    return None
