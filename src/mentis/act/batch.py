"""The outcomes of one dispatch: told to its caller in the order of the actions, as they come."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from mentis.values.act import ActCall
from mentis.values.action import Outcome

from .journal import OnMedia


@dataclass(eq=False, slots=True)
class Slot:
    """One action: whether it is being done, and what came of it."""

    call: ActCall
    running: bool = False
    outcome: Outcome | None = None
    tell: Callable[[], None] = field(default=lambda: None)

    def settle(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.tell()


class Batch:
    def __init__(
        self,
        slots: Sequence[Slot],
        outcomes: list[Outcome],
        on_outcome: Callable[[Outcome], None] | None = None,
        *,
        on_media: OnMedia | None = None,
    ) -> None:
        self.slots = slots
        self.on_media = on_media
        self.cancel: Callable[[], None] = lambda: None
        self.interrupt: KeyboardInterrupt | None = None
        self._outcomes = outcomes
        self._on_outcome = on_outcome
        self._told = 0
        for slot in slots:
            slot.tell = self._tell

    def stop(self, interrupt: KeyboardInterrupt) -> None:
        """Ctrl-C: everything ends, is recorded, and then it is raised."""
        self.interrupt = interrupt
        self.cancel()

    @contextmanager
    def ensure_outcomes(self) -> Generator[None]:
        """Whatever happens inside, each action has an outcome after it."""
        try:
            yield
        finally:
            for slot in self.slots:
                if slot.outcome is None:
                    state, reason = "refused", "broken off before it began; this is not recorded"
                    if slot.running:
                        state = "unknown"
                        reason = "broken off after it began; what came of it is not recorded"
                    slot.outcome = Outcome(
                        slot.call.action, state, reason=reason, key=slot.call.key
                    )
            self._tell()

    def _tell(self) -> None:
        for slot in self.slots[self._told :]:
            if slot.outcome is None:
                return
            self._told += 1
            self._outcomes.append(slot.outcome)
            if self._on_outcome is not None:
                self._on_outcome(slot.outcome)
