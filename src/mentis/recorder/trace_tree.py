"""Traces while they go on: what stands above a call, and what was done since the one before."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

from .span_calls import SpanSource, StepKind, TraceStep

_MOST_TRACES, _MOST_SPANS, _MOST_STEPS = 1_000, 10_000, 200


@dataclass(frozen=True, slots=True)
class _Begun:
    kind: StepKind
    name: str
    parent: str


@dataclass(slots=True)
class _Trace:
    session: str = ""
    begun: dict[str, _Begun] = field(default_factory=dict[str, _Begun])
    steps: list[TraceStep] = field(default_factory=list[TraceStep])
    handed: dict[str, str] = field(default_factory=dict[str, str])  # to an agent, by another


@dataclass(slots=True)
class TraceTree:
    """Of one library that tells of spans (`teller`). Its methods may be called by any thread; the
    oldest traces are forgotten first.
    """

    teller: str
    _traces: OrderedDict[str, _Trace] = field(default_factory=OrderedDict[str, _Trace])
    _told: OrderedDict[tuple[str, str], None] = field(
        default_factory=OrderedDict[tuple[str, str], None]
    )
    _lock: Lock = field(default_factory=Lock)

    def open(self, trace: str, session: str = "") -> None:
        with self._lock:
            found = self._trace(trace)
            found.session = found.session or session

    def begin(self, trace: str, span: str, parent: str, *, kind: StepKind, name: str) -> None:
        with self._lock:
            begun = self._trace(trace).begun
            if len(begun) < _MOST_SPANS:
                begun[span] = _Begun(kind, name, parent)

    def add(self, trace: str, step: TraceStep) -> None:
        """A step that has ended."""
        with self._lock:
            steps = self._trace(trace).steps
            steps.append(step)
            del steps[:-_MOST_STEPS]

    def is_new(self, trace: str, span: str) -> bool:
        """False where it was told of before: whoever sends a span may send it again."""
        with self._lock:
            new = (trace, span) not in self._told
            self._told[trace, span] = None
            while len(self._told) > _MOST_SPANS:
                self._told.popitem(last=False)
        return new

    def hand_over(self, trace: str, agent: str, *, by: str) -> None:
        with self._lock:
            self._trace(trace).handed[agent] = by

    def source(self, trace: str, span: str, parent: str, *, agent: str = "") -> SpanSource:
        """Of a call; the steps since the one before are its own from now on."""
        with self._lock:
            found = self._trace(trace)
            above = self._above(found, parent)
            agents = [one.name for one in above if one.kind == "agent"]
            if agent and agent not in agents[-1:]:
                agents.append(agent)
            own = agents[-1] if agents else ""
            caller = agents[-2] if len(agents) > 1 else found.handed.get(own, "")
            steps, found.steps = tuple(found.steps), []
        named = tuple(f"{one.kind} {one.name}" for one in above if one.kind != "other")
        return SpanSource(
            self.teller,
            trace,
            span,
            parent,
            session=found.session,
            agent=own,
            caller=caller,
            above=named,
            steps=steps,
        )

    def close(self, trace: str) -> SpanSource | None:
        """Forget it; steps that no call told of are handed back."""
        with self._lock:
            found = self._traces.pop(trace, None)
        if found is None or not found.steps:
            return None
        return SpanSource(self.teller, trace, session=found.session, steps=tuple(found.steps))

    def _trace(self, trace: str) -> _Trace:
        found = self._traces.setdefault(trace, _Trace())
        while len(self._traces) > _MOST_TRACES:
            self._traces.popitem(last=False)
        return found

    def _above(self, trace: _Trace, span: str) -> list[_Begun]:
        """The outermost first."""
        found: list[_Begun] = []
        while (one := trace.begun.get(span)) is not None and one not in found:
            found.insert(0, one)
            span = one.parent
        return found
