"""Calls that are known by a span: somebody told of them, and the bytes of the wire were not seen.

What was told is written down in the form of a wire (a transcript), so that it is read, priced,
screened and shown as other calls are; the entry says that it is one (`evidence`).
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, TypeAlias

from mentis.facts.ability import Wire
from mentis.telemetry.names import PROVIDERS
from mentis.values.entry import Entry
from mentis.values.json import JsonObject, json_object
from mentis.values.route import Backend
from mentis.values.value import Value

from .call_copy import BodyCopy, CallCopy
from .sessions import CallPlace
from .targets import CallTarget

SPAN = "span"
StepKind: TypeAlias = Literal["agent", "tool", "handoff", "other"]
_MOST_SESSIONS, _MOST_AGENTS = 256, 256
_OK = 200
# Names that people give to providers, beside those of the conventions.
_ALSO: Mapping[str, Backend] = {
    "google": "gemini",
    "gemini": "gemini",
    "google_genai": "gemini",
    "google-gla": "gemini",
    "gcp.gen_ai": "gemini",
}


@dataclass(frozen=True, slots=True)
class TraceStep(Value):
    """Something in a trace that is no call to a model: a tool that was used, a handoff."""

    kind: StepKind
    name: str
    span: str = ""
    parent: str = ""
    milliseconds: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class SpanSource(Value):
    """Where a call stands in its trace. `teller` is the library that told of it. `above` names
    what it is below, the outermost first; `agent` is the nearest of them, `caller` the agent that
    called that one or handed over to it. `steps` ended since the call before.
    """

    teller: str
    trace: str
    span: str = ""
    parent: str = ""
    session: str = ""
    agent: str = ""
    caller: str = ""
    above: tuple[str, ...] = ()
    steps: tuple[TraceStep, ...] = ()
    wire: Wire | None = "openai-chat"
    backend: Backend = "openai"

    @property
    def named(self) -> tuple[str, str]:
        """What its session is told by, and its name."""
        return ("conversation", self.session) if self.session else ("trace", self.trace)


@dataclass(frozen=True, slots=True)
class SpanCall:
    """`request` and `answer` are transcripts in the form of `source.wire`."""

    source: SpanSource
    provider: str
    request: JsonObject
    answer: JsonObject | None
    time: datetime
    seconds: float = 0.0
    error: str = ""
    status: int = 0


def span_copy(call: SpanCall, targets: Mapping[str, CallTarget], *, limit: int) -> CallCopy:
    """As a copy that the recorder takes."""
    bodies = BodyCopy(limit), BodyCopy(limit)
    target = targets.get(call.provider) or CallTarget(call.provider or "unknown", "")
    copy = CallCopy(target, "", "", (), call.time, 0.0, *bodies)
    if call.request:
        bodies[0].take(_dump(call.request))
    if call.answer is not None:
        bodies[1].take(_dump(call.answer))
        copy.status = _OK
    copy.status = call.status or copy.status
    copy.ended = max(0.0, call.seconds)
    copy.source = call.source
    if call.error:
        copy.end, copy.reason = "broken", call.error
    return copy


def steps_copy(source: SpanSource, time: datetime, *, limit: int) -> CallCopy:
    """Steps after the last call of a trace, for which no other entry comes."""
    last = SpanCall(replace(source, wire=None), source.teller, {}, None, time)
    return span_copy(last, {}, limit=limit)


def backend_of(provider: str) -> Backend:
    """The one whose facts and prices are asked; whoever speaks OpenAI's format is taken for it."""
    name = provider.lower()
    for backend, told in PROVIDERS.items():
        if told == name:
            return backend
    return _ALSO.get(name, "openai")


def source_fields(source: SpanSource) -> JsonObject:
    """As the entry keeps them."""
    told: dict[str, object] = {
        "evidence": SPAN,
        "trace": {
            "by": source.teller,
            "id": source.trace,
            "span": source.span,
            "parent": source.parent,
        },
    }
    if source.agent:
        told["agent"] = source.agent
    if source.above:
        told["above"] = list(source.above)
    if source.steps:
        told["steps"] = [_step(one) for one in source.steps]
    return told


def _step(step: TraceStep) -> JsonObject:
    told: dict[str, object] = {
        "kind": step.kind,
        "name": step.name,
        "span": step.span,
        "parent": step.parent,
        "milliseconds": step.milliseconds,
    }
    return {**told, "error": step.error} if step.error else told


@dataclass(slots=True)
class AgentThreads:
    """In calls known by spans, a thread is an agent of the session. The oldest are forgotten."""

    _sessions: OrderedDict[str, dict[str, int]] = field(
        default_factory=OrderedDict[str, "dict[str, int]"]
    )

    def place(self, at: CallPlace, source: SpanSource) -> CallPlace:
        agents = self._agents(at.session)
        thread = agents.setdefault(source.agent, len(agents))
        caller = agents.get(source.caller) if source.caller else None
        return replace(at, thread=thread, parent=None if caller == thread else caller)

    def copy(self) -> AgentThreads:
        sessions = ((name, agents.copy()) for name, agents in self._sessions.items())
        return AgentThreads(OrderedDict(sessions))

    def learn(self, entry: Entry) -> None:
        """From an earlier entry."""
        call = json_object(entry.body.get("call"))
        thread = call.get("thread")
        if call.get("evidence") == SPAN and isinstance(thread, int):
            agents = self._agents(str(call.get("session", "")))
            agents.setdefault(str(call.get("agent", "")), thread)

    def _agents(self, session: str) -> dict[str, int]:
        agents = self._sessions.setdefault(session, {})
        self._sessions.move_to_end(session)
        while len(self._sessions) > _MOST_SESSIONS:
            self._sessions.popitem(last=False)
        if len(agents) > _MOST_AGENTS:
            agents.clear()
        return agents


def _dump(value: JsonObject) -> bytes:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode()
