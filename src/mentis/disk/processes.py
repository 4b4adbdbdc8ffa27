"""Which process holds something, and whether it is still there.

An owner is one line, `ROLE HOST:PID INSTANCE BOOT.STARTED`: what it does, where its process number
means something, the number, a name of its own inside the process, and when that process began. So
one that was killed is told from one that lives, also when its number was given away again. Where
a system does not say when a process began, and in what older versions wrote, the last word is
missing: then only the number is known.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from datetime import datetime
from functools import cache
from pathlib import Path

from mentis.system.programs import has_process
from mentis.values.lease import Lease

_MACHINE = Path("/etc/machine-id")
_PROCESSES = Path("/proc")
_BOOT = _PROCESSES / "sys/kernel/random/boot_id"
_STATE, _STARTED = 0, 19  # in the file `stat`, counted behind the name of the program
_ENDED = frozenset("ZXx")  # its number stays until somebody asked what became of it
_OVER = "over"  # no process began then

_ended_here: set[str] = set()


def owner_name(role: str, instance: str) -> str:
    """This process as an owner; `instance` is a word that nothing else in it is called."""
    return f"{role} {_machine()}:{os.getpid()} {instance} {_birth(os.getpid())}".rstrip()


def begin_owner(owner: str) -> None:
    """It is there from now on, until `end_owner` or the end of its process."""
    _ended_here.discard(owner)


def end_owner(owner: str) -> None:
    """It holds nothing any more, although its process lives on and its store may not know it."""
    _ended_here.add(owner)


def is_there(owner: str) -> bool | None:
    """Whether it lives; None if that cannot be said from here, as of another machine."""
    if owner in _ended_here:
        return False
    with suppress(ValueError):
        _, place, _, *birth = owner.split(" ", 3)
        host, _, number = place.rpartition(":")
        if host == _machine():
            return _lives(int(number), birth[0] if birth else "")
    return None


def process_of(owner: str) -> str:
    """The owner as it is told to people: `process PID`, and where if that is not here."""
    with suppress(ValueError):
        _, place, *_ = owner.split(" ")
        host, _, number = place.rpartition(":")
        return f"process {number}" + ("" if host == _machine() else f" on {host}")
    return owner


def in_force(lease: Lease, now: datetime) -> bool:
    """Whether it still keeps others out: as long as its owner lives; where nobody here can say
    whether it does, until it runs out. A clock that jumps and a machine that slept end no lease of
    a process of this machine.
    """
    there = is_there(lease.owner)
    return lease.runs_at(now) if there is None else there


def _lives(number: int, birth: str) -> bool | None:
    if birth and (found := _birth(number)):
        return found == birth
    if has_process(number) is False:
        return False
    return None  # somebody has that number, and nobody here may know since when


def _birth(number: int) -> str:
    """Boot and moment in it at which the process began; "" where the system does not say."""
    try:
        told = (_PROCESSES / str(number) / "stat").read_bytes()
    except OSError:
        return ""
    fields = told.rpartition(b")")[2].decode("ascii").split()
    return _OVER if fields[_STATE] in _ENDED else f"{_boot()}.{fields[_STARTED]}"


@cache
def _boot() -> str:
    with suppress(OSError):
        return _BOOT.read_text("ascii").strip()[:8]
    return ""


def _machine() -> str:
    """Where a process number means the same: two containers may share a name, but not the space of
    their numbers; two machines may share both, but not the id they were installed with.
    """
    name = socket.gethostname()
    with suppress(OSError):
        name += f"@{(_PROCESSES / 'self/ns/pid').stat().st_ino}"
    with suppress(OSError):
        name += f".{_MACHINE.read_text('ascii').strip()[:8]}"
    return name
