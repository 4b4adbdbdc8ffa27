"""The identity of a home's log: its name and its signing key, made, pinned and changed."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mentis.errors import SigningKeyError, UsageError
from mentis.ledger import keeping, statements
from mentis.ledger.keeping import LedgerHandle
from mentis.ledger.signature import as_object, decode_key, encode_key, signed_by, statement_of
from mentis.ports.entries import Stamp
from mentis.ports.ledger_store import LedgerStore
from mentis.settings.edit import change_settings
from mentis.settings.settings import Settings
from mentis.settings.sources import load_settings
from mentis.stores.files.home import MARKER, Home
from mentis.stores.files.key_folder import KeyFolder, config_folder
from mentis.stores.files.known_homes import KnownHome, KnownHomes
from mentis.values.checkpoint import KeptChange, Pin
from mentis.values.entry import Entry
from mentis.values.json import JsonObject

from .ledger import own_agents
from .signing import Sealing, open_key_folder, open_pin, refuse_swapped, secret_key


@dataclass(frozen=True, slots=True)
class LogIdentity:
    """What is pinned, and the file of the key; None when the key is in the keyring."""

    pin: Pin
    folder: KeyFolder
    key_file: Path | None

    @property
    def settings(self) -> dict[str, str]:
        return {"origin": self.pin.origin, "public_key": self.pin.public_key}


def make_log(home: Home, environ: Mapping[str, str]) -> LogIdentity:
    """A name of its own and a key for a home that has none; the home is not touched.

    With `ledger.key_env` set (MENTIS_LEDGER__KEY_ENV) the key is the one that is there already.
    """
    settings = load_settings(home.path if (home.path / MARKER).is_file() else None, environ)
    chosen = settings.model.ledger
    origin = chosen.origin or f"mentis.local/{uuid.uuid4().hex[:16]}"
    folder = open_key_folder(home, origin, environ)
    if chosen.key_env:
        public = encode_key(secret_key(chosen.key_env, environ).public)
        return LogIdentity(Pin(origin, public), folder, None)
    public = folder.new_key().public_text
    return LogIdentity(Pin(origin, public), folder, folder.key_file(public))


def drop_log(log: LogIdentity) -> None:
    """The home was not made after all, so nothing was ever signed."""
    if log.key_file is not None:
        log.folder.forget_key(log.pin.public_key)


def init_log(home: Home, environ: Mapping[str, str]) -> LogIdentity:
    """Give a home that has none a key, and pin it in its settings."""
    settings = load_settings(home.path, environ)
    if (pin := open_pin(settings)) is not None:
        raise UsageError(
            f"this home has a log already: {pin.origin}",
            hint="make a checkpoint with `mentis ledger checkpoint`; --new-key changes its key",
        )
    refuse_swapped(home, settings, environ)
    log = make_log(home, environ)
    try:
        change_settings(home.path, "ledger", log.settings)
    except BaseException:
        drop_log(log)
        raise
    remember_log(home, log, environ)
    return log


def remember_log(home: Home, log: LogIdentity, environ: Mapping[str, str]) -> None:
    """Beside the keys, so that nobody who can write into the home exchanges it unseen."""
    _remember(home, log.pin, environ)


def _remember(home: Home, pin: Pin, environ: Mapping[str, str]) -> None:
    known = KnownHome(pin.origin, pin.public_key)
    KnownHomes(config_folder(environ)).remember(home.path, known)


@dataclass(frozen=True, slots=True)
class KeyChange:
    """Everything that a change of the key touches."""

    home: Home
    settings: Settings
    sealing: Sealing
    store: LedgerStore
    stamp: Stamp
    environ: Mapping[str, str]

    def run(self) -> tuple[Pin, tuple[Entry, ...]]:
        """From the next entries on a new key signs: one entry in each chain, signed by both keys.

        Cut short at any point, it is finished by running it again; until then nothing is signed.
        """
        self._check_possible()
        folder, pin = self.sealing.folder, self.sealing.pin
        wanted = folder.changing_to()
        entries: tuple[Entry, ...] = ()
        if wanted is None:
            folder.key(pin.public_key)  # it signs too: without it nothing is begun
            wanted = folder.new_key().public_text
            folder.begin_change(wanted)
        if wanted != pin.public_key:
            entries = self._record(wanted)
            for agent in self._agents():
                self._keep(agent, wanted)
            change_settings(self.home.path, "ledger", {"public_key": wanted})
        # Also for whoever still runs with the settings from before: the old key signs no more.
        folder.retire_other_keys(wanted)
        _remember(self.home, Pin(pin.origin, wanted), self.environ)
        folder.end_change()
        return Pin(pin.origin, wanted), entries

    def _record(self, wanted: str) -> tuple[Entry, ...]:
        folder, pin = self.sealing.folder, self.sealing.pin
        old, new = folder.key(pin.public_key), folder.key(wanted)
        return tuple(
            keeping.change_key(self._compared(agent), old, new, self.stamp)
            for agent in self._agents()
            if not self._changed(agent, wanted)
        )

    def _compared(self, agent: str) -> LedgerHandle:
        """What the old key signs at its end goes on from what it has signed before."""
        return LedgerHandle(self.store, agent, self.sealing.pin, self.sealing.last_standing(agent))

    def _keep(self, agent: str, wanted: str) -> None:
        """Beside the key, too: a rollback may take the entry away, and the change holds on."""
        folder = self.sealing.folder
        known = folder.changes(agent)
        fresh = [
            KeptChange(entry.hash, signed)
            for entry, signed in self._changes(agent, wanted)
            if entry.hash not in {one.hash for one in known}
        ]
        folder.keep_changes(agent, (*known, *fresh))

    def _check_possible(self) -> None:
        if self.settings.model.ledger.key_env:
            raise SigningKeyError(
                "the key of this log is not in a file, so it cannot be changed for you",
                hint="take `ledger.key_env` out of the settings for the change",
            )
        if self.settings.of_environment("ledger", "public_key"):
            origin = self.settings.origins["ledger", "public_key"]
            raise SigningKeyError(
                f"the public key is set by {origin}, not in mentis.toml",
                hint="unset the variable and pin the key in mentis.toml",
            )

    def _agents(self) -> list[str]:
        return [*own_agents(self.store, self.settings, self.home, self.sealing)]

    def _changed(self, agent: str, public_key: str) -> bool:
        """Whether this chain has the entry already, from a run that was cut short."""
        return any(self._changes(agent, public_key))

    def _changes(self, agent: str, public_key: str) -> Iterator[tuple[Entry, JsonObject]]:
        """What both keys have signed for this place; anything else is for `verify`."""
        keys = [decode_key(self.sealing.pin.public_key), decode_key(public_key)]
        for entry in self.store.entries(agent):
            signed = as_object(entry.body.get(statements.FIELD))
            told = statement_of(signed)
            here = (told.get("new"), told.get("after")) == (public_key, entry.prev)
            if entry.kind == statements.KEY and here and all(signed_by(signed, k) for k in keys):
                yield entry, signed
