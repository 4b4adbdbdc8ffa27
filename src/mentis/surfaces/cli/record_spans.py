"""`mentis record --otlp`: calls known by the GenAI spans that a program sends."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from .output import say

if TYPE_CHECKING:
    from mentis.recorder.recording import Recording

# Surfaces stand apart: this one is started by its name, as a command is.
_SURFACE = "mentis.surfaces.otlp.start"


@contextmanager
def receiving(recording: Recording, port: int) -> Generator[str]:
    """The address that spans are sent to."""
    with import_module(_SURFACE).running_receiver(recording, port=port) as base:
        yield base


def span_environ(base: str) -> Mapping[str, str]:
    """The variables that exporters of OpenTelemetry read."""
    return {
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{base}/v1/traces",
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
    }


def announce_receiver(base: str, agent: str, *, tell: Callable[[str], None] = say) -> None:
    tell(f"recording as {agent} what GenAI spans tell; Ctrl-C ends it. Give your program:")
    for name, value in span_environ(base).items():
        tell(f"  {name}={value}")
