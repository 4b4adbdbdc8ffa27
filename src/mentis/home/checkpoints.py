"""A ledger store that has checkpoints made of what is appended to it.

After the append, never inside its transaction: a checkpoint that cannot be made is told, and what
was recorded stays recorded. Before the first append it is made sure that nothing was rolled back.
While nothing is appended an alarm sees to it that what has no checkpoint yet gets one in time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Lock

from mentis.errors import MentisError, StoreLocked
from mentis.ledger.checkpoint import Policy, due
from mentis.ports.entries import Stamp
from mentis.ports.ledger_store import LedgerStore
from mentis.values.checkpoint import Standing
from mentis.values.entry import Before, Draft, Entry
from mentis.values.lease import Lease
from mentis.values.mark import Mark
from mentis.values.turn_writes import TurnWrites

from .entry_log import log_entries
from .signing import Sealing
from .system import set_alarm

Tell = Callable[[str], None]
# Rings once, after so many seconds; what it returns stops it.
Alarm = Callable[[float, Callable[[], None]], Callable[[], None]]

_SOONEST = 1.0  # one that fails again and again is no reason to do nothing else


def log_note(text: str) -> None:
    """Goes to standard error, unless the program that uses us says otherwise."""
    logging.getLogger("mentis.ledger").warning("note: %s", text)


@dataclass(slots=True)
class _Course:
    """One agent's chain since it was opened: what was compared or sealed, and what came since."""

    standing: Standing | None
    sealed: int
    size: int
    oldest: datetime | None = None  # of what was appended here and has no checkpoint yet
    disarm: Callable[[], None] | None = None  # while an alarm is set
    refused: bool = False  # the last checkpoint, by a witness that has seen more or other


class CheckpointedLedger:
    def __init__(
        self,
        store: LedgerStore,
        sealing: Sealing,
        policy: Policy,
        *,
        tell: Tell = log_note,
        alarm: Alarm = set_alarm,
        replaced: Callable[[], int] = lambda: 0,
    ) -> None:
        self.inner = store
        self._replaced = replaced  # how often another store stood in the place of this one
        self._seen_replaced = replaced()
        self._sealing = sealing
        self._policy = policy
        self._tell = tell
        self._alarm = alarm
        self._closed = False
        self._courses: dict[str, _Course] = {}
        self._told: set[str] = set()
        self._lock = Lock()
        # All else is as the store has it.
        self.remains, self.drop_before = store.remains, store.drop_before
        self.snapshot, self.together = store.snapshot, store.together
        self.entries, self.latest, self.head = store.entries, store.latest, store.head
        self.find, self.find_delivery, self.hashes = store.find, store.find_delivery, store.hashes
        self.last_of = store.last_of
        self.dropped_as, self.dropped_deliveries = store.dropped_as, store.dropped_deliveries
        self.forget_delivery = store.forget_delivery
        self.count, self.tally, self.gaps = store.count, store.tally, store.gaps
        self.agents, self.misnamed_agents, self.damage = (
            store.agents,
            store.misnamed_agents,
            store.damage,
        )
        self.marks, self.mark = store.marks, store.mark
        self.add_turn, self.turns, self.sessions = store.add_turn, store.turns, store.sessions
        self.last_turns, self.title = store.last_turns, store.title
        self.count_turns, self.turning_points = store.count_turns, store.turning_points
        self.pending_turns = store.pending_turns
        self.keep_checkpoint, self.checkpoints = store.keep_checkpoint, store.checkpoints
        self.take_lease, self.renew_lease = store.take_lease, store.renew_lease
        self.release_lease, self.lease = store.release_lease, store.lease

    def begin(self, agent: str) -> None:
        """RolledBack unless the ledger is what its last checkpoint saw, or longer."""
        self._start_again()
        if course := self._courses.get(agent):
            if not course.sealed:  # another home may have been first meanwhile
                self._sealing.refuse_foreign(self.inner, agent)
            if course.refused:
                self._sealing.start(self.inner, agent)
            return
        standing, sealed = self._sealing.start(self.inner, agent)
        known, size = standing if standing.size else None, self.inner.count(agent)
        course = self._courses.setdefault(agent, _Course(known, sealed, size))
        self._arm(agent, course)  # somebody may have appended and died

    def _begun(self, agent: str, stamp: Stamp) -> Stamp:
        """The stamp for what was compared just now, and for nothing that stands there since."""
        replaced = self._replaced()
        self.begin(agent)

        def still(agent: str, head: Before | None, draft: Draft) -> Entry:
            if self._replaced() != replaced:
                raise StoreLocked(
                    f"the ledger of `{agent}` was replaced just now", hint="try again", moved=True
                )
            return stamp(agent, head, draft)

        return still

    def _start_again(self) -> None:
        """What stands there now is not what was compared."""
        if (replaced := self._replaced()) == self._seen_replaced:
            return
        with self._lock:
            courses, self._courses = self._courses, {}
            self._seen_replaced = replaced
            for course in courses.values():
                self._disarm(course)

    def standing(self, agent: str) -> Standing | None:
        """Where it stood when it was last compared, so that the next look begins there."""
        self.begin(agent)
        course = self._courses.get(agent)
        return course.standing if course else None

    def append(
        self,
        agent: str,
        drafts: Sequence[Draft],
        stamp: Stamp,
        *,
        lease: Lease | None = None,
        marks: Sequence[Mark] = (),
        turns: TurnWrites | None = None,
    ) -> tuple[Entry, ...]:
        stamp = self._begun(agent, stamp)
        made = self.inner.append(agent, drafts, stamp, lease=lease, marks=marks, turns=turns)
        log_entries(agent, made)
        self._grown(agent, made)
        return made

    def erase(
        self,
        agent: str,
        index: int,
        fields: Collection[str],
        *,
        draft: Draft,
        stamp: Stamp,
        marks: Sequence[Mark] = (),
        turns: TurnWrites | None = None,
    ) -> Entry:
        stamp = self._begun(agent, stamp)
        tombstone = self.inner.erase(
            agent, index, fields, draft=draft, stamp=stamp, marks=marks, turns=turns
        )
        self._grown(agent, (tombstone,))
        return tombstone

    def close(self) -> None:
        with self._lock:  # an alarm that rings just now is waited for
            self._closed = True
            for agent, course in self._courses.items():
                self._disarm(course)
                if course.oldest is not None:
                    self._seal(agent, course)
        self.inner.close()

    def _grown(self, agent: str, made: Sequence[Entry]) -> None:
        course = self._courses.get(agent)  # None: replaced since, so there is nothing to seal
        fresh = [entry for entry in made if entry.index >= course.sealed] if course else []
        if course is None or not fresh:
            return
        course.size = max(course.size, fresh[-1].index + 1)
        if course.oldest is None:
            course.oldest = datetime.fromisoformat(fresh[0].time)
        self._look(agent, course, datetime.fromisoformat(fresh[-1].time))

    def _look(self, agent: str, course: _Course, now: datetime) -> None:
        if course.oldest is None:
            return
        # Others tell by a first checkpoint whose chain it is.
        unclaimed = self._sealing.shared and not course.sealed
        is_due = due(self._policy, course.size, now, last=(course.sealed, course.oldest))
        if not (unclaimed or is_due):
            self._arm(agent, course)
            return
        if not self._lock.acquire(blocking=False):
            return  # another thread is at it
        try:
            self._seal(agent, course)
            self._disarm(course)
        finally:
            self._lock.release()
        self._arm(agent, course)

    def _arm(self, agent: str, course: _Course) -> None:
        if course.disarm is None and course.size > course.sealed and not self._closed:
            seconds = max(self._policy.seconds, _SOONEST)
            course.disarm = self._alarm(seconds, lambda: self._ring(agent, course))

    def _disarm(self, course: _Course) -> None:
        disarm, course.disarm = course.disarm, None
        if disarm is not None:
            disarm()

    def _ring(self, agent: str, course: _Course) -> None:
        """So many seconds nobody has sealed what is there; one that fails is tried again."""
        with self._lock:
            course.disarm = None
            if self._closed or self._courses.get(agent) is not course:
                return
            if course.size > course.sealed:
                self._seal(agent, course)
        self._arm(agent, course)

    def _seal(self, agent: str, course: _Course) -> None:
        """Whoever calls holds the lock."""
        try:
            made = self._sealing.checkpoint(self.inner, agent, since=course.standing)
        except MentisError as error:
            self._say(f"no checkpoint could be made: {error.message}; {error.hint}")
        else:
            course.standing, course.sealed = made.standing, made.standing.size
            course.size, course.oldest = max(course.size, course.sealed), None
            course.refused = made.refused
            for fault in made.faults:
                self._say(fault)

    def _say(self, text: str) -> None:
        if text not in self._told:  # once, not after every entry
            self._told.add(text)
            self._tell(text)
