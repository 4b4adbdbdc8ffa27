"""One of a kind at a time, over all processes: the system lets go of it however one ends."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from mentis.disk.atomic import unwritable, write_atomic
from mentis.disk.inside import inside
from mentis.disk.lock import write_lock
from mentis.errors import StoreLocked, UsageError
from mentis.home.identity import Identity
from mentis.ports.clock import Clock
from mentis.stores.files.home import Home


@contextmanager
def alone(who: Identity, what: str) -> Generator[None]:
    """Be the only one of this persona at a beat or a delivery; UsageError while somebody else is.

    It waits for nobody, so it may be entered in the loop of an agent.
    """
    folder = who.home.owners
    inside(folder.parent, folder.name)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    with ExitStack() as stack:
        try:
            path = folder / f"{who.persona.id}.{what}.alone"
            stack.enter_context(write_lock(path, seconds=0))
        except StoreLocked as error:
            raise UsageError(
                f"a {what} of {who.persona.id!r} is going on already",
                hint="wait until it is over: there is one at a time",
            ) from error
        yield


@contextmanager
def named(home: Home, name: str, clock: Clock, *, taken: str, hint: str) -> Generator[None]:
    """The same, and whoever comes second is told who it is: StoreLocked says `taken` and who."""
    folder = home.owners / "run"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    told = folder / f"{name}.json"
    with ExitStack() as stack:
        try:
            stack.enter_context(write_lock(folder / f"{name}.lock", seconds=0))
        except StoreLocked as error:
            raise StoreLocked(f"{taken} {_who(told)}", hint=hint, name=name) from error
        since = clock.now().isoformat(timespec="seconds")
        write_atomic(told, json.dumps({"process": os.getpid(), "since": since}))
        stack.callback(told.unlink, missing_ok=True)
        yield


def _who(path: Path) -> str:
    try:
        found = json.loads(path.read_bytes()[:1000])
        return f"process {found['process']} since {found['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
