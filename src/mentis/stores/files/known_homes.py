"""Which log and key a home had when it was last opened, kept beside the keys and not in the home.

Whoever can write into a home can name others in its settings, but not here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mentis.codec.forms import from_json, to_json
from mentis.disk.atomic import write_atomic
from mentis.errors import BadInput, SigningKeyError
from mentis.values.value import Value

from .key_folder import safe_name
from .own import make_own, read_own


@dataclass(frozen=True, slots=True)
class KnownHome(Value):
    """`public_key` is empty where it was not remembered yet."""

    origin: str
    public_key: str = ""


class KnownHomes:
    """A home is known by where it is: a copy elsewhere is another one."""

    def __init__(self, config: Path) -> None:
        self._config = config
        self._folder = config / "homes"

    def file(self, home: Path) -> Path:
        return self._folder / safe_name(str(home.resolve()))

    def find(self, home: Path) -> KnownHome | None:
        """None for a home that was not seen at this place before."""
        file = self.file(home)
        try:
            text = read_own(file, top=self._config).decode().strip()
            # At first there was nothing but the name of the log in it.
            return from_json(KnownHome, text) if text.startswith("{") else KnownHome(text)
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError, BadInput) as error:
            raise SigningKeyError(
                f"{file}: which log this home had cannot be read: {error}", hint="make it readable"
            ) from error

    def verified_file(self, home: Path, name: str) -> Path:
        """Where is kept how far a record was verified that has no key to keep it beside."""
        return self._folder / f"{self.file(home).name}.verified" / safe_name(name)

    def remember(self, home: Path, known: KnownHome) -> None:
        if self.find(home) == known:
            return
        make_own(self._folder, top=self._config)
        write_atomic(self.file(home), to_json(known))
