"""The prompt files of one home, as one immutable snapshot at a time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from threading import Lock

from mentis.disk.inside import inside
from mentis.disk.together import digest_of_file, read_journal
from mentis.errors import LibraryError, MentisError, OutsideHome, StoreLocked
from mentis.values.location import Location, Problem

from .assemble import LoadedLibrary
from .layer import Layer, as_problem
from .load import load_layers, shipped_layer
from .owner_files import PENDING, Key, OwnerFile, layer_of_files, read_file, reread, scan

_TRIES = 50


class Shelf:
    """Reads again what changed since the last look. Readers take no lock and never see half a
    change: the files must stand still while they are read, and a change that was cut short is
    seen as finished."""

    def __init__(
        self, root: Path, *, shipped: Layer | None = None, max_file_bytes: int = 5_000_000
    ) -> None:
        self.root = root
        self.max_file_bytes = max_file_bytes
        self._shipped = shipped
        self._lock = Lock()
        self._files: Mapping[str, OwnerFile] = {}
        self._keys: Mapping[str, Key] = {}
        self._settled = False
        self._loaded: LoadedLibrary | None = None

    @property
    def last(self) -> LoadedLibrary | None:
        """What the last look found, without another."""
        return self._loaded

    def current(self) -> LoadedLibrary:
        """Both layers as they are now; the same object as long as no file changed."""
        with self._lock:
            if self._loaded is None or not self._settled or scan(self.root) != self._keys:
                self._loaded = self._latest()
            return self._loaded

    def _latest(self) -> LoadedLibrary:
        for _ in range(_TRIES):
            files = self._read()
            keys = {name: file.key for name, file in files.items()}
            effective = self._with_pending(files)
            if effective is not None and scan(self.root) == keys:
                return self._take(files, keys, effective)
        if self._loaded is not None:
            return self._loaded  # older, but whole
        raise StoreLocked(
            f"{self.root}: the files change faster than they can be read",
            hint="try again when whatever writes them is done",
            path=str(self.root),
        )

    def _read(self) -> dict[str, OwnerFile]:
        return {name: self._file(name, key) for name, key in scan(self.root).items()}

    def _file(self, name: str, key: Key) -> OwnerFile:
        known = self._files.get(name)
        if known is not None and known.key == key:
            return reread(self.root, name, known, limit=self.max_file_bytes)
        return read_file(self.root, name, limit=self.max_file_bytes)

    def _take(
        self,
        files: Mapping[str, OwnerFile],
        keys: Mapping[str, Key],
        effective: Mapping[str, OwnerFile],
    ) -> LoadedLibrary:
        same = self._loaded is not None and _contents(files) == _contents(self._files)
        self._files, self._keys = files, keys
        self._settled = all(file.settled for file in files.values())
        if same and self._loaded is not None and PENDING not in files:
            return self._loaded
        shipped = shipped_layer() if self._shipped is None else self._shipped
        return load_layers(shipped, self._owner(effective, shipped))

    def _owner(self, files: Mapping[str, OwnerFile], shipped: Layer) -> Layer:
        try:
            inside(self.root.parent, self.root.name)
        except OutsideHome as error:
            message = "this is a link that leads out of the home, and is not followed"
            place = Location(str(self.root))
            problem = Problem(LibraryError.code, message, place, error.hint)
            return Layer("owner", broken={".": problem})
        return layer_of_files(files, shipped.placeholders)

    def _with_pending(self, files: Mapping[str, OwnerFile]) -> Mapping[str, OwnerFile] | None:
        """The files as they are once the change under way is done; None if it just moved on."""
        journal = files.get(PENDING)
        if journal is None:
            return files
        effective = {name: file for name, file in files.items() if name != PENDING}
        try:
            content = (self.root / PENDING).read_bytes()
            waiting = read_journal(self.root, content, str(self.root / PENDING))
        except FileNotFoundError:
            return None
        except MentisError as error:
            return {**effective, PENDING: OwnerFile(journal.key, problem=as_problem(error))}
        for name, file in waiting.items():
            at = None if file.temporary is None else self.root / file.temporary
            if digest_of_file(self.root / name) != file.old or (at and not at.is_file()):
                continue  # it is there already, or somebody else changed it
            effective.pop(name, None)
            if at is not None:
                effective[name] = read_file(self.root, name, limit=self.max_file_bytes, at=at)
        return effective


def _contents(files: Mapping[str, OwnerFile]) -> Mapping[str, object]:
    return {name: (file.source, file.problem) for name, file in files.items()}
