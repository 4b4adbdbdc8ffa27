"""The key of a log and its anchors: made, changed, named."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mentis.errors import StoreError, UsageError
from mentis.ledger.checkpoint import read_note
from mentis.values.checkpoint import Pin
from mentis.values.entry import Entry

from .anchoring import open_anchor, read_anchors
from .logs import KeyChange
from .record import Record
from .sealing import Made, open_sealing
from .settings_edit import change_settings
from .settings_sources import load_settings


@dataclass(frozen=True, slots=True)
class AnchorState:
    """An anchor and the size of the newest checkpoint of this log that it knows."""

    name: str
    size: int | None
    fault: str = ""


def change_key(record: Record) -> tuple[Pin, tuple[Entry, ...]]:
    """A new key signs from now on; each chain of the home says so in an entry."""
    sealing = record.sealed()
    if sealing.folder.changing_to() is None:
        record.start()
    change = KeyChange(record.home, record.settings, sealing, record.store, record.stamp())
    pin, entries = change.run()
    now = open_sealing(record.home, load_settings(record.home.path, record.environ), record.environ)
    for agent in sorted({entry.agent for entry in entries}):
        if now is not None:
            now.checkpoint(record.store, agent)
    return pin, entries


def add_anchor(record: Record, name: str) -> Made:
    """Name it in the settings, once it has taken a checkpoint."""
    known = record.settings.model.ledger.anchors
    if name in known:
        raise UsageError(f"{name} is an anchor already", hint="see `mentis ledger anchor list`")
    anchor = open_anchor(record.home, name)
    record.start()
    made = replace(record.sealed(), anchors=(anchor,)).checkpoint(record.store, record.agent)
    if made.faults:
        raise StoreError(made.faults[0], hint="the settings were not changed")
    change_settings(record.home.path, "ledger", {"anchors": [*known, name]})
    return made


def list_anchors(record: Record) -> tuple[AnchorState, ...]:
    log = record.sealed().pin.log(record.agent)
    states: list[AnchorState] = []
    for anchor in record.sealed().anchors:
        notes, faults = read_anchors([anchor])
        says = [read_note(kept.note).checkpoint for kept in notes]
        size = max((one.size for one in says if one.origin == log), default=None)
        states.append(AnchorState(anchor.name, size, faults[0] if faults else ""))
    return tuple(states)
