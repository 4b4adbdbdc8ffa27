"""Recording a program from inside, without a proxy: its calls to models become entries.

Names are loaded when they are first used, as those of the package root are.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # loading typing takes longer than all the rest here

if TYPE_CHECKING:
    from .recorder.sdk_transport import RecordingTransport, transport

_HOMES = {
    "RecordingTransport": "recorder.sdk_transport",
    "transport": "recorder.sdk_transport",
}

__all__ = ("RecordingTransport", "transport")


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"mentis.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
