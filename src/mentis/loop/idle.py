"""The idle gate: whether there is anything to think about, asked before a model is."""

from __future__ import annotations

from dataclasses import dataclass

from mentis.tick.cortex import Backlog


@dataclass(slots=True)
class IdleGate:
    """`every`: with drives or open goals it thinks at least every so many ticks; 0 is never. A gate
    that is not `on` lets every tick think.
    """

    on: bool = True
    every: int = 60
    still: int = 0  # ticks in a row without a thought

    def why(self, waiting: Backlog, *, senses: int = 0, woke: bool = False) -> str:
        """What there is to think about; "" is nothing, and the tick costs nothing."""
        reason = self._reason(waiting, senses, woke=woke)
        self.still = 0 if reason else self.still + 1
        return reason

    def _reason(self, waiting: Backlog, senses: int, *, woke: bool) -> str:
        if senses:
            return "senses"
        if waiting.news or waiting.left:
            return "outcomes"
        if woke:
            return "woke"
        if not self.on:
            return "always"
        due = self.every and self.still + 1 >= self.every
        if not due:
            return ""
        return "goals" if waiting.goals else "drives" if waiting.drives else ""
