"""The part of a log outside its home: signing key, and the newest checkpoint of each agent.

Whoever puts an older database in the home's place does not put it here, so the two no longer fit.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from mentis.codec.forms import from_json, to_json
from mentis.disk.atomic import sync_folder, unwritable, write_atomic
from mentis.disk.lock import write_lock
from mentis.errors import BadInput, SigningKeyError, StoreDamaged
from mentis.stores.keys import KeySigner, create_key, load_key
from mentis.values.checkpoint import KeptAnchors, KeptChange, KeptChanges, KeptCheckpoint, KeptNote

from .own import make_own, read_own

_UNSAFE = re.compile(r"[^a-z0-9.-]+")
_BUSY_SECONDS = 10.0
BESIDE = "beside the key"
VERIFIED = "verified-"  # how far a chain was verified, not a checkpoint


def config_folder(environ: Mapping[str, str]) -> Path:
    """Where keys are: MENTIS_CONFIG, else the user's configuration folder."""
    if chosen := environ.get("MENTIS_CONFIG"):
        return Path(os.path.expanduser(chosen))  # noqa: PTH111  # Path's own raises
    from platformdirs import user_config_path

    return user_config_path("mentis", appauthor=False)


class KeyFolder:
    def __init__(self, config: Path, origin: str, *, foreign: bool = False) -> None:
        """`foreign`: what is kept here of how far the ledger was is of another home."""
        self._config = config
        self._foreign = foreign
        self.path = config / "ledgers" / safe_name(origin)

    def key_file(self, public_key: str) -> Path:
        """Each key has a file of its own, so that a new one never takes the place of an old one."""
        return self.path / f"key-{hashlib.sha256(public_key.encode()).hexdigest()[:16]}.pem"

    def new_key(self) -> KeySigner:
        make_own(self.path, top=self._config)
        fresh = self.path / f"new-{os.getpid()}.pem"
        fresh.unlink(missing_ok=True)
        signer = create_key(fresh)
        try:
            fresh.rename(self.key_file(signer.public_text))
            sync_folder(self.path)
        except OSError as error:
            raise unwritable(fresh, error) from error
        return signer

    def key(self, public_key: str) -> KeySigner:
        return load_key(self.key_file(public_key))

    def forget_key(self, public_key: str) -> None:
        """Only for a key that has never signed anything."""
        self.key_file(public_key).unlink(missing_ok=True)

    def retire_other_keys(self, public_key: str) -> None:
        """Keep every other key under a name that nothing signs with."""
        for file in sorted(self.path.glob("key-*.pem")):
            if file != self.key_file(public_key):
                file.rename(file.with_name(f"retired-{file.name}"))
        sync_folder(self.path)

    def _read(self, path: Path) -> bytes:
        return read_own(path, top=self._config)

    def kept_file(self, agent: str) -> Path:
        return self.path / f"{safe_name(agent)}.json"

    def kept_checkpoint(self, agent: str) -> KeptCheckpoint | None:
        path = self.kept_file(agent)
        if self._foreign:
            return None
        try:
            return from_json(KeptCheckpoint, self._read(path))
        except FileNotFoundError:
            return None
        except (OSError, BadInput) as error:
            # Without it nobody can say whether the ledger was rolled back, so it does not start.
            raise StoreDamaged(
                f"{path}: the last checkpoint cannot be read: {error}",
                hint="check with `mentis verify` and an anchor, then remove this file",
                file=str(path),
            ) from error

    def kept_notes(self) -> tuple[tuple[KeptNote, ...], tuple[str, ...]]:
        """The newest checkpoint of every agent, and which files of them cannot be read."""
        notes: list[KeptNote] = []
        faults: list[str] = []
        for file in () if self._foreign else sorted(self.path.glob("*.json")):
            if file.name.startswith(VERIFIED):
                continue
            try:
                kept = from_json(KeptCheckpoint, self._read(file))
            except (OSError, BadInput) as error:
                faults.append(f"{file}: the last checkpoint cannot be read: {error}")
            else:
                notes.append(KeptNote(kept.note, BESIDE, outside=False))
        return tuple(notes), tuple(faults)

    def keep(self, agent: str, kept: KeptCheckpoint, *, anew: bool = False) -> None:
        """The longest one stays, whoever comes last; `anew`, after a rollback, puts this one."""
        make_own(self.path, top=self._config)
        with write_lock(self.path / ".lock", seconds=_BUSY_SECONDS):
            before = None if anew else self.kept_checkpoint(agent)
            if before is None or before.standing.size <= kept.standing.size:
                write_atomic(self.kept_file(agent), to_json(kept))

    def changes_file(self, agent: str) -> Path:
        return self.path / f"{safe_name(agent)}.changes"

    def changes(self, agent: str) -> tuple[KeptChange, ...]:
        """The changes of the key in this chain, also those that a rollback took away."""
        path = self.changes_file(agent)
        try:
            return from_json(KeptChanges, self._read(path)).changes
        except FileNotFoundError:
            return ()
        except (OSError, BadInput) as error:
            raise StoreDamaged(
                f"{path}: the changes of the key cannot be read: {error}",
                hint="take the file from a copy of the key's folder",
                file=str(path),
            ) from error

    def keep_changes(self, agent: str, changes: Sequence[KeptChange]) -> None:
        write_atomic(self.changes_file(agent), to_json(KeptChanges(tuple(changes))))

    @property
    def anchors_file(self) -> Path:
        return self.path / "anchors"

    def anchors(self) -> tuple[str, ...]:
        """Those that were added here; in the home anybody could name one."""
        try:
            return from_json(KeptAnchors, self._read(self.anchors_file)).names
        except FileNotFoundError:
            return ()
        except (OSError, BadInput) as error:
            raise StoreDamaged(
                f"{self.anchors_file}: which anchors were added cannot be read: {error}",
                hint="remove it and add them again with `mentis ledger anchor add`",
                file=str(self.anchors_file),
            ) from error

    def add_anchor(self, name: str) -> None:
        make_own(self.path, top=self._config)
        if name not in (known := self.anchors()):
            write_atomic(self.anchors_file, to_json(KeptAnchors((*known, name))))

    def remove_anchor(self, name: str) -> None:
        if name in (known := self.anchors()):
            kept = tuple(one for one in known if one != name)
            write_atomic(self.anchors_file, to_json(KeptAnchors(kept)))

    @property
    def quorum_file(self) -> Path:
        return self.path / "quorum"

    def quorum(self) -> int:
        """How many witnesses a checkpoint needs; in the home anybody could ask for none."""
        try:
            return int(self._read(self.quorum_file))
        except FileNotFoundError:
            return 0
        except (OSError, ValueError) as error:
            raise StoreDamaged(
                f"{self.quorum_file}: how many witnesses are asked for cannot be read: {error}",
                hint="say it again: mentis ledger anchor quorum NUMBER",
                file=str(self.quorum_file),
            ) from error

    def pin_quorum(self, number: int) -> None:
        make_own(self.path, top=self._config)
        write_atomic(self.quorum_file, f"{number}\n")

    # A change of the key touches ledger and settings; this says that it has begun and not ended.

    @property
    def change_file(self) -> Path:
        return self.path / "changing-to"

    def changing_to(self) -> str | None:
        try:
            return self._read(self.change_file).decode("ascii").strip()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise SigningKeyError(
                f"{self.change_file}: cannot be read: {error}", hint="make it readable"
            ) from error

    def begin_change(self, public_key: str) -> None:
        write_atomic(self.change_file, public_key)

    def end_change(self) -> None:
        self.change_file.unlink(missing_ok=True)
        sync_folder(self.path)


def safe_name(name: str) -> str:
    """A safe name that no two logs or agents share."""
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{_UNSAFE.sub('-', name.lower()).strip('-.')[:60] or 'log'}-{digest}"
