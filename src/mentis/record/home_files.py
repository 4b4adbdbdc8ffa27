"""Files of a home that say what an agent is told and may do, noted so that its record binds them.

They are the owner's to edit: a change is no damage, but an entry of the next turn.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TypeAlias, cast

from mentis.disk.seen import Stamp, is_settled, stamp_of
from mentis.home.checkpoints import CheckpointedLedger
from mentis.library.assemble import LoadedLibrary
from mentis.library.layer import ENTRIES
from mentis.library.owner_files import PENDING, scan
from mentis.library.problems import SourceFile
from mentis.library.shelf import Shelf
from mentis.ports.ledger_store import LedgerStore
from mentis.recall.skills import FILE as SKILL
from mentis.recall.skills import SkillsFound, read_skills
from mentis.stores.files.home import MARKER, Home
from mentis.stores.sql_inventory import SqlInventory
from mentis.stores.sql_ledger import SqlLedger
from mentis.values.inventory import NotedFile, has_parts, is_outline_of, outline_of
from mentis.values.json import JsonObject

_PROMPTS, _SKILLS = "prompts/", "skills"
_Seen: TypeAlias = tuple[tuple[Stamp | None, ...], LoadedLibrary | None, SkillsFound | None]


@dataclass(frozen=True, slots=True)
class HomeFile:
    """As it was read. Its parts are looked at only where it is another one than before."""

    path: str
    data: bytes
    digest: str

    @property
    def outline(self) -> str:
        return outline_of(self.digest, dict(self._parts()))

    def _parts(self) -> Iterator[tuple[str, str]]:
        """Blocks and placeholders of a prompt file, each by its digest."""
        name = self.path.removeprefix(_PROMPTS)
        if name == self.path:
            return
        try:
            document: object = json.loads(self.data)
        except (ValueError, RecursionError):
            return  # the whole file counts, as it does for whoever mends it
        if isinstance(document, dict):
            own = cast("JsonObject", document)
            entries = own.get(ENTRIES[name]) if name in ENTRIES else own
            for key, value in cast(
                "JsonObject", entries if isinstance(entries, dict) else {}
            ).items():
                told = json.dumps(value, sort_keys=True, ensure_ascii=True)
                yield key, hashlib.sha256(told.encode()).hexdigest()[:32]

    def is_as(self, noted: NotedFile, outline: Callable[[str], str]) -> bool:
        """Whether it is what was noted; `outline` gives what was kept of one with parts."""
        if noted.leaf is None:
            return False
        kept = outline(noted.leaf) if self.path.startswith(_PROMPTS) else ""
        told = kept if has_parts(kept) else outline_of(self.digest, {})
        return is_outline_of(told, self.digest) and noted.is_still(told)


def read_home_files(
    home: Home,
    persona: str,
    *,
    library: LoadedLibrary | None = None,
    skills: SkillsFound | None = None,
) -> dict[str, HomeFile]:
    """Each there is, by its path in the home; what the library and the skills were read from is
    not read, or not looked for, again.
    """
    texts: Mapping[str, SourceFile] = {} if library is None else library.owner.files
    found: dict[str, HomeFile] = {}
    for path in _paths(home, persona, skills):
        text = texts.get(path.removeprefix(_PROMPTS)) if path.startswith(_PROMPTS) else None
        try:
            data = text.text.encode() if text is not None else (home.path / path).read_bytes()
        except OSError:  # it cannot be read by whoever would be told of it, either
            continue
        found[path] = HomeFile(path, data, digest_file(data))
    return found


def digest_file(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _paths(home: Home, persona: str, skills: SkillsFound | None) -> Iterator[str]:
    for path in _single(home, persona):
        if path.is_file():
            yield path.relative_to(home.path).as_posix()
    for name in scan(home.prompts):
        if name != PENDING and (home.prompts / name).is_file():
            yield f"{_PROMPTS}{name}"
    root = home.path / _SKILLS
    if root.is_dir():
        for place, stamp in (skills or read_skills(root, home=home.path)).stamps.items():
            if stamp is not None and Path(place).name == SKILL:
                yield Path(place).relative_to(home.path).as_posix()


def _single(home: Home, persona: str) -> tuple[Path, ...]:
    return home.path / MARKER, home.profile, home.persona(persona)


class HomeFiles:
    """Those of one agent, which stays open. `skills` is what it found of them last."""

    def __init__(
        self,
        home: Home,
        agent: str,
        shelf: Shelf,
        inventory: SqlInventory,
        *,
        skills: Callable[[], SkillsFound | None],
        secret: bytes,
    ) -> None:
        self._lock = Lock()
        self._secret = secret
        self._home = home
        self._agent = agent
        self._persona = agent.rpartition("/")[2]
        self._shelf = shelf
        self._inventory = inventory
        self._found_skills = skills
        self._own_skills: SkillsFound | None = None
        self._single = _single(home, self._persona)
        self._seen: _Seen | None = None

    def note(self, salt: Callable[[], bytes]) -> None:
        """Before a turn is recorded: what changed since the last look goes into its record. Where
        nothing did, it costs a look at three files; the others were looked at for the turn.
        """
        with self._lock:
            self._note(salt)

    def _note(self, salt: Callable[[], bytes]) -> None:
        stamps = tuple(map(stamp_of, self._single))
        library, skills = self._shelf.last, self._skills()
        if self._seen is not None:
            same = self._seen[1] is library and self._seen[2] is skills
            if same and self._seen[0] == stamps:
                return
        files = read_home_files(self._home, self._persona, library=library, skills=skills)
        noted = self._inventory.files(self._agent)
        changed = dict(self._changed(files, noted))
        if changed:
            self._inventory.note_files(self._agent, changed, salt(), self._name)
        told = all(map(_tells, self._single, stamps))
        self._seen = (stamps, library, skills) if told else None

    def _name(self, path: str) -> str:
        """What entries call it: only who has the secret of the home can tell which file it is."""
        told = f"{self._agent} {path}".encode()
        return hmac.new(self._secret, told, "sha256").hexdigest()[:32]

    def _changed(
        self, files: Mapping[str, HomeFile], noted: Mapping[str, NotedFile]
    ) -> Iterator[tuple[str, str | None]]:
        for path, file in files.items():
            before = noted.get(path)
            if before is None or not file.is_as(before, self._inventory.outline):
                yield path, file.outline
        yield from (
            (path, None)
            for path, before in noted.items()
            if path not in files and before.leaf is not None
        )

    def _skills(self) -> SkillsFound | None:
        found = self._found_skills()
        if found is not None or not (self._home.path / _SKILLS).is_dir():
            return found
        if self._own_skills is None or not self._own_skills.current:
            self._own_skills = read_skills(self._home.path / _SKILLS, home=self._home.path)
        return self._own_skills


def open_home_files(
    home: Home,
    agent: str,
    shelf: Shelf,
    ledger: LedgerStore,
    *,
    skills: Callable[[], SkillsFound | None],
    secret: bytes,
) -> HomeFiles | None:
    """Noted in the home's own database; None where a double stands in for it."""
    store = ledger.inner if isinstance(ledger, CheckpointedLedger) else ledger
    if not isinstance(store, SqlLedger):
        return None
    return HomeFiles(home, agent, shelf, store.inventories[-1], skills=skills, secret=secret)


def _tells(path: Path, stamp: Stamp | None) -> bool:
    """Whether a later change will show, also of a file that is not there; not behind a link."""
    return not os.path.lexists(path) if stamp is None else is_settled(stamp)
