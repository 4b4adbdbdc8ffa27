"""A person's approvals for one home, kept beside the keys and not in the home.

A home that comes from elsewhere brings a database in which anybody may have said yes; here only
somebody on this machine has. These methods block.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import cast

from mentis.disk.atomic import write_atomic
from mentis.disk.lock import write_lock
from mentis.errors import StoreDamaged
from mentis.values.digest import Digest

from .key_folder import safe_name
from .own import make_own, read_own

_BUSY_SECONDS = 10.0
_SECRET_BYTES = 32


class AcceptedFile:
    """A home is known by where it is: a copy elsewhere is another one."""

    def __init__(self, config: Path, home: Path) -> None:
        self._config = config
        self._home = home.resolve()
        self._folder = config / "acts"
        self._secret = b""

    @property
    def path(self) -> Path:
        return self._folder / f"{safe_name(str(self._home))}.json"

    def accept(self, agent: str, key: str, what: Digest) -> None:
        self._change(lambda yes: yes.setdefault(agent, {}).update({key: what}))

    def is_accepted(self, agent: str, key: str, what: Digest) -> bool:
        return self._read()[1].get(agent, {}).get(key) == what

    def forget(self, agent: str, key: str) -> bool:
        if key not in self._read()[1].get(agent, {}):
            return False
        self._change(lambda yes: yes.get(agent, {}).pop(key, None))
        return True

    def seal(self, text: str) -> str:
        if not self._secret:
            found, _ = self._read()
            self._secret = found or self._change(lambda _: None)
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()

    def _read(self) -> tuple[bytes, dict[str, dict[str, Digest]]]:
        """The secret, b"" if there is none yet; and by agent and key what was said yes to."""
        if self._config.resolve().is_relative_to(self._home):
            raise StoreDamaged(
                f"the configuration folder {self._config} is inside the home",
                hint="set MENTIS_CONFIG to a folder elsewhere",
            )
        try:
            found: object = json.loads(read_own(self.path, top=self._config))
        except FileNotFoundError:
            return b"", {}
        except (OSError, ValueError) as error:
            raise self._damaged(str(error)) from error
        told = cast("dict[str, object]", found) if isinstance(found, dict) else {}
        secret, yes = told.get("secret"), told.get("yes")
        if not isinstance(secret, str) or not isinstance(yes, dict):
            raise self._damaged("it is not what was written there")
        if told.get("home") != str(self._home):
            raise self._damaged("it is of another home")
        try:
            return bytes.fromhex(secret), cast("dict[str, dict[str, str]]", yes)
        except ValueError as error:
            raise self._damaged(str(error)) from error

    def _change(self, change: Callable[[dict[str, dict[str, Digest]]], object]) -> bytes:
        """The secret; a file that is not there yet gets one."""
        self._read()  # nothing is made where it would be refused
        make_own(self._folder, top=self._config)
        with write_lock(self._folder / ".lock", seconds=_BUSY_SECONDS):
            secret, yes = self._read()
            secret = secret or secrets.token_bytes(_SECRET_BYTES)
            change(yes)
            kept = {agent: keys for agent, keys in sorted(yes.items()) if keys}
            told = {"home": str(self._home), "secret": secret.hex(), "yes": kept}
            write_atomic(self.path, f"{json.dumps(told, indent=2)}\n")
        return secret

    def _damaged(self, reason: str) -> StoreDamaged:
        return StoreDamaged(
            f"{self.path}: what was said yes to cannot be read: {reason}",
            hint="remove the file; what was approved is then asked for again",
            file=str(self.path),
        )
