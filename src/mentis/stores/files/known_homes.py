"""Which log a home had when it was last opened, kept beside the keys and not in the home.

Whoever can write into a home can name another log and key in its settings, but not here.
"""

from __future__ import annotations

from pathlib import Path

from mentis.disk.atomic import unwritable, write_atomic
from mentis.errors import SigningKeyError

from .key_folder import safe_name


class KnownHomes:
    """A home is known by where it is: a copy elsewhere is another one."""

    def __init__(self, config: Path) -> None:
        self._folder = config / "homes"

    def file(self, home: Path) -> Path:
        return self._folder / safe_name(str(home.resolve()))

    def origin(self, home: Path) -> str | None:
        """The log this home had, or None for one that is not known yet."""
        file = self.file(home)
        try:
            return file.read_text("utf-8").strip() or None
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise SigningKeyError(
                f"{file}: which log this home had cannot be read: {error}", hint="make it readable"
            ) from error

    def remember(self, home: Path, origin: str) -> None:
        if self.origin(home) == origin:
            return
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(self._folder, error) from error
        write_atomic(self.file(home), f"{origin}\n")
