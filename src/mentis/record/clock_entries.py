"""Entries about the clock alone: that it jumped, and that a person says it is right."""

from __future__ import annotations

from dataclasses import dataclass

from mentis.ports.clock import read_clock
from mentis.values.entry import Draft, Entry
from mentis.values.measured import (
    CLOCK,
    JUMP,
    SETTLED,
    ClockJump,
    jump_between,
    reading_of,
    unsettled_jumps,
)
from mentis.values.timeline import clock_time

from .agent_record import AgentRecord
from .record import Record

JUMPS_LOOKED_BACK = 256  # entries among which jumps are looked for that nobody has settled


@dataclass(frozen=True, slots=True)
class SettledClock:
    """The entry that says so, and the jumps that count for nothing from then on."""

    entry: Entry
    jumps: tuple[ClockJump, ...]


def note_jump(record: AgentRecord) -> Entry | None:
    """Record that the wall clock has jumped since the last entry, if that was measured. It blocks.

    Where nothing was measured the next entry itself says that the clock had gone back.
    """
    now = record.reading()
    for last in record.latest(1):
        before = reading_of(last)
        jump = jump_between(before, now) if before.boot and before.boot == now.boot else None
        if jump:
            seen = {"seconds": round(jump.total_seconds()), "before": clock_time(last).isoformat()}
            return record.append(CLOCK, {JUMP: seen})
    return None


def open_jumps(record: AgentRecord) -> tuple[ClockJump, ...]:
    """Jumps that limits of the day still reckon with. It blocks."""
    return unsettled_jumps(record.latest(JUMPS_LOOKED_BACK), record.reading())


def settle_clock(record: Record, *, reason: str) -> SettledClock:
    """Say that the clock is right now: limits by the day and the hour go by it alone from here.

    What happened before counts at its measured time; what was recorded by a clock that was ahead
    of this, and cannot be measured, counts no more.
    """
    jumps = unsettled_jumps(record.last(JUMPS_LOOKED_BACK), read_clock(record.clock))
    told = {"reason": reason, "jumps": len(jumps)}
    draft = Draft(CLOCK, "owner", {SETTLED: told})
    (entry,) = record.ledger.append(record.agent, [draft], record.stamp())
    return SettledClock(entry, jumps)


def settled_clock_data(done: SettledClock) -> dict[str, object]:
    """As JSON: the same for every surface."""
    rows = [{"seconds": j.seconds, "shown": j.shown, "entry": j.entry} for j in done.jumps]
    return {"entry": done.entry.index, "jumps": rows}
