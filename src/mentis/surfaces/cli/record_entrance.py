"""The way of a program to the recorder: a base URL or the forward proxy, with a secret."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from .output import say
from .record_ca import opened_authority

if TYPE_CHECKING:
    from mentis.recorder.authority import LocalAuthority
    from mentis.recorder.programs import ProgramStart
    from mentis.recorder.recording import Recording
    from mentis.web.guard import AccessRecord

_SECRET_BYTES = 24
_NOWHERE = "http://127.0.0.1"  # where it listens is not known yet
_USER = "mentis"  # of the proxy; only the password counts


@dataclass(slots=True)
class Entrance:
    """`base` is where it listens, once it does. With an `authority` it is a forward proxy."""

    secret: str = field(repr=False)
    authority: LocalAuthority | None
    base: str = ""

    @property
    def address(self) -> str:
        """For programs that take a base URL."""
        return f"{self.base}/t/{self.secret}" if self.secret else self.base

    @property
    def proxy(self) -> str:
        if not self.secret:
            return self.base
        return f"http://{_USER}:{self.secret}@{urlsplit(self.base).netloc}"

    def start(self, command: Sequence[str], recording: Recording) -> ProgramStart:
        """How a program is started so that it comes this way."""
        from mentis.recorder.forwarded import lead_through
        from mentis.recorder.programs import prepare_program

        start = prepare_program(command, self.address, recording.targets, environ=os.environ)
        if self.authority is None:
            return start
        return lead_through(start, command, self.proxy, self.authority)

    def announce(self, recording: Recording) -> None:
        """Say what a program has to be given."""
        from mentis.recorder.programs import prepare_program

        usual = prepare_program((), self.address, recording.targets, environ={})
        say(f"recording as {recording.agent}; give your program one of these, Ctrl-C ends it:")
        if self.authority is not None:
            say(f"  HTTPS_PROXY={self.proxy}")
            say(f"  SSL_CERT_FILE={self.authority.file} (or what it reads certificates from)")
        for name, address in usual.environ.items():
            say(f"  {name}={address}")
        known = ", ".join(sorted(recording.targets))
        say(f"  others: {self.address}/TARGET/..., with TARGET one of {known}")


def open_entrance(
    recording: Recording, command: Sequence[str], *, forward: bool, token: bool
) -> Entrance:
    """A program that is started here gets a secret of its own, so that nobody else on this machine
    can use the port.
    """
    from mentis.errors import UsageError
    from mentis.net.targets import is_loopback
    from mentis.recorder.authority import secured_hosts
    from mentis.recorder.programs import prepare_program

    secret = secrets.token_urlsafe(_SECRET_BYTES) if token or command else ""
    if not forward:
        return Entrance(secret, None)
    if not secret and not is_loopback(recording.settings.host):
        raise UsageError(
            f"a forward proxy on {recording.settings.host} would be everybody's",
            hint="add --token, or set recorder.host to 127.0.0.1",
        )
    if command:
        found = prepare_program(command, _NOWHERE, recording.targets, environ=os.environ)
        recording.targets.update(found.targets)
    return Entrance(secret, opened_authority(secured_hosts(recording.targets.values())))


def log_request(record: AccessRecord) -> None:
    """One line of JSON; nothing of what was said."""
    say(json.dumps({name: fact for name, fact in asdict(record).items() if fact != ""}))
