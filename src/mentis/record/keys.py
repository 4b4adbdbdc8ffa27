"""The key of a log and its anchors: made, changed, named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mentis.errors import StoreDamaged, StoreError, UsageError
from mentis.home.anchors import WITNESS, open_anchor, read_anchors, whole_name
from mentis.home.identity import RECORDED, home_name, persona_of
from mentis.home.ledger import own_agents
from mentis.home.log_identity import KeyChange
from mentis.home.signing import (
    SignedCheckpoint,
    anchors_of_environment,
    left_out,
    open_sealing,
    strange,
)
from mentis.ledger.checkpoint import read_note
from mentis.settings.edit import change_settings
from mentis.settings.sources import load_settings
from mentis.values.checkpoint import Pin
from mentis.values.entry import Entry
from mentis.values.words import quantity

from .evidence import gather_home_evidence
from .record import Record
from .segments import open_segments
from .verify import verify_agent


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
    sealing = record.require_sealing()
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
    own = home_name(record.home, record.settings)
    known = gather_home_evidence(record.home, record.settings, record.environ)
    here = own_agents(record.store, record.settings, record.home, record.sealing)
    gone = (one for one in known.agents() if one.startswith((f"{own}/", RECORDED)))
    agents = frozenset((*record.store.agents(), *known.agents()))
    for agent in sorted({*here, *gone}):
        record.require_sealing().start(record.store, agent)
        persona = persona_of(agent, own)
        segments = open_segments(record.home, record.settings, persona, agent)
        asked = replace(known, segments=segments, beside=agents)
        if findings := verify_agent(agent, record.store, record.talk, asked).findings:
            raise StoreDamaged(
                f"no key is changed while the record of `{agent}` does not verify:"
                f" {findings[0].message}",
                hint="`mentis verify` names what is wrong",
                agent=agent,
            )


def add_anchor(record: Record, name: str) -> SignedCheckpoint:
    """Name it in the settings and beside the key, once it has taken a checkpoint."""
    sealing, named = record.require_sealing(), record.settings.model.ledger.anchors
    whole = whole_name(record.home, name)
    name = next(_same(record, whole), name)  # as the settings call it
    if name in named and name not in sealing.strangers:
        raise UsageError(f"{name} is an anchor already", hint="see `mentis ledger anchor list`")
    anchor = open_anchor(record.home, name, origin=sealing.pin.origin, new=True)
    alone = replace(sealing, anchors=(anchor,), strangers=(), unnamed=())
    made = alone.checkpoint(record.store, record.agent, since=record.signable_ledger().known)
    if made.faults:
        raise StoreError(made.faults[0], hint="the settings were not changed")
    sealing.folder.add_anchor(whole)
    if name not in named:
        change_settings(record.home.path, "ledger", {"anchors": [*named, name]})
    return made


def remove_anchor(record: Record, name: str) -> None:
    """Take it out of the settings and from beside the key. What it knows stays where it is."""
    folder, named = record.require_sealing().folder, record.settings.model.ledger.anchors
    if anchors_of_environment(record.settings):
        raise UsageError(
            "the anchors are those of the environment", hint="change MENTIS_LEDGER__ANCHORS"
        )
    whole = whole_name(record.home, name)
    same = tuple(_same(record, whole))
    if not same and whole not in folder.anchors():
        raise UsageError(f"{name} is no anchor here", hint="see `mentis ledger anchor list`")
    sealing = record.require_sealing()
    left_over = sum(anchor.witness is not None for anchor in sealing.anchors if anchor.name != name)
    if name.startswith(f"{WITNESS}:") and left_over < sealing.policy.quorum:
        raise UsageError(
            f"{quantity(sealing.policy.quorum, 'witness', 'witnesses')} must sign, and without this"
            f" one there are {left_over}",
            hint=f"ask for fewer first: mentis ledger anchor quorum {left_over}",
        )
    if same:
        left = [one for one in named if one not in same]
        change_settings(record.home.path, "ledger", {"anchors": left})
    # Last: cut short before this, the settings leave it out, which is told.
    folder.remove_anchor(whole)


def pin_quorum(record: Record, number: int) -> None:
    """From now on, `verify` asks for so many cosignatures below a checkpoint."""
    sealing = record.require_sealing()
    witnesses = len(sealing.policy.witnesses)
    if number > witnesses:
        raise UsageError(
            f"{number} witnesses cannot be asked for: {witnesses} are anchors here",
            hint="add one: mentis ledger anchor add --witness URL --key NAME+ID+KEY",
        )
    sealing.folder.pin_quorum(number)


def _same(record: Record, whole: str) -> Iterator[str]:
    """As the settings call it."""
    for name in record.settings.model.ledger.anchors:
        if whole_name(record.home, name) == whole:
            yield name


def list_anchors(record: Record) -> tuple[AnchorState, ...]:
    sealing = record.require_sealing()
    log = sealing.pin.log(record.agent)
    states: list[AnchorState] = []
    for anchor in sealing.anchors:
        heard = read_anchors([anchor])
        says = [read_note(kept.note).checkpoint for kept in heard.notes]
        size = max((one.size for one in says if one.origin == log), default=None)
        faults = [
            *heard.unread,
            *([left_out(anchor.name)] if anchor.name in sealing.unnamed else []),
        ]
        states.append(AnchorState(anchor.name, size, "; ".join(faults)))
    states.extend(AnchorState(name, None, strange(name)) for name in sealing.strangers)
    return tuple(states)
