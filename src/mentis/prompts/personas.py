"""The personas of one home, and what each of them keeps about itself."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, cast

from mentis.codec.canon import canonical
from mentis.codec.media_types import type_of
from mentis.codec.toml import read_text
from mentis.disk.atomic import write_atomic
from mentis.disk.bounded import read_bounded
from mentis.disk.inside import inside
from mentis.errors import MentisError, PersonaError, UsageError
from mentis.home.closing import DatabaseHolder
from mentis.home.database import open_database
from mentis.home.ledger import open_ledger
from mentis.home.parts import Parts
from mentis.home.persona import open_memory, read_persona
from mentis.home.server import open_blobs, open_revisions
from mentis.home.system import RandomIds, SystemClock
from mentis.library.load import load_persona, shipped_persona, shipped_personas
from mentis.library.memory.files import PersonaMemory, require_newest
from mentis.ports.blob_store import BlobStore
from mentis.ports.revisions import Revisions
from mentis.record.agent_record import AgentRecord
from mentis.settings.change import SettingChange, open_settings
from mentis.settings.sources import load_settings
from mentis.stores.files.home import Home, find_home
from mentis.stores.sqlite.database import Database
from mentis.values.cognition import trust_of
from mentis.values.digest import digest
from mentis.values.entry import Draft
from mentis.values.json import JsonObject
from mentis.values.persona import Persona
from mentis.values.persona_draft import PersonaDraft
from mentis.values.trust import Trust
from mentis.values.value import Value

from .persona_fields import with_fields
from .persona_file import draft_text, is_kept, with_draft
from .prompts import Prompts

# The first line that sets a field: the rest of the file, comments included, stays as it is.
_LINES = {name: re.compile(rf"^{name}\s*=.*$", re.MULTILINE) for name in ("id", "name")}
_BLANK = '# Who this agent is: docs/concepts/personas.md\n\nid = ""\nname = ""\n'

_PICTURES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
}
LARGEST_PICTURE = 2 * 1024 * 1024
PICTURE_TYPES = frozenset(_PICTURES.values())


@dataclass(frozen=True, slots=True)
class AcceptedRevision(Value):
    """Revision `accepted` of a memory file is vouched for, by revision `number` and the entry."""

    name: str
    accepted: int
    number: int
    entry: int


@dataclass(frozen=True, slots=True)
class PersonaPromotion(Value):
    """The owner vouches for a persona and its blocks, or, where `persona` is empty, for blocks
    alone: they count as the owner's own words.
    """

    persona: str
    blocks: tuple[str, ...]
    entry: int


@dataclass(frozen=True, slots=True)
class GreetingRow(Value):
    """A greeting to choose; number 0 is the one in force. Its macros are made plain."""

    number: int
    text: str


class Personas(DatabaseHolder):
    """Opened with `Personas.open(path)`; use it as a context manager.

    ```python
    with Personas.open("my-home") as personas:
        memory = personas.memory("ada")
        memory.write("memory", "- Lena plays the cello.", words="she told me")
        memory.undo("memory")
    ```
    """

    def __init__(self, home: Home, database: Database, parts: Parts) -> None:
        super().__init__(database)
        self._home = home
        self._settings = load_settings(home.path, parts.variables)
        self._parts = parts
        self._clock = parts.clock or SystemClock()
        self._ids = parts.ids or RandomIds()

    @classmethod
    def open(cls, path: str | Path, *, parts: Parts | None = None) -> Self:
        """The personas of the home at `path`."""
        home = find_home(Path(path))
        parts = parts or Parts()
        settings = load_settings(home.path, parts.variables)
        return cls(home, open_database(home, settings, parts.variables, salts=parts.salts), parts)

    @property
    def home(self) -> Home:
        """The home they are of."""
        return self._home

    def ids(self) -> tuple[str, ...]:
        """The ids of all personas, in their order."""
        return self._home.personas()

    @property
    def default(self) -> str:
        """The persona that is taken where none is named; empty where nobody chose one."""
        return load_settings(self._home.path, self._parts.variables).model.persona

    def use(self, persona_id: str) -> SettingChange:
        """Make one of several personas the default of the home: the setting `persona`."""
        chosen = self._home.pick_persona(persona_id)
        return open_settings(self._home.path, self._parts.variables).set("persona", chosen)

    def rows(self, *, after: str = "", count: int | None = None) -> list[dict[str, object]]:
        """Each of them in short, or the first so many after an id; `problem` says why one cannot be
        read.
        """
        default, ids = self.default, [one for one in self.ids() if one > after]
        return [self.row(persona_id, default) for persona_id in ids[:count]]

    def row(self, persona_id: str, default: str) -> dict[str, object]:
        """One in short, marked where it is the default."""
        return {**self._row(persona_id), "default": persona_id == default}

    def _row(self, persona_id: str) -> dict[str, object]:
        row: dict[str, object] = {
            "id": persona_id,
            "name": "",
            "type": "",
            "language": "",
            "problem": "",
        }
        try:
            found = read_persona(self._home, persona_id)  # whose id is known to be one
        except MentisError as error:
            return {**row, "problem": error.message}
        return {**row, "name": found.name, "type": found.type, "language": found.language}

    def picture(self, persona_id: str) -> tuple[bytes, str] | None:
        """The picture that stands beside its file (`avatar.png`, `.jpg`, `.webp` or `.gif`), with
        the type that its bytes tell; None where there is none, or it is no picture.
        """
        for ending in _PICTURES:
            path = inside(self.path(persona_id).parent, f"avatar.{ending}")
            if path.is_file():
                data = read_bounded(path, LARGEST_PICTURE)
                found = type_of(data)
                return (data, found) if found in _PICTURES.values() else None
        return None

    def pick(self, persona_id: str | None) -> str:
        """The persona that was asked for, else the default, else the only one there is."""
        return self._home.pick_persona(persona_id, self.default)

    def path(self, persona_id: str) -> Path:
        """The file that describes a persona."""
        return self._home.persona(persona_id)

    def read(self, persona_id: str) -> Persona:
        """A persona, as its file says."""
        return read_persona(self._home, self.pick(persona_id))

    def memory(self, persona_id: str) -> PersonaMemory:
        """The three files the persona keeps about itself."""
        return open_memory(
            self._home,
            self.read(persona_id),
            self._database,
            settings=self._settings,
            clock=self._clock,
        )

    def accept(
        self, persona_id: str, name: str, *, reason: str, expected: int | None = None
    ) -> AcceptedRevision:
        """The owner vouches for a memory file as it stands, or, if it still is the newest, at a
        revision that is `expected`: recorded before it is done.

        What was made from outside text counts as the persona's own from then on.
        """
        if not reason.strip():
            raise UsageError("say why: it is recorded", hint="give a reason")
        chosen, memory = self.pick(persona_id), self.memory(persona_id)
        file = memory.read(name)
        require_newest(file.name, expected, newest=file.number)
        if (
            not memory.pending_changes(name)
            and trust_of(memory.history(name)) is not Trust.UNTRUSTED
        ):
            raise PersonaError(f"{file.name}.md: there is nothing to accept", name=file.name)
        body: dict[str, object] = {
            "what": "accept",
            "file": f"{file.name}.md",
            "revision": file.number,
            "digest": digest(file.text.encode()),
            "reason": reason,
        }
        index = self.note(chosen, Draft("persona", "owner", {"persona": body}))
        made = memory.accept(file.name, file.number, words=f"entry {index}")
        return AcceptedRevision(made.name, file.number, made.number, index)

    def promote(self, persona_id: str, *, reason: str) -> PersonaPromotion:
        """The owner vouches for an imported persona, and for the blocks that are for it alone:
        recorded before it is done.
        """
        if not reason.strip():
            raise UsageError("say why: it is recorded", hint="give a reason")
        chosen = self.pick(persona_id)
        path, persona = self.path(chosen), self._as_written(chosen)
        with Prompts.open(self._home.path, parts=self._parts) as prompts:
            blocks = tuple(
                block.id
                for block in prompts.loaded_library.library.blocks
                if block.personas == (chosen,) and block.trust.rank > Trust.OWNER.rank
            )
            if persona.trust is Trust.OWNER and not blocks:
                raise PersonaError(f"{chosen}: there is nothing to promote", persona=chosen)
            body: dict[str, object] = {
                "what": "promote",
                "digest": digest(path.read_bytes()),
                "blocks": list(blocks),
                "reason": reason,
            }
            entry = self.note(chosen, Draft("persona", "owner", {"persona": body}))
            if persona.trust is not Trust.OWNER:
                self._rewrite(chosen, {"trust": Trust.OWNER.value})
            _promote_blocks(prompts, blocks, entry)
        return PersonaPromotion(chosen, blocks, entry)

    def promote_blocks(self, block_ids: Sequence[str], *, reason: str) -> PersonaPromotion:
        """The owner vouches for imported blocks by their ids, whoever is told them: recorded before
        it is done, in the record of the home's first persona.
        """
        if not reason.strip():
            raise UsageError("say why: it is recorded", hint="give a reason")
        with Prompts.open(self._home.path, parts=self._parts) as prompts:
            blocks = {name: prompts.block(name) for name in block_ids}
            for name, block in blocks.items():
                if block.trust.rank <= Trust.OWNER.rank:
                    hint = "mentis prompts list names the trust of blocks"
                    raise UsageError(f"block {name}: there is nothing to promote", hint=hint)
            told = {
                name: {wording: one.content for wording, one in block.variants.items()}
                for name, block in blocks.items()
            }
            body: dict[str, object] = {
                "what": "promote",
                "digest": digest(canonical(told)),
                "blocks": list(blocks),
                "reason": reason,
            }
            entry = self.note(self.ids()[0], Draft("persona", "owner", {"persona": body}))
            _promote_blocks(prompts, tuple(blocks), entry)
        return PersonaPromotion("", tuple(blocks), entry)

    def greetings(self, persona_id: str) -> tuple[GreetingRow, ...]:
        """The greeting in force, and the others to choose from."""
        persona = self.read(persona_id)
        told = (persona.greeting, *persona.greetings)
        return tuple(GreetingRow(number, text) for number, text in enumerate(told))

    def choose_greeting(self, persona_id: str, number: int) -> tuple[GreetingRow, ...]:
        """Begin conversations with one of the others, which changes places with the one before."""
        chosen = self.pick(persona_id)
        persona = self._as_written(chosen)
        if not 1 <= number <= len(persona.greetings):
            hint = f"there are 1 to {len(persona.greetings)}" if persona.greetings else "add some"
            raise UsageError(f"{chosen} has no other greeting {number}", hint=hint)
        others = list(persona.greetings)
        greeting, others[number - 1] = others[number - 1], persona.greeting
        self._rewrite(chosen, {"greeting": greeting, "greetings": others})
        return self.greetings(chosen)

    def _as_written(self, persona_id: str) -> Persona:
        """With its macros, as the file has them."""
        path = self.path(persona_id)
        return load_persona(read_text(path, error=PersonaError), str(path))

    def _rewrite(self, persona_id: str, fields: Mapping[str, object]) -> None:
        path = self.path(persona_id)
        after = with_fields(read_text(path, error=PersonaError), fields)
        load_persona(after, str(path))  # nothing is written that could not be read again
        write_atomic(path, after)

    def note(self, persona_id: str, draft: Draft) -> int:
        """Append an entry about a persona to its record; its index."""
        return self.record(persona_id).append(draft.kind, draft.body, source=draft.source).index

    def record(self, persona_id: str) -> AgentRecord:
        """What the persona said and did, to be added to."""
        agent = f"{self._settings.model.name or self._home.name}/{persona_id}"
        ledger = open_ledger(self._settings, self._database, self._parts.variables)
        return AgentRecord(agent, ledger, self._clock, self._ids)

    def noted(self, persona_id: str, index: int) -> JsonObject | None:
        """What such an entry says; None where it was erased or has expired."""
        agent = f"{self._settings.model.name or self._home.name}/{persona_id}"
        ledger = open_ledger(self._settings, self._database, self._parts.variables)
        entry = ledger.find(agent, index)
        told = None if entry is None else entry.body.get("persona")
        return cast("JsonObject", told) if isinstance(told, dict) else None

    @property
    def revisions(self) -> Revisions:
        """The history of what is edited in this home."""
        return open_revisions(self._database)

    @property
    def blobs(self) -> BlobStore:
        """What is too large for the record."""
        return open_blobs(self._home, self._database)

    def put_picture(self, persona_id: str, data: bytes) -> None:
        """Put a picture in the place of the one that there is; PersonaError where it is none."""
        endings = {kind: ending for ending, kind in reversed(_PICTURES.items())}
        ending = endings.get(type_of(data) or "")
        if ending is None or len(data) > LARGEST_PICTURE:
            hint = f"a PNG, JPEG, WebP or GIF of at most {LARGEST_PICTURE} bytes"
            raise PersonaError("that is no picture for a persona", hint=hint)
        folder = self.path(persona_id).parent
        write_atomic(inside(folder, f"avatar.{ending}"), data)
        for other in _PICTURES:
            if other != ending:
                inside(folder, f"avatar.{other}").unlink(missing_ok=True)

    def create(
        self,
        persona_id: str,
        *,
        name: str,
        source: str = "",
        fields: Mapping[str, object] | None = None,
    ) -> Path:
        """A new persona, made from one of this home or from a shipped one; without a source, from
        its name alone. `fields` are those of a persona.toml, in the place of what was copied.
        """
        path = self.check_free(persona_id)
        if not name.strip() or not name.isprintable():
            raise PersonaError(f"{name!r} cannot be a name", hint="use printable characters")
        text = self._source(source) if source else _BLANK
        for field, value in (("id", persona_id), ("name", name)):
            # A JSON string is a TOML string; a function, so that backslashes stay what they are.
            line = f"{field} = {json.dumps(value, ensure_ascii=False)}"
            text = _LINES[field].sub(lambda _, line=line: line, text, count=1)
        text = with_fields(text, fields or {})
        load_persona(text, str(path))  # nothing is written that could not be read again
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomic(path, text)
        return path

    def check_free(self, persona_id: str) -> Path:
        """Where a new persona would stand; PersonaError where there is one."""
        path = self._home.persona(persona_id)
        if path.exists():
            raise PersonaError(f"{path} is already there", hint="choose another id")
        return path

    def accept_draft(self, persona_id: str, draft: PersonaDraft) -> Path:
        """Put a drafted field into the persona's file; what could not be read again is refused.

        One of the same name gives way to it; comments and everything else stay.
        """
        path = self.path(self.pick(persona_id))
        before = read_text(path, error=PersonaError)
        after = with_draft(before, draft)
        load_persona(after, str(path))
        if not is_kept(before, after, draft.kind):
            raise PersonaError(
                f"{path} is written in a way that cannot be changed for you",
                hint=f"put it in by hand:\n{draft_text(draft)}",
            )
        write_atomic(path, after)
        return path

    def _source(self, source: str) -> str:
        if source in self._home.personas():
            return self._home.persona(source).read_text(encoding="utf-8")
        if source in shipped_personas():
            return shipped_persona(source)
        known = sorted({*self._home.personas(), *shipped_personas()})
        raise PersonaError(f"there is no persona {source!r}", hint=f"known: {', '.join(known)}")


def _promote_blocks(prompts: Prompts, blocks: Sequence[str], entry: int) -> None:
    for block_id in blocks:
        meta = {"trust": Trust.OWNER.value}
        prompts.editor.save(block_id, meta=meta, words=f"promoted, entry {entry}")
