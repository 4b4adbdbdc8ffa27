"""Logs of other programs: where the money went, why the cache broke, what to change.

Names are loaded when they are first used, as those of the package root are.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # loading typing takes longer than all the rest here

if TYPE_CHECKING:
    from .doctor.diagnosis import diagnose
    from .doctor.report import DoctorReport, LogFinding

_HOMES = {
    "DoctorReport": "doctor.report",
    "LogFinding": "doctor.report",
    "diagnose": "doctor.diagnosis",
}

__all__ = ("DoctorReport", "LogFinding", "diagnose")


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"mentis.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
