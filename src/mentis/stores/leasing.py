"""Who gets a lease, the same in every store: the row there was in, the row there will be out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

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
    agent, owner, fence, expires, released = row
    if tuple(map(type, row)) != (str, str, int, str, int):
        raise _damaged(agent, "its cells are of odd types")
    lease = Lease(agent, owner, fence, expires)
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


def next_lease(
    row: LeaseRow | None, agent: str, owner: str, *, now: datetime, seconds: float
) -> Lease:
    """The lease in force once `owner` has asked for it."""
    expires = _after(now, seconds)
    if row is None:
        return Lease(agent, owner, 1, expires)
    held = row.lease
    if row.released or not held.runs_at(now):
        return Lease(agent, owner, held.fence + 1, expires)
    return replace(held, expires=expires) if held.owner == owner else held


def renewed_lease(row: LeaseRow | None, lease: Lease, *, now: datetime, seconds: float) -> Lease:
    check_holds(row, lease)
    return replace(lease, expires=_after(now, seconds))


def check_holds(row: LeaseRow | None, lease: Lease) -> None:
    """LeaseHeld unless nobody took or released it since. One that only ran out still holds."""
    if row is not None and not row.released and row.lease.fence == lease.fence:
        return
    holder = "nobody" if row is None or row.released else row.lease.owner
    raise LeaseHeld(
        f"the lease of `{lease.agent}` with fence {lease.fence} is lost: {holder} has it now",
        hint="stop consuming its drafts; nothing of this one was kept",
        agent=lease.agent,
        fence=lease.fence,
        holder=holder,
    )


def _after(now: datetime, seconds: float) -> str:
    """As every other time is written: UTC, with `Z`."""
    end = (now + timedelta(seconds=seconds)).astimezone(UTC)
    return f"{end.isoformat(timespec='microseconds')[:-6]}Z"
