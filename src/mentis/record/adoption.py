"""A copy of a home becomes a home of its own, with its own log and key; the original is as it was.

One entry in each chain says so, signed by the key of the original and by the new one: what is
recorded so far stays provable, and from there on the two are two. Checkpoints are made anew under
the new name, since those of the original are of another log.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from mentis.codec.forms import from_json, to_json
from mentis.disk.atomic import write_atomic
from mentis.errors import BackupError, BadInput, SigningKeyError, StoreDamaged, UsageError
from mentis.home.copies import original_of, remember_instance
from mentis.home.identity import home_name, persona_of
from mentis.home.log_identity import LogIdentity, remember_log
from mentis.home.older_turns import OlderTurns
from mentis.home.parts import Parts
from mentis.home.signing import open_pin
from mentis.home.system import RandomIds, SystemClock
from mentis.ledger import keeping, statements
from mentis.ledger.chain import make_stamp
from mentis.ledger.checkpoint import sign_checkpoint
from mentis.ledger.keeping import LedgerHandle
from mentis.ledger.signature import as_object, statement_of
from mentis.ledger.standing import root_of, stood_at
from mentis.ports.entries import Stamp
from mentis.ports.signer import Signer
from mentis.settings.edit import TomlValue, change_settings
from mentis.settings.settings import Settings
from mentis.settings.sources import load_settings
from mentis.stores.files.home import Home, find_home
from mentis.stores.files.key_folder import KeyFolder, config_folder, safe_name
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.checkpoint import Checkpoint, KeptChange, KeptCheckpoint, Pin, Standing
from mentis.values.entry import Entry
from mentis.values.value import Value

from .evidence import gather_home_evidence
from .segments import SegmentFolder, open_segments
from .verify import verify_agent


@dataclass(frozen=True, slots=True)
class Adoption(Value):
    """The home that was a copy, what it was a copy of, and the log that each has now."""

    home: str
    original: str
    before: str
    origin: str
    public_key: str
    agents: tuple[str, ...]  # whose chains say so


@dataclass(frozen=True, slots=True)
class _Begun(Value):
    """Kept beside the key of the original until it is done, so that it can be done again."""

    origin: str
    public_key: str


def adopt_home(path: str | Path, parts: Parts | None = None) -> Adoption:
    """Cut short at any point, it is finished by doing it again. UsageError where it is no copy,
    StoreDamaged where the copy does not verify. It blocks.
    """
    parts = parts or Parts()
    home = find_home(Path(path))
    settings = load_settings(home.path, parts.variables)
    pin, original = open_pin(settings), original_of(home, settings, parts.variables)
    if pin is None or original is None:
        raise UsageError(
            f"{home.path} is no copy: it writes under its own log",
            hint="to copy a home: mentis backup FILE, and mentis restore FILE FOLDER",
        )
    if settings.model.ledger.key_env:
        raise SigningKeyError(
            "the key of this log is not in a file, so no other can be made beside it for you",
            hint="take `ledger.key_env` out of the settings for the adoption",
        )
    if not home.database.exists():
        raise BackupError(
            f"{home.path} has no database, so there is nothing to adopt",
            hint="copy the whole home: mentis backup FILE, and mentis restore FILE FOLDER",
        )
    clock, ids = parts.clock or SystemClock(), parts.ids or RandomIds()
    stamp = make_stamp(clock.now, ids.salt, clock.uptime)
    with (
        Database(home.database, busy_seconds=settings.model.store.busy_seconds) as database,
        closing(SqliteLedger(database)) as store,
    ):
        work = _Work(home, settings, parts.variables, pin, database, store, stamp, store.agents())
        fresh = work.run()
    return Adoption(
        str(home.path), str(original), pin.origin, fresh.origin, fresh.public_key, work.agents
    )


@dataclass(frozen=True, slots=True)
class _Work:
    """One adoption: everything that it touches. `agents` are those that have entries."""

    home: Home
    settings: Settings
    environ: Mapping[str, str]
    pin: Pin
    database: Database
    store: SqliteLedger
    stamp: Stamp
    agents: tuple[str, ...]

    @property
    def _config(self) -> Path:
        return config_folder(self.environ)

    @property
    def _before(self) -> KeyFolder:
        return KeyFolder(self._config, self.pin.origin)

    @property
    def _note(self) -> Path:
        """There while it has begun and not ended."""
        return self._before.path / f"{safe_name(str(self.home.path.resolve()))}.adopting"

    def run(self) -> Pin:
        old = self._before.key(self.pin.public_key)
        fresh = self._begun()
        folder = KeyFolder(self._config, fresh.origin)
        new = folder.key(fresh.public_key)
        changes = {agent: self._record(agent, old, new, fresh) for agent in self.agents}
        sealed = {agent: self._sealed(agent, new, fresh) for agent in self.agents}
        self._keep_checkpoints(sealed)
        for agent in self.agents:
            self._seal_segments(self._segments(agent), sealed[agent])
            standing, note = max(sealed[agent], key=lambda one: one[0].size)
            folder.keep(agent, KeptCheckpoint(note, standing))
            entry = changes[agent]
            signed = as_object(entry.body.get(statements.FIELD))
            folder.keep_changes(agent, [KeptChange(entry.hash, signed)])
        self._take_name(fresh)
        return fresh

    def _begun(self) -> Pin:
        """The name and the key that were begun with; new ones once the copy has been verified."""
        try:
            known = from_json(_Begun, self._note.read_bytes())
            return Pin(known.origin, known.public_key)
        except FileNotFoundError:
            pass
        except (OSError, BadInput) as error:
            raise SigningKeyError(
                f"{self._note}: cannot be read: {error}", hint="remove it, and adopt again"
            ) from error
        self._check()
        origin = f"mentis.local/{uuid.uuid4().hex[:16]}"
        public = KeyFolder(self._config, origin).new_key().public_text
        write_atomic(self._note, to_json(_Begun(origin, public)))
        return Pin(origin, public)

    def _check(self) -> None:
        """Two keys sign for each chain, so each is checked as a whole before."""
        known = gather_home_evidence(self.home, self.settings, self.environ)
        talk = OlderTurns(self.store, self.database)
        for agent in self.agents:
            asked = replace(known, segments=self._segments(agent), beside=frozenset(self.agents))
            if findings := verify_agent(agent, self.store, talk, asked).findings:
                raise StoreDamaged(
                    f"this copy does not verify, so it is not adopted: {findings[0].message}",
                    hint="a copy that is made while somebody writes may be torn: make one with"
                    " mentis backup",
                    agent=agent,
                )

    def _record(self, agent: str, old: Signer, new: Signer, fresh: Pin) -> Entry:
        for entry in self.store.entries(agent):
            told = statement_of(entry.body.get(statements.FIELD))
            if entry.kind == statements.KEY and told.get("new") == fresh.public_key:
                return entry  # from a run that was cut short
        handle = LedgerHandle(self.store, agent, self.pin)
        return keeping.adopt(handle, old, new, log=fresh.log(agent), stamp=self.stamp)

    def _sealed(self, agent: str, new: Signer, fresh: Pin) -> list[tuple[Standing, str]]:
        """A checkpoint of the new log wherever one of the old stands, and one of all there is."""
        count = self.store.count(agent)
        ends = (file.segment.last + 1 for file in self._segments(agent).files())
        known = (size for size, _ in self.store.checkpoints(agent))
        sizes = {count, *(size for size in (*ends, *known) if 0 < size <= count)}
        stood = stood_at(self.store.hashes(agent), sizes)
        return [(stood[size], _note(agent, stood[size], new, fresh)) for size in sorted(sizes)]

    def _keep_checkpoints(self, sealed: Mapping[str, Iterable[tuple[Standing, str]]]) -> None:
        """All of them take the place of all of the old at once. Whoever holds a lease holds that of
        the original.
        """
        with self.database.write() as connection:
            connection.execute("UPDATE leases SET released = 1")
            connection.execute("DELETE FROM checkpoints")
            connection.executemany(
                "INSERT INTO checkpoints (agent, size, note) VALUES (?, ?, ?)",
                [
                    (agent, standing.size, note)
                    for agent, notes in sealed.items()
                    for standing, note in notes
                ],
            )

    def _segments(self, agent: str) -> SegmentFolder:
        persona = persona_of(agent, home_name(self.home, self.settings))
        return open_segments(self.home, self.settings, persona, agent)

    def _seal_segments(self, folder: SegmentFolder, sealed: Sequence[tuple[Standing, str]]) -> None:
        notes = {standing.size: note for standing, note in sealed}
        for file in folder.files():
            folder.seal(file, notes[file.segment.last + 1])

    def _take_name(self, fresh: Pin) -> None:
        """From here on it is a home of its own; anchors are added to a log by a person."""
        told: dict[str, TomlValue] = {"origin": fresh.origin, "public_key": fresh.public_key}
        if self.settings.model.ledger.anchors:
            told["anchors"] = []
        remember_log(self.home, LogIdentity(fresh, self._before, None), self.environ)
        change_settings(self.home.path, "ledger", told)
        remember_instance(self.home, load_settings(self.home.path, self.environ), self.environ)
        self._note.unlink(missing_ok=True)


def _note(agent: str, standing: Standing, new: Signer, fresh: Pin) -> str:
    return sign_checkpoint(Checkpoint(fresh.log(agent), standing.size, root_of(standing)), new)
