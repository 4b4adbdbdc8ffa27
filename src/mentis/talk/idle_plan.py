"""When the agent thinks again while nobody writes: the plan, and who follows it.

A cycle begins with every first, second or third message, as the mode says. It has three phases,
each a while longer; a thought that came to nothing leads to the next, a message that was written
back to the last. A new message, another session or switching it off ends the cycle.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, TypeAlias

from anyio import CancelScope, Event, sleep

from mentis.errors import MentisError
from mentis.ports.chance import Chance
from mentis.ports.clock import Clock

from .afterthought import Afterthought

Mode: TypeAlias = Literal["off", "rare", "medium", "frequent"]
# After how many messages a cycle begins.
EVERY: dict[Mode, int] = {"off": 0, "rare": 3, "medium": 2, "frequent": 1}
# Seconds of silence, from and to.
PHASES: tuple[tuple[float, float], ...] = ((20.0, 45.0), (45.0, 60.0), (60.0, 120.0))

Think: TypeAlias = Callable[[str], Awaitable[Afterthought]]
Tell: TypeAlias = Callable[[Afterthought | MentisError], None]
Sleep: TypeAlias = Callable[[float], Awaitable[None]]


class IdlePlan:
    """The plan alone; it knows no clock but the times it is told."""

    def __init__(self, mode: Mode, chance: Chance) -> None:
        self.mode: Mode = mode
        self.session = ""
        self.due: float | None = None
        self.phase = 0
        self._chance = chance
        self._messages = 0

    def note_message(self, session: str, now: float) -> None:
        """Somebody wrote, and was answered: a cycle that was on is over, another may begin."""
        if session != self.session:
            self.cancel()
            self.session = session
        self.due = None
        self._messages += 1
        every = EVERY[self.mode]
        if every and self._messages % every == 0:
            self._arm(0, now)

    def note_wait(self, now: float) -> None:
        """It would rather wait: later, or no more in this cycle."""
        if self.phase + 1 < len(PHASES):
            self._arm(self.phase + 1, now)
        else:
            self.due = None

    def note_followup(self, now: float) -> None:
        self._arm(len(PHASES) - 1, now)

    def cancel(self) -> None:
        """Nothing is due any more, and messages are counted anew."""
        self.due, self.phase, self._messages = None, 0, 0

    def switch(self, mode: Mode) -> None:
        if mode != self.mode:
            self.cancel()
            self.mode = mode

    def _arm(self, phase: int, now: float) -> None:
        self.phase = phase
        self.due = now + self._chance.between(*PHASES[phase])


class IdleCycle:
    """Follows the plan: `run` it beside a conversation, and say `heard` after each answer."""

    def __init__(
        self,
        think: Think,
        plan: IdlePlan,
        clock: Clock,
        *,
        on_afterthought: Tell,
        wait: Sleep = sleep,
        following: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.plan = plan
        self._following = following
        self._think, self._clock, self._tell, self._sleep = think, clock, on_afterthought, wait
        self._changed = Event()
        self._scope: CancelScope | None = None
        self._idle = Event()
        self._idle.set()

    def note_message(self, session: str) -> None:
        self.plan.note_message(session, self._clock.monotonic())
        self._wake()

    def cancel(self) -> None:
        """End the cycle: another session, or switched off."""
        self.plan.cancel()
        self._wake()

    def switch(self, mode: Mode) -> None:
        self.plan.switch(mode)
        self._wake()

    async def hush(self) -> None:
        """Somebody writes: a thought that is being thought is broken off, and recorded so."""
        self.plan.due = None
        self._wake()
        await self._idle.wait()

    async def run(self) -> None:
        """Until it is cancelled."""
        with self._following():
            await self._run()

    async def _run(self) -> None:
        while True:
            changed = self._changed = Event()
            if self.plan.due is None:
                await changed.wait()
                continue
            try:
                with CancelScope() as self._scope:
                    await self._sleep(max(self.plan.due - self._clock.monotonic(), 0.0))
                    await self._moment()
            finally:
                self._scope = None
                self._idle.set()

    async def _moment(self) -> None:
        plan, session = self.plan, self.plan.session
        plan.due, self._idle = None, Event()
        try:
            thought = await self._think(session)
        except MentisError as error:
            self._tell(error)
            return
        now = self._clock.monotonic()
        plan.note_followup(now) if thought.followup is not None else plan.note_wait(now)
        self._tell(thought)

    def _wake(self) -> None:
        self._changed.set()
        if self._scope is not None:
            self._scope.cancel()
