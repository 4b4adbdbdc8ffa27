"""The folder of a witness: its name and key, the logs it watches, the last checkpoint of each."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from mentis.codec.forms import from_json, to_json
from mentis.disk.atomic import unwritable, write_atomic
from mentis.disk.lock import write_lock
from mentis.errors import BadInput, StoreDamaged, UsageError
from mentis.stores.keys import KeySigner, create_key, load_key
from mentis.values.value import Value

from .key_folder import safe_name

_BUSY_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class WatchedLog(Value):
    """A log by its origin, and the keys (base64) that may sign its checkpoints. The logs of all
    agents of a home begin with the origin of the home, and a slash.
    """

    origin: str
    public_keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WitnessFacts(Value):
    """What stands in `witness.json`."""

    name: str
    logs: tuple[WatchedLog, ...] = ()


@dataclass(frozen=True, slots=True)
class SeenCheckpoint(Value):
    """The largest checkpoint of a log that was cosigned, as it was signed and cosigned."""

    origin: str
    note: str


class WitnessFolder:
    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, name: str) -> WitnessFolder:
        """With a new key; a folder that is one already is refused."""
        folder = cls(path)
        if folder._facts_file.exists():
            raise UsageError(f"{path} is the folder of a witness already", hint="name another")
        create_key(folder._key_file)
        write_atomic(folder._facts_file, to_json(WitnessFacts(name)))
        return folder

    def signer(self) -> KeySigner:
        return load_key(self._key_file)

    def facts(self) -> WitnessFacts:
        try:
            return from_json(WitnessFacts, self._facts_file.read_bytes())
        except FileNotFoundError as error:
            raise UsageError(
                f"{self.path} is not the folder of a witness",
                hint=f"make it one: mentis witness init {self.path}",
            ) from error
        except (OSError, BadInput) as error:
            raise _damaged(self._facts_file, error) from error

    def watch(self, origin: str, public_key: str) -> WatchedLog:
        """Take checkpoints of this log, and of those below it, signed by this key too."""
        with self.changing():
            facts = self.facts()
            known = {one.origin: one for one in facts.logs}
            before = known.get(origin, WatchedLog(origin, ()))
            keys = tuple(dict.fromkeys((*before.public_keys, public_key)))
            known[origin] = WatchedLog(origin, keys)
            write_atomic(self._facts_file, to_json(replace(facts, logs=tuple(known.values()))))
        return known[origin]

    def keys_of(self, origin: str) -> tuple[str, ...]:
        """Whose signature counts for a log; none for one that is not watched."""
        return tuple(
            key
            for one in self.facts().logs
            if _is_below(origin, one.origin)
            for key in one.public_keys
        )

    def seen(self, origin: str) -> SeenCheckpoint | None:
        file = self._seen_file(origin)
        return self._read_seen(file) if file.exists() else None

    def _read_seen(self, file: Path) -> SeenCheckpoint:
        try:
            return from_json(SeenCheckpoint, file.read_bytes())
        except (OSError, BadInput) as error:
            # Without it the log could begin anew, so nothing of it is cosigned.
            raise _damaged(file, error) from error

    def seen_below(self, origin: str = "") -> tuple[SeenCheckpoint, ...]:
        """Of this log, and of those below it; of all, where none is named."""
        files = sorted((self.path / "seen").glob("*.json"))
        found = (self._read_seen(file) for file in files)
        return tuple(one for one in found if not origin or _is_below(one.origin, origin))

    def note_seen(self, seen: SeenCheckpoint) -> None:
        """It is on the disk when this returns. Whoever calls is `changing` the folder."""
        file = self._seen_file(seen.origin)
        try:
            file.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise unwritable(file, error) from error
        write_atomic(file, to_json(seen))

    @contextmanager
    def changing(self) -> Generator[None]:
        """Alone: between a look at what was seen and the note of it nobody else comes."""
        with write_lock(self.path / ".lock", seconds=_BUSY_SECONDS):
            yield

    @property
    def _facts_file(self) -> Path:
        return self.path / "witness.json"

    @property
    def _key_file(self) -> Path:
        return self.path / "key.pem"

    def _seen_file(self, origin: str) -> Path:
        return self.path / "seen" / f"{safe_name(origin)}.json"


def _is_below(origin: str, top: str) -> bool:
    return origin == top or origin.startswith(f"{top}/")


def _damaged(file: Path, error: Exception) -> StoreDamaged:
    return StoreDamaged(
        f"{file}: it cannot be read: {error}",
        hint="bring it back from a copy that is no older; an older one lets a log begin anew",
        file=str(file),
    )
