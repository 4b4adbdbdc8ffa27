"""Workspace of the status service: folder, ledger, rules, clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Lock

from mentis.disk.inside import inside
from mentis.errors import SettingsError
from mentis.home.closing import closed_on_failure
from mentis.home.database import open_database
from mentis.home.ledger import open_ledger
from mentis.home.older_turns import OlderTurns, StoredTurns
from mentis.ledger.chain import format_time
from mentis.ledger.channel.folder import PENDING, StatusFolder
from mentis.ledger.channel.operations import OperationsLog
from mentis.ledger.guardian.profiles import OUTSIDE
from mentis.ports.clock import Clock
from mentis.ports.ids import Ids
from mentis.ports.ledger_store import LedgerStore
from mentis.ports.memory_store import MemoryStore
from mentis.record.window_state import WindowStateFollower
from mentis.settings.settings import Settings
from mentis.stores.files.home import Home
from mentis.stores.sqlite.memories import SqliteMemories
from mentis.values.checkpoint import Pin
from mentis.values.guardian import GuardianProfile
from mentis.values.json import JsonObject

from .guardian import open_profile


@dataclass(frozen=True, slots=True)
class OpenLedger:
    """A ledger that is open, the conversations its turns are bound to, and, where they lie in the
    same database, the memories.
    """

    ledger: LedgerStore
    talk: StoredTurns
    memories: MemoryStore | None = None
    close: Callable[[], None] = field(default=lambda: None)


@dataclass(frozen=True, slots=True)
class HomeFacts:
    """What only the settings of a home tell: the rules for its own agent, and what it is."""

    own_rules: Callable[[], GuardianProfile]
    project: Callable[[], JsonObject]


class StatusWorkspace:
    """The store is opened when it is first needed, so that drafts can be spooled without one."""

    def __init__(
        self,
        agent: str,
        folder: StatusFolder,
        *,
        open_store: Callable[[], OpenLedger],
        open_rules: Callable[[], GuardianProfile],
        clock: Clock,
        ids: Ids,
        pin: Pin | None = None,
        keys: Mapping[str, str] | None = None,
    ) -> None:
        self.agent = agent
        self.folder = folder
        self.clock = clock
        self.ids = ids
        self.pin = pin
        self.keys = keys or {}  # of the home, by what they are called; none is written anywhere
        self.log = OperationsLog(folder.log, self.time, secrets=self.keys.values())
        self._open_store = open_store
        self._open_rules = open_rules
        self._lock = Lock()
        self._opened: OpenLedger | None = None

    def open_ledger(self) -> OpenLedger:
        """What is open; a store that could not be opened is tried again each time."""
        with self._lock:
            if self._opened is None:
                self._opened = self._open_store()
            return self._opened

    @property
    def store(self) -> LedgerStore:
        return self.open_ledger().ledger

    @cached_property
    def profile(self) -> GuardianProfile:
        """The rules in force: proved, or ProfileConflict."""
        return self._open_rules()

    @cached_property
    def follower(self) -> WindowStateFollower:
        return WindowStateFollower(self.store, self.agent)

    def time(self) -> str:
        return format_time(self.clock.now())

    def close(self) -> None:
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()


def rules_of(home: Home, settings: Settings, *, outside: bool = False) -> GuardianProfile:
    """The profile that settings choose, proved to be one that can be obeyed: for the windows of the
    home's own agent, or for those that come from outside. Who chose rules of their own chose them
    for both.
    """
    chosen = settings.model.status
    own = chosen.profile if "profile" in chosen.model_fields_set else OUTSIDE
    profile = open_profile(home.path, (chosen.outside or own) if outside else chosen.profile)
    if not chosen.schema_versions:
        return profile
    # Any set that is not empty: the proof speaks of the first of them, whichever it is.
    return replace(profile, schema_versions=chosen.schema_versions)


def folder_of(home: Home, persona: str, settings: Settings) -> StatusFolder:
    chosen, own = settings.model.status.pending, home.status(persona)
    shared = own.parent / PENDING
    several = len(home.personas()) > 1
    if not chosen:
        # With one persona there is no doubt whose draft it is.
        if several:
            return StatusFolder(own, unwatched=(shared,))
        return StatusFolder(own, shared=shared)
    if several:
        raise SettingsError(
            "`status.pending` names one slot, and this home has several personas",
            hint="leave it out: each persona has its own in status/PERSONA",
        )
    slot = inside(home.path, chosen)
    others = tuple(path for path in (own / PENDING, shared) if path != slot)
    return StatusFolder(own, slot, unwatched=others)


def open_home_store(
    home: Home, settings: Settings, environ: Mapping[str, str], *, readonly: bool
) -> OpenLedger:
    database = open_database(home, settings, environ, readonly=readonly)
    with closed_on_failure(database):
        ledger = open_ledger(settings, database, environ)

    def close() -> None:
        ledger.close()
        database.close()

    beside = settings.model.memories.store == "sqlite"
    memories = SqliteMemories(database) if beside else None
    return OpenLedger(ledger, OlderTurns(ledger, database), memories, close)


def database_file(home: Home, settings: Settings) -> Path | None:
    return home.database if settings.model.ledger.store == "sqlite" else None
