"""Whose key signs the checkpoints of a home, and where they are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mentis.errors import (
    BadCheckpoint,
    HomeUnwritable,
    RolledBack,
    SigningKeyError,
    StoreError,
)
from mentis.ledger import keeping
from mentis.ledger.keeping import LedgerHandle, check_signer
from mentis.ledger.standing import stand
from mentis.ports.ledger_store import LedgerStore
from mentis.ports.signer import Signer
from mentis.settings.settings import Settings
from mentis.stores.files.home import Home
from mentis.stores.files.key_folder import KeyFolder, config_folder
from mentis.stores.files.known_homes import KnownHome, KnownHomes
from mentis.stores.keyring import SystemSecrets
from mentis.stores.keys import key_from_secrets
from mentis.values.checkpoint import KeptCheckpoint, Pin, Standing, WitnessPolicy

from .anchors import Anchor, open_anchors, tell_anchors, whole_name, witnesses
from .copies import copy_refusal, original_of

_COPY = (
    "this home is a copy of {}: it is held against its own checkpoints, and not against what is"
    " kept beside the key and at anchors, which is of the original"
)
NO_PIN_HINT = "make one with: mentis ledger checkpoint --init"


@dataclass(frozen=True, slots=True)
class SignedCheckpoint:
    """A checkpoint, who was told of it, and what went wrong with that."""

    note: str
    standing: Standing
    told: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    refused: bool = False  # by a witness that has seen more or other


@dataclass(frozen=True, slots=True)
class Sealing:
    """The pin, the folder beside the key, the key itself when it is asked for, and the anchors."""

    pin: Pin
    folder: KeyFolder
    signer: Callable[[], Signer]
    anchors: tuple[Anchor, ...] = ()
    strangers: tuple[str, ...] = ()  # anchors of the settings that nobody has added: not used
    unnamed: tuple[str, ...] = ()  # anchors that were added and the settings leave out: used
    check: Callable[[], None] = lambda: None  # RolledBack when this is not the home's own log
    shared: bool = False  # whether other homes may write into the same database
    original: Path | None = None  # where this home is a copy: then nothing is signed or kept

    def start(self, store: LedgerStore, agent: str) -> tuple[Standing, int]:
        """Where this agent's ledger stands and how much of it is sealed, or RolledBack."""
        self.check()
        ledger, kept = LedgerHandle(store, agent, self.pin), self.folder.kept_checkpoint(agent)
        seen = keeping.last_seen(ledger, kept)
        if seen is None:
            self.refuse_foreign(store, agent)
        standing = keeping.start(ledger, kept)
        self.ask_witnesses(ledger, kept, standing)
        return standing, seen.size if seen else 0

    def ask_witnesses(
        self, ledger: LedgerHandle, kept: KeptCheckpoint | None, standing: Standing
    ) -> None:
        """RolledBack where a witness has seen more or other, once so many must sign: home and keys
        restored together do not know it. One that does not answer stops nothing, and is told with
        the next checkpoint.
        """
        asked = witnesses(self.anchors)
        if not (asked and self.folder.quorum()):
            return
        before = kept.standing if kept else Standing()
        for place in asked:
            notes, size = (), None
            with suppress(StoreError, BadCheckpoint):
                notes = place.notes()
                if kept and not notes:
                    size = place.seen(kept.note)
            keeping.hold_against(ledger, notes, before, standing)
            if size is not None:
                keeping.refuse_shorter(ledger, size, who=f"witness {place.key.name}")

    def refuse_foreign(self, store: LedgerStore, agent: str) -> None:
        """RolledBack when another home has sealed this chain: while we have not, nothing says that
        it is ours.
        """
        if self.shared:
            keeping.refuse_foreign(LedgerHandle(store, agent, self.pin))

    def last_standing(self, agent: str) -> Standing | None:
        """Where this agent's ledger stood at the checkpoint that is kept beside the key."""
        kept = self.folder.kept_checkpoint(agent)
        return kept.standing if kept else None

    def checkpoint(
        self, store: LedgerStore, agent: str, *, since: Standing | None = None, anew: bool = False
    ) -> SignedCheckpoint:
        """Sign what is there; keep it in the store, beside the key and at every anchor.

        `since`: where it stood, if that was compared already; else what is kept beside the key.
        `anew`: whatever was kept before.
        """
        ledger = LedgerHandle(store, agent, self.pin)
        since = since or (None if anew else self.last_standing(agent))
        standing = stand(ledger.hashes_from, since)
        # The key comes last: if it was given up since, an entry says so that it must not seal.
        note = keeping.sign(ledger, self.signer(), standing)
        growth = keeping.growth_to(ledger, standing.size)
        told = tell_anchors(self.anchors, note, growth)
        store.keep_checkpoint(agent, standing.size, told.note)
        self.folder.keep(agent, KeptCheckpoint(told.note, standing), anew=anew)
        faults = (*told.faults, *self.strange())
        return SignedCheckpoint(told.note, standing, told.names, faults, refused=told.refused)

    @property
    def policy(self) -> WitnessPolicy:
        """The witnesses among the anchors, and how many of them a checkpoint needs."""
        pinned = (anchor.witness for anchor in self.anchors)
        return WitnessPolicy(tuple(filter(None, pinned)), self.folder.quorum())

    def strange(self) -> tuple[str, ...]:
        """Whoever can write into the home can name an anchor there, or take one out of there; its
        owner adds and removes one.
        """
        if self.original is not None:
            return (_COPY.format(self.original),)
        return (*map(strange, self.strangers), *map(left_out, self.unnamed))


def open_pin(settings: Settings) -> Pin | None:
    """Which log this is and whose signature counts, once both are set."""
    chosen = settings.model.ledger
    return Pin(chosen.origin, chosen.public_key) if chosen.origin and chosen.public_key else None


def open_sealing(home: Home, settings: Settings, environ: Mapping[str, str]) -> Sealing | None:
    """None for a home that has no key yet."""
    pin = open_pin(settings)
    if pin is None:
        return None
    if (original := original_of(home, settings, environ)) is not None:
        return _sealing_of_copy(home, original, pin, environ)
    folder = open_key_folder(home, pin.origin, environ)
    key_env = settings.model.ledger.key_env
    named = settings.model.ledger.anchors
    if anchors_of_environment(settings):
        # Nobody knows whether these were told anything before.
        anchors = open_anchors(home, named, origin=pin.origin, new=True)
        strangers, unnamed = (), ()
    else:
        ours, strangers, unnamed = _anchors(home, named, folder.anchors())
        anchors = open_anchors(home, (*ours, *unnamed), origin=pin.origin)
    return Sealing(
        pin,
        folder,
        signer=lambda: _open_signer(pin, folder, key_env, environ),
        anchors=anchors,
        strangers=strangers,
        unnamed=unnamed,
        check=lambda: refuse_swapped(home, settings, environ),
        shared=settings.model.ledger.store != "sqlite",
    )


def _sealing_of_copy(home: Home, original: Path, pin: Pin, environ: Mapping[str, str]) -> Sealing:
    """What is kept beside the key and at anchors is of the original, which has gone on."""

    def refuse() -> Signer:
        raise copy_refusal(home, original)

    folder = KeyFolder(config_folder(environ), pin.origin, foreign=True)
    return Sealing(pin, folder, signer=refuse, original=original)


@dataclass(frozen=True, slots=True)
class KeyFault:
    """Why nothing of a home can be signed here, and what to do about it."""

    reason: str
    remedy: str


def missing_key(home: Home, settings: Settings, environ: Mapping[str, str]) -> KeyFault | None:
    """None when the key that the settings name is at hand. It is looked for, and not read."""
    pin, key_env = open_pin(settings), settings.model.ledger.key_env
    if pin is None:
        return KeyFault("this home has no signing key, so nothing in it is sealed", NO_PIN_HINT)
    if key_env:
        if SystemSecrets(environ).get(key_env) is not None:
            return None
        place = f"neither the environment nor the keyring has {key_env}"
        return KeyFault(
            f"the signing key of this home is missing: {place}", f"export {key_env}=..."
        )
    file = open_key_folder(home, pin.origin, environ).key_file(pin.public_key)
    if file.is_file():
        return None
    return KeyFault(
        f"the signing key of this home is missing: there is no {file}; what is recorded now is not"
        " sealed",
        "restore it from your backup; checkpoints made with it stay valid",
    )


def swapped_identity(home: Home, settings: Settings, environ: Mapping[str, str]) -> str:
    """Says so when the settings name another log or key than this home had; empty otherwise."""
    config, now = config_folder(environ), settings.model.ledger
    known = KnownHomes(config).find(home.path)
    if known is None:
        return ""
    if known.origin != now.origin:
        named = f"name the log {now.origin!r}" if now.origin else "name no log"
        return f"swapped identity: the settings {named}, and this home had {known.origin!r}"
    if not now.public_key:
        return "swapped identity: the settings name no public key, and this home had one"
    # Also while the key is changed, which is known beside the key.
    ours = (known.public_key or now.public_key, KeyFolder(config, now.origin).changing_to())
    if now.public_key not in ours:
        return (
            f"swapped identity: the settings name the public key {now.public_key!r}, and this"
            f" home had {known.public_key!r}"
        )
    return ""


def remember_identity(home: Home, settings: Settings, environ: Mapping[str, str]) -> None:
    """A home that was not seen at this place before is known by its log and key from now on."""
    pin, homes = open_pin(settings), KnownHomes(config_folder(environ))
    known = homes.find(home.path)
    if pin is None or (known and (known.public_key or known.origin != pin.origin)):
        return
    key_file = KeyFolder(config_folder(environ), pin.origin).key_file(pin.public_key)
    if known and not (settings.model.ledger.key_env or key_file.is_file()):
        return  # known from the time when keys were not remembered: then it must be one of ours
    # Where this cannot be written, no checkpoint can be kept either, and that is told.
    with suppress(HomeUnwritable):
        homes.remember(home.path, KnownHome(pin.origin, pin.public_key))


def refuse_swapped(home: Home, settings: Settings, environ: Mapping[str, str]) -> None:
    """RolledBack when the log or its key was exchanged in the settings.

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


def anchors_of_environment(settings: Settings) -> bool:
    """Whoever sets the environment is the owner: what they name was not added, and is used."""
    return settings.of_environment("ledger", "anchors")


def _anchors(
    home: Home, named: Sequence[str], added: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Added and named; named by the home alone; added and left out by the home."""
    whole = {name: whole_name(home, name) for name in named}
    ours = tuple(name for name in named if whole[name] in added)
    strangers = tuple(name for name in named if name not in ours)
    return ours, strangers, tuple(name for name in added if name not in whole.values())


def strange(name: str) -> str:
    return (
        f"anchor {name!r} is in the settings, but was not added on this machine, so it is neither"
        " told nor asked; if it is yours, add it with `mentis ledger anchor add`"
    )


def left_out(name: str) -> str:
    return (
        f"anchor {name!r} was added on this machine, but the settings leave it out; it is told and"
        " asked all the same; if that is not wanted, take it out with `mentis ledger anchor remove`"
    )


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
