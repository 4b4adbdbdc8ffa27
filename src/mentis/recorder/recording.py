"""A recording of one agent, opened on a home: where calls may go, and what takes their copies."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from mentis.home.closing import Closeable, closed_on_failure
from mentis.home.identity import RECORDED
from mentis.home.parts import Parts
from mentis.home.redaction import known_keys
from mentis.home.server import open_blobs
from mentis.memories.screening import open_screener
from mentis.record.agent_record import AgentRecord
from mentis.record.foreign_calls import ForeignCall, foreign_call, missing_calls
from mentis.record.record import Record, open_record
from mentis.settings.recorder import RecorderSettings, RepairRule
from mentis.values.entry import Entry

from .call_copy import CallCopy
from .queue import RecordingQueue
from .repair import Repairer
from .targets import CallTarget, known_targets
from .writer import CallWriter

_KEY_NAMES = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(?:_|$)")
_LEAST_KEY = 12  # characters; a shorter one would strike out ordinary words


@dataclass(slots=True)
class Recording(Closeable):
    """Takes calls (`offer`) until it is closed. `calls` and `missing` are those since it began.
    `repairer` is None where every byte is passed on as it came.
    """

    record: Record
    targets: dict[str, CallTarget]
    queue: RecordingQueue
    calls: list[ForeignCall] = field(default_factory=list[ForeignCall])
    missing: list[int] = field(default_factory=list[int])
    repairer: Repairer | None = None

    @property
    def agent(self) -> str:
        return self.record.agent

    @property
    def settings(self) -> RecorderSettings:
        return self.record.settings.model.recorder

    def offer(self, call: CallCopy) -> None:
        self.queue.offer(call)

    def busy(self) -> AbstractContextManager[None]:
        return self.queue.busy()

    def close(self) -> None:
        """Everything that waits is written first."""
        self.queue.close()
        self.record.close()


def open_recording(
    home: str | Path,
    name: str,
    *,
    tell: Callable[[str], None],
    on_call: Callable[[ForeignCall], None] | None = None,
    repair: Collection[RepairRule] | None = None,
    parts: Parts | None = None,
) -> Recording:
    """The record of `recorded/NAME` in this home; RolledBack where it is not what it was.

    `tell` hears what could not be recorded, `on_call` each call that was; both in other threads.
    `repair` are the rules by which calls are changed on their way; None: those of the settings.
    """
    parts = parts or Parts()
    record = open_record(home, f"{RECORDED}{name}", parts)
    with closed_on_failure(record):
        record.start()
        calls: list[ForeignCall] = []
        missing: list[int] = []

        def note(entry: Entry) -> None:
            call = foreign_call(entry)
            if call is not None:
                calls.append(call)
                if on_call is not None:
                    on_call(call)
            if count := missing_calls([entry]):
                missing.append(count)

        writer = CallWriter(
            AgentRecord(record.agent, record.ledger, record.clock, record.ids),
            open_blobs(record.home, record.database),
            lambda: parts.screener or open_screener(record.home.path),
            secrets=_secrets(record),
            on_entry=note,
            run=record.clock.now().strftime("%Y%m%dT%H%M%S.%fZ"),
        )
        limits = record.settings.model.recorder
        queue = RecordingQueue(
            writer, most_calls=limits.queue_calls, most_bytes=limits.queue_bytes, tell=tell
        )
        rules = limits.repair if repair is None else repair
        repairer = Repairer(rules) if rules else None
        return Recording(record, known_targets(record.settings), queue, calls, missing, repairer)


def _secrets(record: Record) -> tuple[str, ...]:
    """Keys that the settings name, and whatever the environment calls one."""
    named = known_keys(record.settings, record.environ).values()
    called = (
        text
        for name, text in record.environ.items()
        if _KEY_NAMES.search(name.upper()) and len(text) >= _LEAST_KEY
    )
    return tuple(dict.fromkeys((*named, *called)))
