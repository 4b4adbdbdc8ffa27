"""Who gets a lease, the same in every store: the row there was in, the row there will be out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from mentis.disk.processes import in_force
from mentis.errors import LeaseHeld, StoreDamaged
from mentis.values.lease import Lease

from .rows import Row

_MOST_FENCE = 2**53  # nobody has passed a lease on as often


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """A lease as it is kept; a released one stays, so that its fence is never given out again."""

    lease: Lease
    released: bool = False


def read_lease(row: Row) -> LeaseRow:
    agent, purpose, owner, fence, expires, released = row
    if tuple(map(type, row)) != (str, str, str, int, str, int):
        raise _damaged(agent, "its cells are of odd types")
    lease = Lease(agent, purpose, owner, fence, expires)
    try:
        aware = lease.end.tzinfo is not None
    except ValueError:
        aware = False
    if not aware:
        raise _damaged(agent, f"it ends at {expires!r}, which is no time")
    if not 0 < fence < _MOST_FENCE:
        raise _damaged(agent, f"its fence is {fence}, and no lease was passed on as often")
    return LeaseRow(lease, released=bool(released))


def _damaged(agent: object, reason: str) -> StoreDamaged:
    return StoreDamaged(
        f"the lease of {agent!r} cannot be read: {reason}",
        hint="somebody changed the database; take that row out of the table `leases`",
        column="leases",
    )


def asked_lease(agent: str, purpose: str, owner: str, *, now: datetime, seconds: float) -> Lease:
    """The lease as it would be if there had never been one."""
    return Lease(agent, purpose, owner, 1, _after(now, seconds))


def next_lease(row: LeaseRow | None, asked: Lease, *, now: datetime) -> Lease:
    """The lease in force once it was asked for."""
    if row is None:
        return asked
    held = row.lease
    if held.owner == asked.owner and not row.released:
        return replace(held, expires=asked.expires)
    if row.released or not in_force(held, now):
        return replace(asked, fence=held.fence + 1)
    return held


def renewed_lease(row: LeaseRow | None, lease: Lease, *, now: datetime, seconds: float) -> Lease:
    check_holds(row, lease)
    return replace(lease, expires=_after(now, seconds))


def check_holds(row: LeaseRow | None, lease: Lease) -> None:
    """LeaseHeld unless nobody took or released it since. One that only ran out still holds."""
    if row is not None and is_held(row, lease):
        return
    holder = "nobody" if row is None or row.released else row.lease.owner
    raise LeaseHeld(
        f"the lease of `{lease.agent}` to {lease.purpose} with fence {lease.fence} is lost:"
        f" {holder} has it now",
        hint="stop: nothing of this was kept",
        agent=lease.agent,
        purpose=lease.purpose,
        fence=lease.fence,
        holder=holder,
    )


def is_held(row: LeaseRow, lease: Lease) -> bool:
    """By the same owner: a store that lost its last moments may give out a fence once more."""
    same = (row.lease.fence, row.lease.owner) == (lease.fence, lease.owner)
    return same and not row.released


def _after(now: datetime, seconds: float) -> str:
    """As every other time is written: UTC, with `Z`."""
    end = (now + timedelta(seconds=seconds)).astimezone(UTC)
    return f"{end.isoformat(timespec='microseconds')[:-6]}Z"
