"""The plan of an import: what becomes what, what is lost, and what is not trusted."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from mentis.library.edit import BlockLayer
from mentis.values.value import Value

ImportFormat: TypeAlias = Literal["character card", "lorebook"]
_NO_ID = re.compile(r"[^a-z0-9]+")
_LONGEST_ID = 40  # so that the ids of its blocks, which begin with it, are not too long


@dataclass(frozen=True, slots=True)
class ImportedPart(Value):
    """One part of what is imported: what it becomes here, and how far it is trusted."""

    part: str
    becomes: str
    trust: str = "reference"
    note: str = ""


@dataclass(frozen=True, slots=True)
class ImportLoss(Value):
    """What has no home here, or is not done as its program does it. The original is kept."""

    part: str
    reason: str


@dataclass(frozen=True, slots=True)
class HomeImportPlan(Value):
    """What importing a file does. `shown` is for the owner to read: it is neither told to a model
    nor run. `persona` is the id that it gets, or of the one that alone is
    told a lorebook; a lorebook that names none is for all.
    """

    file: str
    digest: str
    format: ImportFormat
    version: str
    name: str
    persona: str
    parts: tuple[ImportedPart, ...] = ()
    losses: tuple[ImportLoss, ...] = ()
    shown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportArrival:
    """What is to be written, beside its plan."""

    plan: HomeImportPlan
    fields: Mapping[str, object]
    blocks: Mapping[str, BlockLayer] = field(default_factory=dict[str, BlockLayer])
    picture: bytes | None = None


@dataclass(slots=True)
class ArrivalDraft:
    """Grows while a file is looked through."""

    fields: dict[str, object] = field(default_factory=dict[str, object])
    blocks: dict[str, BlockLayer] = field(default_factory=dict[str, BlockLayer])
    parts: list[ImportedPart] = field(default_factory=list[ImportedPart])
    losses: list[ImportLoss] = field(default_factory=list[ImportLoss])
    shown: list[str] = field(default_factory=list[str])
    picture: bytes | None = None

    def lose(self, part: str, reason: str) -> None:
        self.losses.append(ImportLoss(part, reason))


def id_of(name: str) -> str:
    """An id made of a name; what has no letters that an id may have is `imported`."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return _NO_ID.sub("-", plain).strip("-")[:_LONGEST_ID].strip("-") or "imported"
