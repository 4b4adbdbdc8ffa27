"""The key of a log and its anchors: made, changed, named."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mentis.errors import StoreDamaged, StoreError, UsageError
from mentis.ledger.checkpoint import read_note
from mentis.stores.sqlite.conversations import SqliteConversations
from mentis.values.checkpoint import Pin
from mentis.values.entry import Entry

from .anchoring import open_anchor, read_anchors, whole_name
from .audit import verify_agent
from .evidence import gather_home
from .logs import KeyChange
from .record import Record
from .sealing import Made, open_sealing
from .segment_files import open_segments
from .settings_edit import change_settings
from .settings_sources import load_settings


@dataclass(frozen=True, slots=True)
class AnchorState:
    """An anchor and the size of the newest checkpoint of this log that it knows."""

    name: str
    size: int | None
    fault: str = ""


def change_key(record: Record) -> tuple[Pin, tuple[Entry, ...]]:
    """A new key signs from now on; each chain of the home says so in an entry.

    Both keys sign for every agent of the home, so each is checked as a whole before.
    """
    sealing = record.sealed()
    _check_agents(record)
    change = KeyChange(
        record.home, record.settings, sealing, record.store, record.stamp(), record.environ
    )
    pin, entries = change.run()
    now = open_sealing(record.home, load_settings(record.home.path, record.environ), record.environ)
    for agent in sorted({entry.agent for entry in entries}):
        if now is not None:
            now.checkpoint(record.store, agent)
    return pin, entries


def _check_agents(record: Record) -> None:
    """RolledBack or StoreDamaged unless every chain is what is known of it, and verifies."""
    name = record.settings.model.name or record.home.name
    known = gather_home(record.home, record.settings, record.environ)
    agents = frozenset((*record.store.agents(), *known.agents()))
    for agent in sorted(one for one in agents if one.startswith(f"{name}/")):
        record.sealed().start(record.store, agent)
        persona = agent.rpartition("/")[2]
        segments = open_segments(record.home, record.settings, persona, agent)
        asked = replace(known, segments=segments, beside=agents)
        talk = SqliteConversations(record.database)
        if findings := verify_agent(agent, record.store, talk, asked).findings:
            raise StoreDamaged(
                f"no key is changed while the record of `{agent}` does not verify:"
                f" {findings[0].message}",
                hint="`mentis status verify` names what is wrong",
                agent=agent,
            )


def add_anchor(record: Record, name: str) -> Made:
    """Name it in the settings and beside the key, once it has taken a checkpoint."""
    sealing, named = record.sealed(), record.settings.model.ledger.anchors
    whole = whole_name(record.home, name)
    same = (one for one in sealing.strangers if whole_name(record.home, one) == whole)
    name = next(same, name)  # as the settings call it
    if name in named and name not in sealing.strangers:
        raise UsageError(f"{name} is an anchor already", hint="see `mentis ledger anchor list`")
    anchor = open_anchor(record.home, name)
    alone = replace(sealing, anchors=(anchor,), strangers=())
    made = alone.checkpoint(record.store, record.agent, since=record.compared().known)
    if made.faults:
        raise StoreError(made.faults[0], hint="the settings were not changed")
    sealing.folder.add_anchor(whole)
    if name not in named:
        change_settings(record.home.path, "ledger", {"anchors": [*named, name]})
    return made


def list_anchors(record: Record) -> tuple[AnchorState, ...]:
    log = record.sealed().pin.log(record.agent)
    states: list[AnchorState] = []
    for anchor in record.sealed().anchors:
        heard = read_anchors([anchor])
        says = [read_note(kept.note).checkpoint for kept in heard.notes]
        size = max((one.size for one in says if one.origin == log), default=None)
        states.append(AnchorState(anchor.name, size, heard.faults[0] if heard.faults else ""))
    sealing = record.sealed()
    unused = zip(sealing.strangers, sealing.strange(), strict=True)
    states.extend(AnchorState(name, None, why) for name, why in unused)
    return tuple(states)
