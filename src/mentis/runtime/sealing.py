"""Whose key signs the checkpoints of a home, and where they are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from mentis.errors import HomeUnwritable, RolledBack, SigningKeyError
from mentis.ledger import keeping
from mentis.ledger.keeping import Keeping, check_signer
from mentis.ports.ledger_store import LedgerStore
from mentis.ports.signer import Signer
from mentis.stores.files.home import Home
from mentis.stores.files.key_folder import KeyFolder, config_folder
from mentis.stores.files.known_homes import KnownHomes
from mentis.stores.keyring import SystemSecrets
from mentis.stores.keys import key_from_secrets
from mentis.values.checkpoint import Kept, Pin, Standing

from .anchoring import Anchor, open_anchors, tell_anchors
from .settings import Settings

NO_PIN_HINT = "make one with: mentis ledger checkpoint --init"


@dataclass(frozen=True, slots=True)
class Made:
    """A checkpoint, who was told of it, and what went wrong with that."""

    note: str
    standing: Standing
    told: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sealing:
    """The pin, the folder beside the key, the key itself when it is asked for, and the anchors."""

    pin: Pin
    folder: KeyFolder
    signer: Callable[[], Signer]
    anchors: tuple[Anchor, ...] = ()
    check: Callable[[], None] = lambda: None  # RolledBack when this is not the home's own log

    def start(self, store: LedgerStore, agent: str) -> tuple[Standing, int]:
        """Where this agent's ledger stands and how much of it is sealed, or RolledBack."""
        self.check()
        ledger, kept = Keeping(store, agent, self.pin), self.folder.kept(agent)
        seen = keeping.last_seen(ledger, kept)
        return keeping.start(ledger, kept), seen.size if seen else 0

    def checkpoint(
        self, store: LedgerStore, agent: str, *, since: Standing | None = None, anew: bool = False
    ) -> Made:
        """Sign what is there; keep it in the store, beside the key and at every anchor.

        `since`: where it stood, if that was compared already. `anew`: whatever was kept before.
        """
        ledger = Keeping(store, agent, self.pin)
        note, standing = keeping.checkpoint(ledger, self.signer(), since=since)
        self.folder.keep(agent, Kept(note, standing), anew=anew)
        told, faults = tell_anchors(self.anchors, note)
        return Made(note, standing, told, faults)


def open_pin(settings: Settings) -> Pin | None:
    """Which log this is and whose signature counts, once both are set."""
    chosen = settings.model.ledger
    return Pin(chosen.origin, chosen.public_key) if chosen.origin and chosen.public_key else None


def open_sealing(home: Home, settings: Settings, environ: Mapping[str, str]) -> Sealing | None:
    """None for a home that has no key yet."""
    pin = open_pin(settings)
    if pin is None:
        return None
    folder = open_key_folder(home, pin.origin, environ)
    key_env = settings.model.ledger.key_env
    return Sealing(
        pin,
        folder,
        signer=lambda: _open_signer(pin, folder, key_env, environ),
        anchors=open_anchors(home, settings),
        check=lambda: refuse_swapped(home, settings, environ),
    )


def swapped_identity(home: Home, settings: Settings, environ: Mapping[str, str]) -> str:
    """Says so when the settings name another log than this home had; empty otherwise."""
    known = KnownHomes(config_folder(environ)).origin(home.path)
    now = settings.model.ledger.origin
    if known is None or known == now:
        return ""
    named = f"name the log {now!r}" if now else "name no log"
    return f"swapped identity: the settings {named}, and this home had {known!r}"


def remember_identity(home: Home, settings: Settings, environ: Mapping[str, str]) -> None:
    """A home that was not seen at this place before is known by its log from now on."""
    pin, homes = open_pin(settings), KnownHomes(config_folder(environ))
    if pin is not None and homes.origin(home.path) is None:
        # Where this cannot be written, no checkpoint can be kept either, and that is told.
        with suppress(HomeUnwritable):
            homes.remember(home.path, pin.origin)


def refuse_swapped(home: Home, settings: Settings, environ: Mapping[str, str]) -> None:
    """RolledBack when the log was exchanged in the settings.

    Another log has no checkpoints yet, so nobody could say any more what is missing here.
    """
    if swapped := swapped_identity(home, settings, environ):
        file = KnownHomes(config_folder(environ)).file(home.path)
        raise RolledBack(
            swapped,
            hint="put `ledger.origin` and `ledger.public_key` back into mentis.toml; if another"
            f" home stands here now by your own will, remove {file}",
        )


def open_key_folder(home: Home, origin: str, environ: Mapping[str, str]) -> KeyFolder:
    config = config_folder(environ)
    if config.resolve().is_relative_to(home.path.resolve()):
        raise SigningKeyError(
            f"{config}: the signing key would lie inside the home that it guards",
            hint="set MENTIS_CONFIG to a folder elsewhere",
        )
    return KeyFolder(config, origin)


def _open_signer(pin: Pin, folder: KeyFolder, key_env: str, environ: Mapping[str, str]) -> Signer:
    if folder.changing_to() is not None:
        raise SigningKeyError(
            "a change of the signing key was cut short",
            hint="finish it with: mentis ledger checkpoint --new-key",
        )
    signer = secret_key(key_env, environ) if key_env else folder.key(pin.public_key)
    check_signer(signer, pin)
    return signer


def secret_key(key_env: str, environ: Mapping[str, str]) -> Signer:
    signer = key_from_secrets(SystemSecrets(environ), key_env)
    if signer is None:
        raise SigningKeyError(
            f"`ledger.key_env` names {key_env}, and neither environment nor keyring has it",
            hint=f"export {key_env}=..., or put it into the keyring of the system",
        )
    return signer
