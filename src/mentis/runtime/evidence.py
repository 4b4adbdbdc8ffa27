"""What a home knows to check its record with: pin, checkpoints here and at anchors, segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mentis.ledger.anchors import read_given
from mentis.stores.files.home import Home
from mentis.stores.files.key_folder import VERIFIED
from mentis.values.checkpoint import KeptNote

from .anchoring import read_anchors
from .audit import Asked, Progress
from .sealing import NO_PIN_HINT, Sealing, open_key_folder, open_pin, open_sealing, swapped_identity
from .segment_files import open_segments
from .settings import Settings


def gather(
    home: Home,
    settings: Settings,
    environ: Mapping[str, str],
    *,
    persona: str,
    checkpoints: Sequence[Path] = (),
    progress: Progress | None = None,
) -> Asked:
    """For one agent. `checkpoints` are files of notes that somebody kept elsewhere."""
    agent = f"{settings.model.name or home.name}/{persona}"
    known = gather_home(home, settings, environ, checkpoints=checkpoints)
    segments = open_segments(home, settings, persona, agent)
    return replace(known, segments=segments, progress=progress)


def gather_home(
    home: Home, settings: Settings, environ: Mapping[str, str], *, checkpoints: Sequence[Path] = ()
) -> Asked:
    """For all agents, but for their segments."""
    given = tuple(kept for file in checkpoints for kept in read_given(file))
    sealing = open_sealing(home, settings, environ)
    notes, remarks = ((), (_NO_KEY,)) if sealing is None else _known(sealing)
    return Asked(
        pin=sealing.pin if sealing else None,
        outside=(*given, *notes),
        remarks=remarks,
        swapped=swapped_identity(home, settings, environ),
    )


def verified_file(
    home: Home, settings: Settings, environ: Mapping[str, str], *, agent: str
) -> Path:
    """Where is kept how far a chain was verified: beside the key, which the home cannot touch."""
    pin = open_pin(settings)
    if pin is None:
        return home.status(agent.rpartition("/")[2]) / "verified.json"
    kept = open_key_folder(home, pin.origin, environ).kept_file(agent)
    return kept.with_name(f"{VERIFIED}{kept.name}")


_NO_KEY = f"this home has no signing key, so no checkpoints are made; {NO_PIN_HINT}"


def _known(sealing: Sealing) -> tuple[tuple[KeptNote, ...], tuple[str, ...]]:
    """The checkpoints of all agents of the home: one that is gone is known from nothing else."""
    notes, faults = read_anchors(sealing.anchors)
    kept, unread = sealing.folder.kept_notes()
    return (*kept, *notes), (*faults, *unread)
