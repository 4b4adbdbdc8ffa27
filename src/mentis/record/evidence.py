"""Evidence to check a record with: pin, checkpoints here and at anchors, segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mentis.home.anchors import read_anchors
from mentis.home.copies import original_of
from mentis.home.identity import agent_id
from mentis.home.server import is_served, reach_blobs
from mentis.home.signing import (
    NO_PIN_HINT,
    Sealing,
    open_key_folder,
    open_pin,
    open_sealing,
    swapped_identity,
)
from mentis.ledger.anchors import read_given
from mentis.settings.settings import Settings
from mentis.stores.files.home import Home
from mentis.stores.files.key_folder import VERIFIED, config_folder
from mentis.stores.files.known_homes import KnownHomes
from mentis.stores.files.own import check_own
from mentis.values.checkpoint import KeptNote

from .segments import open_segments
from .source import lock_changes
from .verify import Progress, VerifyEvidence


def gather_evidence(
    home: Home,
    settings: Settings,
    environ: Mapping[str, str],
    *,
    persona: str,
    checkpoints: Sequence[Path] = (),
    progress: Progress | None = None,
) -> VerifyEvidence:
    """For one agent. `checkpoints` are files of notes that somebody kept elsewhere."""
    agent = agent_id(home, settings, persona)
    known = gather_home_evidence(home, settings, environ, checkpoints=checkpoints)
    segments = open_segments(home, settings, persona, agent)
    return replace(known, segments=segments, progress=progress)


def gather_home_evidence(
    home: Home, settings: Settings, environ: Mapping[str, str], *, checkpoints: Sequence[Path] = ()
) -> VerifyEvidence:
    """For all agents, but for their segments."""
    given = tuple(kept for file in checkpoints for kept in read_given(file))
    sealing = open_sealing(home, settings, environ)
    notes, remarks = ((), (_NO_KEY,)) if sealing is None else _known(sealing)
    return VerifyEvidence(
        pin=replace(sealing.pin, policy=sealing.policy) if sealing else None,
        outside=(*given, *notes),
        remarks=(*remarks, *_not_compared(settings)),
        swapped=swapped_identity(home, settings, environ),
        alone=lambda: lock_changes(home, settings),
        blobs=reach_blobs(home, settings, environ),
        home=None if is_served(settings) else home.path,
        folder=home.path,
    )


def _not_compared(settings: Settings) -> tuple[str, ...]:
    """Memories on a server whose record is in the home: no entry is written with them in one step,
    and a turn does not wait for a server that may be away.
    """
    apart = settings.model.memories.store != "sqlite" and settings.model.ledger.store == "sqlite"
    return (_APART,) if apart else ()


def verified_file(
    home: Home, settings: Settings, environ: Mapping[str, str], *, agent: str
) -> Path:
    """Where is kept how far a chain was verified: beside the keys, which the home cannot touch."""
    pin, config = open_pin(settings), config_folder(environ)
    if pin is None or original_of(home, settings, environ) is not None:
        place = KnownHomes(config).verified_file(home.path, agent)
    else:
        kept = open_key_folder(home, pin.origin, environ).kept_file(agent)
        place = kept.with_name(f"{VERIFIED}{kept.name}")
    check_own(place, top=config)
    return place


_APART = (
    "memories are not compared: they are in PostgreSQL, and what binds them is in SQLite; with"
    ' ledger.store = "postgres" they are bound'
)
_NO_KEY = f"this home has no signing key, so no checkpoints are made; {NO_PIN_HINT}"


def _known(sealing: Sealing) -> tuple[tuple[KeptNote, ...], tuple[str, ...]]:
    """The checkpoints of all agents of the home: one that is gone is known from nothing else."""
    heard = read_anchors(sealing.anchors)
    kept, unread = sealing.folder.kept_notes()
    return (*kept, *heard.notes), (*heard.unread, *unread, *sealing.strange())
