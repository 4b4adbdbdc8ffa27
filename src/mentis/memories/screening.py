"""The screener of a home: the shipped one, with the thresholds its owner calibrated."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mentis.codec.forms import to_object
from mentis.disk.atomic import write_atomic
from mentis.disk.bounded import read_bounded
from mentis.engines.embedders import open_embedder
from mentis.errors import BadInput, EngineMissing, MentisError, WeightsMissing
from mentis.ports.screener import StoredVector
from mentis.recall.manifest_file import FILE as MANIFEST
from mentis.recall.manifest_file import load_manifest
from mentis.recall.screening.calibrate import ThresholdCalibration, apply_calibration, calibrate
from mentis.recall.screening.knowledge import Knowledge, shipped_file, shipped_knowledge
from mentis.recall.screening.labelled import LabelledText, read_lines
from mentis.recall.screening.patterns import OwnerPatterns
from mentis.recall.screening.screener import TextScreener

FOLDER = "screening"
THRESHOLDS = "thresholds.json"
_MOST_BYTES = 100_000_000


def open_screener(home: Path | None) -> TextScreener:
    """Fails closed: thresholds or patterns that are there and cannot be read quarantine
    everything.
    """
    known = _knowledge(home)
    try:
        return TextScreener(known, None if home is None else owner_patterns(home))
    except MentisError as error:
        return TextScreener(replace(known, failures={**known.failures, "patterns": error.message}))


def owner_patterns(home: Path) -> OwnerPatterns | None:
    """Those of the home's manifest; None where it has none."""
    manifest = load_manifest(home / MANIFEST)
    found = None if manifest is None else OwnerPatterns(manifest)
    return found or None


def _knowledge(home: Path | None) -> Knowledge:
    known = shipped_knowledge()
    file = None if home is None else home / FOLDER / THRESHOLDS
    if file is None or not file.exists():
        return known
    try:
        return apply_calibration(known, _text(file))
    except MentisError as error:
        return replace(known, failures={**known.failures, "thresholds": error.message})


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors that texts would be stored with on this machine, or why there are none."""

    found: tuple[StoredVector, ...] | None
    why_not: str = ""


async def vectors_of(texts: Sequence[str]) -> Vectors:
    """For whoever measures or explains: what is stored has its vector already."""
    try:
        embedder, _ = open_embedder("minilm")
        made = await embedder.embed(texts)
    except (EngineMissing, WeightsMissing) as error:
        return Vectors(None, f"{error.message}: the text alone decides ({error.hint})")
    return Vectors(tuple(StoredVector(one, embedder.fingerprint) for one in made))


async def calibrate_home(home: Path, *, text_only: bool = False) -> ThresholdCalibration:
    """From the shipped ordinary text and all `screening/*.jsonl` of the home; writes thresholds."""
    files = sorted((home / FOLDER).glob("*.jsonl"))
    if not files:
        raise BadInput(
            f"there is nothing to calibrate with in {FOLDER}/",
            hint=f'put your own texts into {FOLDER}/mine.jsonl: {{"text": "...", "label": 0}}',
        )
    rows = [*read_lines(shipped_file("calibration.jsonl").decode(), "calibration.jsonl")]
    for file in files:
        rows += labelled_file(file)
    vectors = None if text_only else (await vectors_of([row.text for row in rows])).found
    made = calibrate(shipped_knowledge(), rows, vectors)
    written = json.dumps(to_object(made), ensure_ascii=False, indent=2) + "\n"
    write_atomic(home / FOLDER / THRESHOLDS, written.encode())
    return made


def labelled_file(file: Path) -> tuple[LabelledText, ...]:
    return read_lines(_text(file), file.name)


def _text(file: Path) -> str:
    try:
        return read_bounded(file, _MOST_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(
            f"{file.name} cannot be read: {error}", hint="is it a UTF-8 file?"
        ) from error
