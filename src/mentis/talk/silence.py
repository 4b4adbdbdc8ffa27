"""When a talk has been silent long enough for an afterthought, as the record says.

The same plan as `IdlePlan` follows in a terminal, told from entries instead of kept in memory:
whoever is killed and starts again comes to the same moment, and thinks no thought twice. It is
about the talk that somebody spoke in last.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypeVar, cast

from anyio import create_task_group, sleep, to_thread

from mentis.errors import MentisError, StoreLocked
from mentis.home.identity import Identity
from mentis.ports.turns import Turns
from mentis.record.agent_record import AgentRecord
from mentis.record.threads import is_message, standing_numbers
from mentis.settings.sources import LiveSettings
from mentis.turn.session_lock import is_followed
from mentis.values.entry import Entry
from mentis.values.measured import ClockReading, MeasuredTimeline, reading_of
from mentis.values.memo import IdentityMemo
from mentis.values.value import Value

from .afterthought import DECISION, FOLLOWUP
from .idle_plan import EVERY, PHASES
from .talking import afterthought_mode

T = TypeVar("T")
_LOOKED_BACK = 256
_COUNTED = IdentityMemo[int](64)
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class DueAfterthought(Value):
    """In this session, since the entry `after`; `due` is when to think about it."""

    session: str
    after: int
    due: datetime


def due_afterthought_of(
    record: AgentRecord, who: Identity, live: LiveSettings, *, most: int
) -> DueAfterthought | None:
    """The next afterthought; None where none is to come, or somebody else sees to it. `most` is
    how many messages may follow on each other that nobody answers. It blocks.
    """
    every = EVERY[afterthought_mode(live.current()[0])]
    if not every or is_followed(who):
        return None
    turns = record.latest(_LOOKED_BACK, kind="turn")
    entries = _since_spoken(turns)
    phase = _phase(entries, most) if entries else None
    if phase is None:
        return None
    session = str(_turn(entries[0])["session"])
    messages = count_messages(record, session)
    if messages is None or messages % every:
        return None
    last = entries[-1]
    begun = _time_of(last, turns, record.reading())
    return DueAfterthought(session, last.index, begun + timedelta(seconds=_drawn(last, phase)))


def count_messages(record: AgentRecord, session: str) -> int | None:
    """How many messages count in this talk; None while one of them waits for its answer."""
    ledger, agent = record.ledger, record.agent
    if ledger.pending_turns(agent, session):
        return None
    length = ledger.count_turns(agent, session)  # what has ended stays, so it tells all of it
    make = partial(_count, agent, session, length)
    return _COUNTED.remember(make, ledger, key=(agent, session, length))


def _count(agent: str, session: str, length: int, ledger: Turns) -> int:
    turns = ledger.turns(agent, session, before=length)
    return sum(is_message(turns[number]) for number in standing_numbers(turns))


async def unless_somebody_speaks(
    record: AgentRecord,
    session: str,
    work: Callable[[], Awaitable[T]],
    *,
    break_off: Callable[[], None],
    poll: float,
    is_awaited: Callable[[], bool] = lambda: False,
) -> T:
    """Do it, and look every `poll` seconds whether somebody speaks meanwhile, or waits to: then
    break it off.

    A store that is busy is looked at again later. Where it cannot be read at all nobody would be
    heard: that breaks it off too, and is the error that is raised.
    """
    before = await to_thread.run_sync(count_messages, record, session)
    made, failures = list[T](), list[MentisError]()

    async def listen() -> None:
        failure = None
        try:
            while not is_awaited() and await to_thread.run_sync(  # noqa: ASYNC110  # in another process
                _is_still, record, session, before
            ):
                await sleep(poll)
        except MentisError as error:
            failure = error
        if beside.cancel_scope.cancel_called:
            return  # the work ended during this look: whatever goes on now is something else
        failures.extend([failure] if failure is not None else [])
        break_off()

    async with create_task_group() as beside:
        beside.start_soon(listen)
        try:
            made.append(await work())
        except MentisError as error:  # as it is, not as one of a group
            failures.insert(0, error)
        finally:
            beside.cancel_scope.cancel()
    if failures:
        raise failures[0]
    return made[0]


def _is_still(record: AgentRecord, session: str, before: int | None) -> bool:
    try:
        return count_messages(record, session) == before
    except StoreLocked:
        return True


def _since_spoken(turns: Sequence[Entry]) -> list[Entry]:
    """The entry of the last message that was answered, and the afterthoughts since."""
    for place, entry in reversed([*enumerate(turns)]):
        turn = _turn(entry)
        if "fork" in entry.body or not turn or "inner" in turn or "mode" in turn:
            continue
        if "failure" in turn:
            return []
        later = (one for one in turns[place + 1 :] if _turn(one).get("session") == turn["session"])
        return [entry, *(one for one in later if _turn(one).get("inner") in (DECISION, FOLLOWUP))]
    return []


def _phase(entries: Sequence[Entry], most: int) -> int | None:
    """Each decision leads to the next phase, a message back to the last; what failed or was broken
    off ends the cycle.
    """
    phase = wrote = 0
    for turn in map(_turn, entries[1:]):
        if "failure" in turn or turn.get("stop") == "interrupted":
            return None
        followed_up = turn.get("inner") == FOLLOWUP
        wrote += followed_up
        phase = len(PHASES) - 1 if followed_up else phase + 1
    return phase if phase < len(PHASES) and wrote < most else None


def _time_of(entry: Entry, turns: Sequence[Entry], now: ClockReading) -> datetime:
    """When the silence after it began, whatever the clock showed before and since."""
    timeline = MeasuredTimeline[int](_LONG_AGO, now)
    for turn in turns:
        timeline.add(reading_of(turn), turn.index)
    return next(time for time, index in timeline.dated_items() if index == entry.index)


def _drawn(entry: Entry, phase: int) -> float:
    """By chance, but for one entry always the same: its hash draws it."""
    low, high = PHASES[phase]
    return low + (high - low) * int(entry.hash[-8:], 16) / 0xFFFFFFFF


def _turn(entry: Entry) -> Mapping[str, object]:
    found = entry.body.get("turn")
    return cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}
