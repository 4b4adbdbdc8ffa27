"""Recording a program from inside, without a proxy: its calls to models become entries.

Names are loaded when they are first used, as those of the package root are.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # loading typing takes longer than all the rest here

if TYPE_CHECKING:
    from .recorder.agents_processor import RecordingTraceProcessor, trace_processor
    from .recorder.langchain_handler import LangChainRecorder, callback_handler
    from .recorder.otel_processor import RecordingSpanProcessor, span_processor
    from .recorder.sdk_transport import RecordingTransport, transport

_HOMES = {
    "LangChainRecorder": "recorder.langchain_handler",
    "RecordingSpanProcessor": "recorder.otel_processor",
    "RecordingTraceProcessor": "recorder.agents_processor",
    "RecordingTransport": "recorder.sdk_transport",
    "callback_handler": "recorder.langchain_handler",
    "span_processor": "recorder.otel_processor",
    "trace_processor": "recorder.agents_processor",
    "transport": "recorder.sdk_transport",
}

__all__ = (
    "LangChainRecorder",
    "RecordingSpanProcessor",
    "RecordingTraceProcessor",
    "RecordingTransport",
    "callback_handler",
    "span_processor",
    "trace_processor",
    "transport",
)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"mentis.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
