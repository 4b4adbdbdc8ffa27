"""Homes of ours: their records are logs like others, with the losses that were found back then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import cast, get_args

from mentis.ask.recorded_calls import RecordedCall, calls_in
from mentis.costs.entry_costs import session_of
from mentis.costs.record_reader import record_reader
from mentis.errors import MentisError
from mentis.home.database import open_database
from mentis.home.ledger import agents_here, open_ledger
from mentis.home.parts import Parts
from mentis.record.foreign_calls import ForeignCall, LossReason, foreign_call
from mentis.settings.sources import load_settings
from mentis.stores.files.home import find_home
from mentis.values.entry import Entry
from mentis.values.route import Backend

from .calls import BreakCause, KnownLoss, LoggedCall, LogPlace
from .timestamps import seconds_of

MENTIS = "mentis"
_CAUSES: Mapping[LossReason, BreakCause] = {
    "changed": "changed",
    "reordered": "reordered",
    "rewritten": "rewritten",
    "unmarked": "unmarked",
    "ended": "idle",
    "unknown": "unknown",
}
_REPAIRED: Mapping[str, BreakCause] = {"clock": "clock", "nonce": "nonce"}


def read_home(path: Path, say: Callable[[str], None]) -> Iterator[LoggedCall]:
    """The calls of all agents of a home, and of those it recorded. Nothing is written."""
    try:
        yield from _read(path)
    except MentisError as error:
        say(f"its record cannot be read: {error.message}")


def _read(path: Path) -> Iterator[LoggedCall]:
    home, parts = find_home(path), Parts()
    settings = load_settings(home.path, parts.variables)
    if settings.model.ledger.store == "sqlite" and not home.database.exists():
        return  # nothing was recorded yet
    with (
        open_database(home, settings, parts.variables, readonly=True) as database,
        closing(open_ledger(settings, database, parts.variables)) as ledger,
    ):
        for agent in agents_here(ledger, settings, home, None):
            reader = record_reader(agent, ledger, home, settings, replay=None)
            with reader.snapshot() as source:
                for entry in source.entries():
                    yield from _calls(agent, entry)


def _calls(agent: str, entry: Entry) -> Iterator[LoggedCall]:
    foreign = foreign_call(entry)
    for number, one in enumerate(calls_in(entry)):
        if not one.planned:
            yield _call(agent, entry, one, foreign, number=number)


def _call(
    agent: str, entry: Entry, one: RecordedCall, foreign: ForeignCall | None, *, number: int
) -> LoggedCall:
    backend = one.backend if one.backend in get_args(Backend) else "openai"
    named = foreign.session if foreign else session_of(entry)
    thread = str(foreign.thread or "") if foreign else ""
    return LoggedCall(
        agent if foreign else MENTIS,
        LogPlace(agent, entry.index),
        f"{agent}: {named}" if named else agent,
        one.model,
        cast("Backend", backend),
        one.usage,
        thread,
        seconds_of(entry.time),
        known=_known(foreign) if foreign else None,
        key=f"{agent}:{entry.index}:{number}",
        project=agent,
        usd=None if one.usd is None else float(one.usd),
        judged=foreign is not None,
    )


def _known(call: ForeignCall) -> KnownLoss | None:
    if not call.lost or call.reason is None:
        return None
    cause = _REPAIRED.get(call.repair) or _CAUSES[call.reason]
    byte = -1 if call.byte is None else call.byte
    return KnownLoss(cause, call.lost, call.place, call.pointer, byte)
