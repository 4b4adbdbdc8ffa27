"""Where each home was that writes under a log, kept beside its key: what a copy is known by.

A copy takes everything along that is in a home, but not this.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mentis.codec.forms import from_json, to_json
from mentis.disk.atomic import write_atomic
from mentis.errors import BadInput, SigningKeyError
from mentis.values.value import Value

from .key_folder import KeyFolder, safe_name
from .own import make_own, read_own


@dataclass(frozen=True, slots=True)
class HomeInstance(Value):
    """A place, and which file the database there is; 0 and 0 where there is none yet."""

    path: str
    device: int
    inode: int


def instance_at(home: Path, database: Path) -> HomeInstance:
    """What stands there now. OSError where nobody may look."""
    try:
        status = database.stat()
    except (FileNotFoundError, NotADirectoryError):
        return HomeInstance(str(home.resolve()), 0, 0)
    return HomeInstance(str(home.resolve()), status.st_dev, status.st_ino)


def is_copy(here: HomeInstance, known: HomeInstance | None, there: HomeInstance | None) -> bool:
    """Whether `here` is another home than the `known` one. `there` stands at its place now, if that
    is a home with a database of the same log.

    At the same place it is the home, whatever file that is: restored, or mounted anew. The same
    file at another place was moved, and so was one whose old place is empty.
    """
    if known is None or here.path == known.path:
        return False
    same_file = bool(here.inode) and (here.device, here.inode) == (known.device, known.inode)
    return not same_file and there is not None


class KnownInstances:
    """Those of one log: one for each name that a home has under it, which is mostly one."""

    def __init__(self, config: Path, origin: str) -> None:
        self._config = config
        self._folder = KeyFolder(config, origin).path

    def file(self, name: str) -> Path:
        return self._folder / f"{safe_name(name)}.home"

    def find(self, name: str) -> HomeInstance | None:
        file = self.file(name)
        try:
            return from_json(HomeInstance, read_own(file, top=self._config))
        except FileNotFoundError:
            return None
        except (OSError, BadInput) as error:
            raise SigningKeyError(
                f"{file}: where this home was cannot be read: {error}",
                hint="remove the file: the home that is opened next counts as the original",
                file=str(file),
            ) from error

    def remember(self, name: str, instance: HomeInstance) -> None:
        make_own(self._folder, top=self._config)
        write_atomic(self.file(name), to_json(instance))
