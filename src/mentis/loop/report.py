"""Report of a loop, counted while it runs; nothing in it grows with the time it runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from mentis.tick.cortex import TickResult

from .folder import RefusedSense

_MOST_REFUSED = 50


@dataclass(slots=True)
class RunReport:
    """`thought` are the ticks that asked the primary, `idle` those that had nothing to ask it,
    `failed` those of which nothing came; `skipped` were due while another one was still going on.
    `beats`, `deliveries`, `afterthoughts` and `updates` (of memory files) were made between ticks;
    `aside` are senses that no tick could take.
    `stopped` says why it ended: `ticks`, `asked`, `hibernate`, `budget`.
    """

    ticks: int = 0
    thought: int = 0
    idle: int = 0
    failed: int = 0
    skipped: int = 0
    slept: int = 0
    beats: int = 0
    deliveries: int = 0
    afterthoughts: int = 0
    updates: int = 0
    aside: int = 0
    senses: int = 0
    acts: int = 0
    patches: int = 0
    refusals: int = 0
    refused: list[RefusedSense] = field(default_factory=list[RefusedSense])  # the last of them
    stopped: str = ""
    told: str = ""  # in words, where there is more to say

    def add(self, ticked: TickResult, *, senses: int) -> None:
        report = ticked.tick.report
        self.thought += 1
        self.senses += senses
        self.acts += len(ticked.outcomes)
        if not ticked.unsaved:
            self.patches += sum(one.applied for one in (*report.goal_ops, *report.memory_ops))

    def refuse(self, refused: RefusedSense) -> None:
        self.refusals += 1
        self.refused = [*self.refused, refused][-_MOST_REFUSED:]
