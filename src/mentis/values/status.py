"""Answers of the service of status windows: what became of a draft, and what stands there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .entry import Entry
from .guardian import Judgement, Receipt
from .health import Health
from .json import JsonObject
from .value import Value


@dataclass(frozen=True, slots=True)
class WindowResult(Value):
    """What became of a draft: an entry, or a file that waits because the store is down.

    `spooled` is its delivery there, `health` why. `known`: the delivery was an entry already.
    """

    entry: Entry | None
    judgement: Judgement | None
    total: int
    receipt: Receipt
    window: JsonObject | None = None
    known: bool = False
    spooled: str | None = None
    health: Health | None = None

    @property
    def line(self) -> str:
        """What an acknowledgement looks for; empty when there is no entry."""
        if self.entry is None:
            return ""
        return f"Added to history: {self.entry.hash[:16]}... (total: {self.total})"


@dataclass(frozen=True, slots=True)
class Stats(Value):
    """Counts over one agent's ledger. `sources` and `kinds` count the entries that are kept.

    What was imported counts by the time and the source it had where it comes from; `unverified` of
    that could not be verified.
    """

    agent: str
    total_entries: int
    oldest_timestamp: str | None
    newest_timestamp: str | None
    sources: Mapping[str, int]
    kinds: Mapping[str, int]
    windows: int
    store: str
    file: str | None = None
    file_size_bytes: int | None = None
    imported: int = 0
    unverified: int = 0


@dataclass(frozen=True, slots=True)
class BackendState(Value):
    """What the next window has to repeat or obey: step, cycle, audit, breach, head of the chain.

    Where the state cannot be had, the step is `unknown`, the cycle `0/5`, and `reason` says why.
    `unsure`: nobody knows whether the last window was kept.
    """

    agent: str
    step_id: str
    cycle: str
    audit_due: bool
    after_breach: bool
    chain_head: str | None
    head_time: str | None
    total_entries: int
    profile: str
    status: str
    reason: str
    routes: tuple[str, ...] = ()
    unsure: bool = False


@dataclass(frozen=True, slots=True)
class ImportedHistory(Value):
    """A history that was taken over: how much of it was new, and where it begins."""

    added: int
    known: int
    total: int
    head: str | None
    begins_after: str | None
    unverified: int = 0
