"""Source of an import: a file, a zip or a folder, read by name and within limits.

Only what a format asks for is read. Links are never followed, and a folder that is a program's own
(`.git`, `node_modules` ...) is passed over.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from mentis.disk.bounded import read_bounded
from mentis.errors import BadInput
from mentis.exchange.cards import read_json
from mentis.library.archive.zip import Limits, pack, unpack
from mentis.values.digest import Digest, digest

LARGEST = 60_000_000  # of a file that is imported
LIMITS = Limits(
    archive_bytes=LARGEST, members=50_000, member_bytes=LARGEST, total_bytes=200_000_000
)
_DEEPEST = 12
_PASSED_OVER = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".mypy_cache"}
)
_ZIP = b"PK"
_OF_A_MAC = "__MACOSX/"


@dataclass(frozen=True, slots=True)
class ImportOriginal:
    """What is kept of it in the home, under the name `original` and this ending."""

    data: bytes
    suffix: str

    @property
    def digest(self) -> Digest:
        return digest(self.data)


class ImportSource:
    """`names` are of all that is in it, with slashes; a plain file holds itself alone."""

    def __init__(self, path: Path) -> None:
        self.name = path.name or path.resolve().name
        self.is_folder = path.is_dir()
        self._path = path
        self._top = ""  # the one folder that all of a zip is in
        self._left_out: dict[str, str] = {}
        self._read: dict[str, bytes] = {}
        self._documents: list[object] = []
        self.data = b"" if self.is_folder else _file(path)
        self.is_zip = self.data.startswith(_ZIP)
        if self.is_folder:
            self.names = tuple(sorted(self._walk()))
        elif self.is_zip:
            _, names = unpack(self.data, LIMITS, lambda _: False)
            names = tuple(name for name in names if not name.startswith(_OF_A_MAC))
            self._top = _common_folder(names)
            self.names = tuple(sorted(name.removeprefix(self._top) for name in names))
        else:
            self.names = (self.name,)

    @property
    def left_out(self) -> Mapping[str, str]:
        """What of a folder is not looked at, and why."""
        return self._left_out

    @property
    def stem(self) -> str:
        """Its name without an ending, for what is named after it."""
        return self.name if self.is_folder else PurePosixPath(self.name).stem

    def read(self, wanted: Callable[[str], bool], *, most: int = LARGEST) -> dict[str, bytes]:
        """The contents of those that are wanted; BadInput where one has more bytes than `most`."""
        names = [name for name in self.names if wanted(name)]
        if self.is_zip:
            limits = Limits(
                archive_bytes=LARGEST, members=50_000, member_bytes=most, total_bytes=200_000_000
            )
            packed = {f"{self._top}{name}" for name in names}
            read, _ = unpack(self.data, limits, lambda name: name in packed)
            found = {name.removeprefix(self._top): data for name, data in read.items()}
        elif self.is_folder:
            found = {name: _file(self._path / name, most) for name in names}
        else:
            found = dict.fromkeys(names, self.data)
        self._read |= found
        if sum(map(len, self._read.values())) > LIMITS.total_bytes:
            hint = "import it in parts"
            raise BadInput(f"{self.name} has more than {LIMITS.total_bytes} bytes", hint=hint)
        return found

    def document(self) -> object:
        """The JSON that a plain file is; read once, however many ask."""
        if not self._documents:
            self._documents.append(read_json(self.data, self.name))
        return self._documents[0]

    def original(self) -> ImportOriginal:
        """As it came; of a folder, what was read of it, as a zip."""
        if not self.is_folder:
            return ImportOriginal(self.data, self._path.suffix.lower()[:8])
        return ImportOriginal(pack(self._read), ".zip")

    def _walk(self) -> list[str]:
        found: list[str] = []
        waiting: list[tuple[Path, int]] = [(self._path, 0)]
        while waiting:
            folder, depth = waiting.pop()
            for entry in _entries(folder):
                path = Path(entry.path)
                reason = _why_not(entry, depth)
                if reason:
                    self._left_out[path.relative_to(self._path).as_posix()] = reason
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append((path, depth + 1))
                else:
                    found.append(path.relative_to(self._path).as_posix())
            if len(found) > LIMITS.members:
                hint = "name the folder that the files are in"
                raise BadInput(f"{self.name} has more than {LIMITS.members} files", hint=hint)
        return found


def _why_not(entry: os.DirEntry[str], depth: int) -> str:
    if entry.is_symlink():
        return "a link, which is not followed"
    if entry.is_file(follow_symlinks=False):
        return ""
    if not entry.is_dir(follow_symlinks=False):
        return "neither a file nor a folder"
    if entry.name in _PASSED_OVER:
        return "a folder of a program, not of an agent"
    return f"more than {_DEEPEST} folders deep" if depth >= _DEEPEST else ""


def _common_folder(names: Sequence[str]) -> str:
    tops = {name.partition("/")[0] for name in names if "/" in name}
    return f"{tops.pop()}/" if len(tops) == 1 and all("/" in name for name in names) else ""


def text_of(data: bytes, name: str) -> str:
    """UTF-8, without a byte order mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        hint = "save it as UTF-8"
        raise BadInput(f"{name}: not UTF-8 at byte {error.start}", hint=hint) from error


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        hint = "check its permissions"
        raise BadInput(f"{folder}: cannot be read: {error.strerror}", hint=hint) from error


def _file(path: Path, most: int = LARGEST) -> bytes:
    try:
        return read_bounded(path, most)
    except OSError as error:
        hint = "check what it is, and its permissions"
        raise BadInput(f"{path}: cannot be read: {error.strerror}", hint=hint) from error
