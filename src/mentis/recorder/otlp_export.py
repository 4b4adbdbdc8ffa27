"""The record as GenAI spans, in OTLP's JSON: turns, calls and acts of our own agents, and calls of
recorded ones. Names, numbers and digests; what was said stays in the record.

Ids are derived from the hashes of entries: exported twice, a span is the same span.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import islice
from typing import TypeAlias, cast

from mentis.ask.recorded_calls import CALL, RecordedCall, calls_in, objects_in
from mentis.record.foreign_calls import ForeignCall, foreign_call
from mentis.telemetry import names
from mentis.telemetry.spans import Attribute, entry_attributes, provider_name, usage_attributes
from mentis.values.entry import Entry
from mentis.values.json import JsonObject, json_object
from mentis.values.route import Backend, Route

OtlpSpan: TypeAlias = dict[str, object]
_BATCH = 200  # spans in one request
_INTERNAL, _CLIENT = 1, 3
_OK, _ERROR = 1, 2


@dataclass(slots=True)
class _Act:
    """From its intent to its outcome."""

    entry: Entry
    began: datetime
    ended: datetime
    told: JsonObject


@dataclass(slots=True)
class _Acts:
    """Of one record, while it is read: an act is recorded before the turn that it is part of."""

    begun: dict[object, datetime] = field(default_factory=dict[object, datetime])
    ended: dict[str, list[_Act]] = field(default_factory=dict[str, list[_Act]])

    def read(self, entry: Entry) -> None:
        told, time = json_object(entry.body.get("act")), _time(entry.time)
        if told.get("stage") == "intent":
            self.begun[told.get("key")] = time
        elif told.get("stage") == "outcome":
            act = _Act(entry, self.begun.pop(told.get("key"), time), time, told)
            self.ended.setdefault(str(told.get("session", "")), []).append(act)


def export_requests(agent: str, entries: Iterable[Entry]) -> Iterator[bytes]:
    """Lines of JSON, each an `ExportTraceServiceRequest`."""
    resource = {"attributes": _attributes({names.SERVICE: names.SCOPE, names.AGENT_ID: agent})}
    found = export_spans(agent, entries)
    while spans := list(islice(found, _BATCH)):
        scope = {"scope": {"name": names.SCOPE}, "spans": spans}
        request = {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}
        yield json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def export_spans(agent: str, entries: Iterable[Entry]) -> Iterator[OtlpSpan]:
    """Oldest first; what stands below a turn comes behind it."""
    acts = _Acts()
    for entry in entries:
        if entry.kind == "act":
            acts.read(entry)
        elif entry.kind == CALL and (call := foreign_call(entry)) is not None:
            if call.model:
                yield _foreign(agent, entry, call)
        elif entry.kind in ("turn", CALL):
            yield from _turn(agent, entry, acts)
    for left in acts.ended.values():
        yield from (_tool(agent, act, act.entry, "") for act in left)


def _turn(agent: str, entry: Entry, acts: _Acts) -> Iterator[OtlpSpan]:
    calls = list(calls_in(entry))
    turn = json_object(entry.body.get("turn" if entry.kind == "turn" else "call"))
    session = str(turn.get("session", ""))
    done = acts.ended.pop(session, []) if entry.kind == "turn" else []
    end = _time(entry.time)
    began = min((act.began for act in done), default=end)
    about: dict[str, Attribute | None] = {
        names.OPERATION: names.INVOKE_AGENT,
        names.AGENT_ID: agent,
        names.AGENT_NAME: agent.rpartition("/")[2],
        names.CONVERSATION: session,
        names.MODE: str(turn.get("mode", "")),
        names.STOP: str(turn.get("stop", "")),
        **entry_attributes(entry),
    }
    if calls:
        about |= {names.PROVIDER: _provider(calls[-1]), names.REQUEST_MODEL: calls[-1].model}
    name = f"{names.INVOKE_AGENT} {agent.rpartition('/')[2]}"
    root = span_id(entry.hash)
    yield _span(entry, name, about, span=root, times=(began, end))
    for number, call in enumerate(calls):
        told: dict[str, Attribute | None] = {
            names.OPERATION: names.CHAT,
            names.PROVIDER: _provider(call),
            names.REQUEST_MODEL: call.model,
            names.AGENT_ID: agent,
            names.CONVERSATION: session,
            names.ROUTE: call.route,
            # What may have been used is no usage.
            **(usage_attributes(None if call.planned else call.usage)),
            **entry_attributes(entry),
        }
        own = span_id(entry.hash, f"call {number}")
        shown = f"{names.CHAT} {call.model}"
        yield _span(entry, shown, told, span=own, parent=root, times=(began, end))
    for act in done:
        yield _tool(agent, act, entry, root)


def _tool(agent: str, act: _Act, turn: Entry, parent: str) -> OtlpSpan:
    state = str(act.told.get("state", ""))
    name = str(act.told.get("type", ""))
    about: dict[str, Attribute | None] = {
        names.OPERATION: names.EXECUTE_TOOL,
        names.TOOL_NAME: name,
        names.TOOL_TYPE: names.FUNCTION,
        names.AGENT_ID: agent,
        names.ACT_KEY: str(act.told.get("key", "")),
        names.ACT_STATE: state,
        names.ACT_SOURCE: str(act.told.get("source", "")),
        **entry_attributes(act.entry),
    }
    made = _span(
        turn,
        f"{names.EXECUTE_TOOL} {name}",
        about,
        span=span_id(act.entry.hash),
        parent=parent,
        times=(act.began, act.ended),
    )
    return made if state == "done" else _failed(made, state or "unknown")


def _foreign(agent: str, entry: Entry, call: ForeignCall) -> OtlpSpan:
    told, route = json_object(entry.body.get("call")), json_object(entry.body.get("route"))
    answer, digests = json_object(entry.body.get("answer")), json_object(entry.body.get("request"))
    began = _time(str(told.get("began") or entry.time))
    about: dict[str, Attribute | None] = {
        names.OPERATION: names.CHAT,
        names.PROVIDER: names.PROVIDERS.get(cast("Backend", route.get("backend")), call.route),
        names.REQUEST_MODEL: call.model,
        names.AGENT_ID: agent,
        names.AGENT_NAME: call.agent or agent.rpartition("/")[2],
        names.CONVERSATION: call.session,
        names.RESPONSE_ID: str(answer.get("id", "")),
        names.PAYLOAD: str(digests.get("digest", "")),
        names.ROUTE: call.route,
        names.EVIDENCE: call.evidence,
        names.HTTP_STATUS: call.status or None,
        **usage_attributes(call.usage),
        **entry_attributes(entry),
    }
    end = began + timedelta(milliseconds=call.milliseconds)
    name = f"{names.CHAT} {call.model}"
    own = span_id(entry.hash)
    made = _span(entry, name, about, span=own, times=(began, end), kind=_CLIENT)
    if call.end == "answered" and call.status < 400:
        return made
    return _failed(made, str(told.get("reason") or call.status or call.end))


def _span(
    entry: Entry,
    name: str,
    about: dict[str, Attribute | None],
    *,
    span: str,
    times: tuple[datetime, datetime],
    parent: str = "",
    kind: int = _INTERNAL,
) -> OtlpSpan:
    return {
        "traceId": trace_id(entry.hash),
        "spanId": span,
        **({"parentSpanId": parent} if parent else {}),
        "name": name,
        "kind": kind,
        "startTimeUnixNano": _nanoseconds(times[0]),
        "endTimeUnixNano": _nanoseconds(times[1]),
        "attributes": _attributes(about),
        "status": {"code": _OK},
    }


def _failed(span: OtlpSpan, why: str) -> OtlpSpan:
    told = [*objects_in(span["attributes"]), *_attributes({names.ERROR: why})]
    return {**span, "attributes": told, "status": {"code": _ERROR, "message": why}}


def trace_id(entry_hash: str) -> str:
    return sha256(f"mentis/otel/trace {entry_hash}".encode()).hexdigest()[:32]


def span_id(entry_hash: str, part: str = "") -> str:
    return sha256(f"mentis/otel/span {entry_hash} {part}".encode()).hexdigest()[:16]


def _provider(call: RecordedCall) -> str:
    return provider_name(Route(call.route, cast("Backend", call.backend), call.model))


def _attributes(about: dict[str, Attribute | None]) -> list[JsonObject]:
    """What is None or empty is not known, and not told."""
    return [
        {"key": name, "value": _value(told)}
        for name, told in about.items()
        if told is not None and told not in ("", ())
    ]


def _value(told: Attribute) -> JsonObject:
    match told:
        case bool():
            return {"boolValue": told}
        case int():
            return {"intValue": str(told)}
        case float():
            return {"doubleValue": told}
        case str():
            return {"stringValue": told}
        case _:
            return {"arrayValue": {"values": [{"stringValue": one} for one in told]}}


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _nanoseconds(time: datetime) -> str:
    since = time - datetime(1970, 1, 1, tzinfo=UTC)
    return str((since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1000)
