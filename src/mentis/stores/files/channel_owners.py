"""The owner's word on the channels of a home: which may be used, and who they are there.

It is kept beside the signing keys and not in the home. Whoever can write into a home can name an
account or a server in its settings, but not make themself its owner. These methods block.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeAlias, cast

from mentis.codec.forms import from_json, to_object
from mentis.disk.atomic import write_atomic
from mentis.disk.lock import write_lock
from mentis.errors import BadInput, StoreDamaged, UsageError
from mentis.values.digest import Digest
from mentis.values.value import Value

from .key_folder import safe_name
from .own import make_own, read_own

_BUSY_SECONDS = 10.0
_CODE_MINUTES = 15
_LETTERS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # none looks like another
_TAG = b"mentis-pairing-1\0"


@dataclass(frozen=True, slots=True)
class ChannelOwner(Value):
    """`trusted` is the digest of what may be used; `owner` the platform's id of the paired person,
    `room` the private room where that was proved. Of a code only its digest is kept.
    """

    trusted: Digest = ""
    owner: str = ""
    name: str = ""
    room: str = ""
    code: str = ""
    code_until: str = ""


_Change: TypeAlias = Callable[[ChannelOwner], ChannelOwner]


class ChannelOwners:
    """Those of one home, which is known by where it is: a copy elsewhere is another one."""

    def __init__(self, config: Path, home: Path) -> None:
        self._config, self._home = config, home.resolve()
        self._folder = config / "channels"

    @property
    def path(self) -> Path:
        return self._folder / f"{safe_name(str(self._home))}.json"

    def all(self) -> Mapping[str, ChannelOwner]:
        """What was said of each channel, by its name."""
        if self._config.resolve().is_relative_to(self._home):
            raise StoreDamaged(
                f"the configuration folder {self._config} is inside the home",
                hint="set MENTIS_CONFIG to a folder elsewhere",
            )
        try:
            told = cast("dict[str, object]", json.loads(read_own(self.path, top=self._config)))
            if told["home"] != str(self._home):
                return {}  # of another home, whose name makes the same file
            kept = cast("dict[str, object]", told["channels"])
            return {name: from_json(ChannelOwner, json.dumps(one)) for name, one in kept.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, BadInput) as error:
            raise StoreDamaged(
                f"{self.path}: the owners of channels cannot be read: {error}",
                hint="remove the file; then say it anew: mentis channels trust NAME, mentis"
                " channels pair NAME",
                file=str(self.path),
            ) from error

    def of(self, name: str) -> ChannelOwner:
        return self.all().get(name, ChannelOwner())

    def trust(self, name: str, digest: Digest) -> None:
        """From now on this account at this server, and no other of that name."""
        self._put(name, lambda one: replace(one, trusted=digest))

    def new_code(self, name: str, now: datetime) -> str:
        """A code that makes whoever sends it in a private room the owner, once, for a while."""
        letters = "".join(secrets.choice(_LETTERS) for _ in range(8))
        until = (now + timedelta(minutes=_CODE_MINUTES)).isoformat()
        made = {"code": _digest(letters), "code_until": until}
        self._put(name, lambda one: replace(one, **made))
        return f"{letters[:4]}-{letters[4:]}"

    def pair(self, name: str, given: str, now: datetime, *, person: ChannelOwner) -> bool:
        """Whether that was the code; then `person` is the owner, and the code is used up."""
        letters = "".join(one for one in given.upper() if one.isalnum())
        known = self.of(name)
        if not known.code or not hmac.compare_digest(known.code, _digest(letters)):
            return False
        if datetime.fromisoformat(known.code_until) < now:
            return False

        def paired(one: ChannelOwner) -> ChannelOwner:
            if one.code != known.code:  # somebody else was faster
                raise UsageError("the code is used up", hint=f"mentis channels pair {name}")
            return replace(person, trusted=one.trusted)

        try:
            self._put(name, paired)
        except UsageError:
            return False
        return True

    def forget(self, name: str) -> bool:
        """All that was said of it; False when nothing was."""
        before = name in self.all()
        self._put(name, None)
        return before

    def _put(self, name: str, change: _Change | None) -> None:
        self.all()  # nothing is made where it would be refused
        make_own(self._folder, top=self._config)
        with write_lock(self._folder / ".lock", seconds=_BUSY_SECONDS):
            kept = dict(self.all())
            known = kept.pop(name, ChannelOwner())
            if change is not None:
                kept[name] = change(known)
            told = {one: to_object(owner) for one, owner in sorted(kept.items())}
            content = {"home": str(self._home), "channels": told}
            write_atomic(self.path, f"{json.dumps(content, indent=2)}\n")


def _digest(letters: str) -> str:
    return hashlib.sha256(_TAG + letters.encode("utf-8", "surrogatepass")).hexdigest()
