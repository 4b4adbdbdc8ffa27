"""OTLP requests (`ExportTraceServiceRequest`), in both encodings, read into spans.

Protobuf is read by the package of OpenTelemetry (extra `otlp`); then both are OTLP's JSON.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, cast

from mentis.errors import BadInput, EngineMissing
from mentis.telemetry import names
from mentis.values.json import JsonObject, json_object

from .genai_spans import TracedSpan, end_span
from .span_calls import SpanCall, SpanSource
from .trace_tree import TraceTree

JSON, PROTOBUF = "application/json", "application/x-protobuf"
_MESSAGES = "opentelemetry.proto.collector.trace.v1.trace_service_pb2"
_FORMAT = "google.protobuf.json_format"
_ERROR = (2, "STATUS_CODE_ERROR")
_IDS = {"traceId": 16, "spanId": 8}  # with their length in bytes


@dataclass(slots=True)
class ReadSpans:
    """`rejected` spans could not be read, and `why` says of the first why not. `rests` are steps
    of traces that are over, for which no call stands.
    """

    calls: list[SpanCall] = field(default_factory=list[SpanCall])
    rests: list[SpanSource] = field(default_factory=list[SpanSource])
    rejected: int = 0
    why: str = ""


def require_protobuf() -> None:
    try:
        import_module(_MESSAGES)
    except ModuleNotFoundError as error:
        raise EngineMissing(
            "spans in protobuf need the package opentelemetry-proto, which is not installed",
            hint="pip install 'mentis[otlp]'",
        ) from error


def read_request(body: bytes, encoding: str) -> JsonObject:
    """In the form of OTLP's JSON; BadInput where it is no such request."""
    if encoding == PROTOBUF:
        return _from_protobuf(body)
    try:
        found: object = json.loads(body)
    except ValueError as error:
        raise BadInput(f"the body is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise BadInput("the body is no JSON object", hint="send an ExportTraceServiceRequest")
    return json_object(cast("object", found))


def read_spans(request: JsonObject, tree: TraceTree) -> ReadSpans:
    """The calls in it, in the order in which they ended."""
    read = ReadSpans()
    spans: list[TracedSpan] = []
    for told in _span_objects(request):
        try:
            spans.append(_span(told))
        except ValueError as error:
            _reject(read, error)
    roots = [span.trace for span in spans if not span.parent]
    for span in spans:  # what stands above may come behind what it is above
        tree.begin(span.trace, span.span, span.parent, kind=span.kind, name=span.shown_name)
    for span in sorted(spans, key=lambda one: one.end):
        try:
            call = end_span(tree, span)
        except ValueError as error:
            _reject(read, error)
            continue
        if call is not None:
            read.calls.append(call)
    read.rests = [rest for trace in roots if (rest := tree.close(trace)) is not None]
    return read


def response_body(read: ReadSpans, encoding: str) -> bytes:
    """An `ExportTraceServiceResponse`; empty where everything was taken."""
    partial = {"rejectedSpans": read.rejected, "errorMessage": read.why} if read.rejected else {}
    if encoding == JSON:
        return json.dumps({"partialSuccess": partial} if partial else {}).encode()
    made: Any = import_module(_MESSAGES).ExportTraceServiceResponse()
    if partial:
        made.partial_success.rejected_spans = read.rejected
        made.partial_success.error_message = read.why
    return cast("bytes", made.SerializeToString())


def _reject(read: ReadSpans, error: ValueError) -> None:
    read.rejected += 1
    read.why = read.why or f"a span cannot be read: {error}"


def _from_protobuf(body: bytes) -> JsonObject:
    require_protobuf()
    form: Any = import_module(_FORMAT)
    made: Any = import_module(_MESSAGES).ExportTraceServiceRequest()
    try:
        made.ParseFromString(body)
        found = form.MessageToDict(made)
    except Exception as error:  # its own kind of error, whose class is no public name everywhere
        raise BadInput(f"the body is no ExportTraceServiceRequest: {error}") from error
    for span in _span_objects(found):
        _write_ids(cast("dict[str, object]", span))
    return found


def _write_ids(span: dict[str, object]) -> None:
    """Protobuf's own JSON writes bytes as base64; OTLP's writes ids as hex."""
    for name in (*_IDS, "parentSpanId"):
        if isinstance(told := span.get(name), str):
            span[name] = base64.b64decode(told).hex()


def _span_objects(request: JsonObject) -> Iterator[JsonObject]:
    for resource in _objects(request.get("resourceSpans")):
        for scope in _objects(resource.get("scopeSpans")):
            yield from _objects(scope.get("spans"))


def _span(told: JsonObject) -> TracedSpan:
    status = json_object(told.get("status"))
    attributes = _attributes(told.get("attributes"))
    error = ""
    if status.get("code") in _ERROR:
        error = str(status.get("message") or attributes.get(names.ERROR) or "error")
    events = tuple(
        (str(one.get("name", "")), _attributes(one.get("attributes")))
        for one in _objects(told.get("events"))
    )
    return TracedSpan(
        _id(told, "traceId"),
        _id(told, "spanId"),
        str(told.get("parentSpanId") or "").lower(),
        str(told.get("name", "")),
        _nanoseconds(told.get("startTimeUnixNano")),
        _nanoseconds(told.get("endTimeUnixNano")),
        attributes,
        events,
        error,
    )


def _id(told: JsonObject, name: str) -> str:
    text = str(told.get(name) or "").lower()
    try:
        content = binascii.unhexlify(text)
    except ValueError:
        content = b""
    if len(content) != _IDS[name] or not any(content):
        raise ValueError(f"{name} is {text[:40]!r}, which is no id")
    return text


def _nanoseconds(value: object) -> int:
    try:
        return max(0, int(cast("str", value or 0)))
    except (TypeError, ValueError):
        raise ValueError(f"{str(value)[:40]!r} is no time in nanoseconds") from None


def _attributes(value: object) -> JsonObject:
    return {str(one.get("key", "")): _value(one.get("value")) for one in _objects(value)}


def _value(told: object) -> object:
    match json_object(told):
        case {"stringValue": str() as plain} | {"boolValue": bool() as plain}:
            return plain
        case {"doubleValue": int() | float() as plain}:
            return plain
        case {"intValue": number}:
            return int(cast("str", number))
        case {"arrayValue": values}:
            return [_value(one) for one in _objects(json_object(values).get("values"))]
        case {"kvlistValue": values}:
            return _attributes(json_object(values).get("values"))
        case _:
            return None


def _objects(value: object) -> list[JsonObject]:
    listed = cast("list[object]", value) if isinstance(value, list) else []
    return [json_object(one) for one in listed]
