"""GenAI spans in OTLP's JSON, as collectors write them to files: a request on a line, or a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from mentis.recorder.otlp import read_spans
from mentis.recorder.reading import read_answer
from mentis.recorder.span_calls import SpanCall
from mentis.recorder.trace_tree import TraceTree
from mentis.render.compare import is_body

from .calls import LogBody, LoggedCall, LogPlace
from .exchanges import dumped
from .tracked import plain_model

SPANS = "spans"


def is_spans(told: dict[str, object]) -> bool:
    return isinstance(told.get("resourceSpans"), list)


@dataclass(slots=True)
class SpanReader:
    file: str
    _tree: TraceTree = field(default_factory=lambda: TraceTree(SPANS))
    rejected: int = 0
    why: str = ""

    def take(self, number: int, told: dict[str, object]) -> Iterator[LoggedCall]:
        found = read_spans(told, self._tree)
        self.rejected += found.rejected
        self.why = self.why or found.why
        for call in found.calls:
            if (made := self._call(number, call)) is not None:
                yield made

    def end(self) -> Iterator[LoggedCall]:
        return iter(())

    def notes(self) -> Iterator[str]:
        if self.rejected:
            yield f"{self.rejected:,} spans were left out: {self.why}"

    def _call(self, number: int, call: SpanCall) -> LoggedCall | None:
        source, request = call.source, call.request
        if source.wire is None or call.answer is None:
            return None
        asked = str(call.answer.get("model") or request.get("model") or "")
        answer = dumped(call.answer)
        usage = read_answer(answer, source.wire, request, asked).usage
        if usage is None:
            return None
        model, backend = plain_model(asked, call.provider)
        by, session = source.named
        headers = {"session-id": session} if by == "conversation" else {}
        size = max(4096, 4 * usage.input)
        body = None
        if is_body(request, source.wire):
            body = LogBody(source.wire, request, headers, size=size, transcript=True)
        return LoggedCall(
            SPANS,
            LogPlace(self.file, number),
            session,
            model,
            backend,
            usage,
            source.agent if source.caller else "",
            call.time.timestamp(),
            tells_cache=bool(usage.cache_read or usage.cache_write),
            body=body,
            key=f"{source.trace}:{source.span}",
            project=source.agent,
        )
