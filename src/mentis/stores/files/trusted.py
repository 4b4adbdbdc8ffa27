"""The owner's yes to parts of a home: tools that may be run, keys that may be sent.

It is kept beside the signing keys and not in the home. Whoever can write into a home can name a
program or a server in its settings, but not here: it is run, or sent a key, only when the owner has
said yes to exactly this one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, cast

from mentis.disk.atomic import unwritable, write_atomic
from mentis.disk.lock import write_lock
from mentis.errors import StoreDamaged
from mentis.values.digest import Digest

from .key_folder import safe_name

_BUSY_SECONDS = 10.0


class _Trusted:
    """A home is known by where it is: a copy elsewhere is another one. These methods block."""

    kind: ClassVar[str]  # the folder, and the table in each file

    def __init__(self, config: Path) -> None:
        self._config = config
        self._folder = config / self.kind

    def file(self, home: Path) -> Path:
        return self._folder / f"{safe_name(str(home.resolve()))}.json"

    def is_trusted(self, home: Path, name: str, digest: Digest) -> bool:
        return self.trusted_parts(home).get(name) == digest

    def trusted_parts(self, home: Path) -> Mapping[str, Digest]:
        """What was trusted of this home, by name. StoreDamaged if that cannot be read."""
        self._refuse_inside(home)
        path = self.file(home)
        try:
            found: object = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise self._unreadable(path, str(error)) from error
        told = cast("dict[str, object]", found) if isinstance(found, dict) else {}
        trusted = told.get(self.kind)
        if not isinstance(trusted, dict):
            raise self._unreadable(path, "it is not what was written there")
        if told.get("home") != str(home.resolve()):
            return {}  # of another home, whose name makes the same file
        return cast("dict[str, str]", trusted)

    def trust(self, home: Path, name: str, digest: Digest) -> None:
        """From now on this one, and no other of that name."""
        self._change(home, name, digest)

    def forget(self, home: Path, name: str) -> bool:
        """False when it was not trusted."""
        return self._change(home, name, None)

    def _change(self, home: Path, name: str, digest: Digest | None) -> bool:
        self._refuse_inside(home)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(self._folder, error) from error
        with write_lock(self._folder / ".lock", seconds=_BUSY_SECONDS):
            trusted = dict(self.trusted_parts(home))
            before = trusted.pop(name, None)
            if digest is not None:
                trusted[name] = digest
            if before != digest:
                told = {"home": str(home.resolve()), self.kind: dict(sorted(trusted.items()))}
                write_atomic(self.file(home), f"{json.dumps(told, indent=2)}\n")
        return before is not None

    def _refuse_inside(self, home: Path) -> None:
        if self._config.resolve().is_relative_to(home.resolve()):
            raise StoreDamaged(
                f"the configuration folder {self._config} is inside the home",
                hint="set MENTIS_CONFIG to a folder elsewhere",
            )

    def _unreadable(self, path: Path, reason: str) -> StoreDamaged:
        return StoreDamaged(
            f"{path}: which {self.kind} are trusted cannot be read: {reason}",
            hint=f"remove the file, and trust each again: mentis {self.kind} trust NAME",
            file=str(path),
        )


class TrustedTools(_Trusted):
    """By the name of a tool: the digest of what it runs."""

    kind = "tools"


class TrustedRoutes(_Trusted):
    """By key and server: their digest. Which route of the settings names them does not matter."""

    kind = "routes"
