"""Sums while they grow."""

from __future__ import annotations

from dataclasses import dataclass

from mentis.values.reply import Usage

from .breaks import LogBreak
from .calls import LoggedCall
from .prices import CallParts, LogTariff
from .report import LogSum

# What a program does to keep its prompt short is no waste, though the cache pays for it.
MEANT = ("compacted",)


@dataclass(slots=True)
class LogTally:
    calls: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    long_writes: int = 0
    fresh: float = 0.0
    read: float = 0.0
    written: float = 0.0
    answered: float = 0.0
    other: float = 0.0
    unpriced: int = 0
    lost: int = 0
    lost_usd: float = 0.0
    waste: int = 0
    waste_usd: float = 0.0

    def add(self, call: LoggedCall, tariff: LogTariff, parts: CallParts) -> None:
        usage = call.usage
        self.calls += 1
        self.input += usage.input
        self.output += usage.output
        self.cache_read += usage.cache_read
        self.cache_write += usage.cache_write
        self.reasoning += usage.reasoning
        self.long_writes += call.long_writes
        if tariff.known:
            self.fresh += parts.fresh
            self.read += parts.read
            self.written += parts.written
            self.answered += parts.output
        elif call.usd is not None:
            self.other += call.usd
        else:
            self.unpriced += 1

    def add_all(self, other: LogTally) -> None:
        for name in LogTally.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def add_break(self, broke: LogBreak) -> None:
        self.lost += broke.tokens
        self.lost_usd += broke.usd
        if broke.cause not in MEANT:
            self.waste += broke.tokens
            self.waste_usd += broke.usd

    def sum(self) -> LogSum:
        usage = Usage(self.input, self.output, self.cache_read, self.cache_write, self.reasoning)
        return LogSum(
            self.calls,
            usage,
            self.long_writes,
            self.fresh,
            self.read,
            self.written,
            self.answered,
            self.other,
            self.unpriced,
            self.lost,
            self.lost_usd,
            self.waste,
            self.waste_usd,
        )
