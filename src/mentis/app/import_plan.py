"""The plan of an import: what becomes what, what is lost, and what is not trusted."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from mentis.library.edit import BlockLayer
from mentis.prompts.personas import Personas
from mentis.values.cognition import Memory
from mentis.values.imported import ImportedConversation
from mentis.values.value import Value

ImportFormat: TypeAlias = Literal[
    "character card",
    "lorebook",
    "chat",
    "persona",
    "preset",
    "user personas",
    "regex scripts",
    "agent workspace",
    "agent instructions",
    "skills",
    "chat export",
    "agent file",
    "PersonaUI",
    "status history",
]
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
class ArrivalLimits:
    """How many characters a memory file of a persona, and a memory, may have in this home."""

    file_chars: int
    memory_chars: int


@dataclass(frozen=True, slots=True)
class ImportWish:
    """What is wanted of an import: the persona that it is to be or to be for, and the titles or ids
    of the conversations that are chosen. `personas` are those of the home.
    """

    personas: Personas
    limits: ArrivalLimits
    persona: str = ""
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PersonaArrival:
    """A persona to be made: fields of its persona.toml, its memory files by name, memories."""

    id: str
    name: str
    fields: Mapping[str, object]
    picture: bytes | None = None
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    memories: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportArrival:
    """What is to be written, beside its plan. `files` are of the home, by their place in it;
    `conversations` are each of the persona with that id; `windows` are a history of status windows
    for its record.
    """

    plan: HomeImportPlan
    personas: tuple[PersonaArrival, ...] = ()
    blocks: Mapping[str, BlockLayer] = field(default_factory=dict[str, BlockLayer])
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    conversations: tuple[tuple[str, ImportedConversation], ...] = ()
    windows: bytes = b""


@dataclass(slots=True)
class ArrivalDraft:
    """Grows while what is imported is looked through; one persona at a time."""

    fields: dict[str, object] = field(default_factory=dict[str, object])
    blocks: dict[str, BlockLayer] = field(default_factory=dict[str, BlockLayer])
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    memory_files: dict[str, str] = field(default_factory=dict[str, str])
    memories: list[Memory] = field(default_factory=list[Memory])
    parts: list[ImportedPart] = field(default_factory=list[ImportedPart])
    losses: list[ImportLoss] = field(default_factory=list[ImportLoss])
    shown: list[str] = field(default_factory=list[str])
    picture: bytes | None = None

    def add(self, part: str, becomes: str, *, trust: str = "reference", note: str = "") -> None:
        self.parts.append(ImportedPart(part, becomes, trust, note))

    def lose(self, part: str, reason: str) -> None:
        self.losses.append(ImportLoss(part, reason))

    def persona(self, persona_id: str, name: str) -> PersonaArrival:
        """The persona that has grown so far."""
        return PersonaArrival(
            persona_id,
            name,
            dict(self.fields),
            self.picture,
            dict(self.memory_files),
            tuple(self.memories),
        )


def id_of(name: str) -> str:
    """An id made of a name; what has no letters that an id may have is `imported`."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return _NO_ID.sub("-", plain).strip("-")[:_LONGEST_ID].strip("-") or "imported"
