"""The receiver: `POST /v1/traces` in both encodings, answered as the protocol says
(opentelemetry.io/docs/specs/otlp, OTLP/HTTP).
"""

from __future__ import annotations

import json
import zlib

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from mentis.errors import BadInput, MentisError, RequestRefused
from mentis.ports.clock import Clock
from mentis.recorder.otlp import JSON, PROTOBUF, ReadSpans, read_request, read_spans, response_body
from mentis.recorder.recording import Recording
from mentis.recorder.span_calls import span_copy, steps_copy
from mentis.recorder.trace_tree import TraceTree
from mentis.web.problems import WebProblem, problem_of

TRACES = "/v1/traces"
_GZIP = 31  # zlib's word for a stream with the head of gzip
# Codes of google.rpc.Code, which a status names beside its message.
_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 408: 4, 413: 8, 415: 3, 429: 8, 503: 14}
_UNKNOWN = 2


class SpanReceiver:
    """An endpoint that records the calls in the spans it is sent. They wait in the queue of the
    recording like any other call; what does not fit there is a gap.
    """

    def __init__(self, recording: Recording, clock: Clock, *, body_bytes: int) -> None:
        self._recording = recording
        self._clock = clock
        self._limit = body_bytes
        self._tree = TraceTree("otlp")

    async def __call__(self, request: Request) -> Response:
        encoding = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        try:
            if encoding not in (JSON, PROTOBUF):
                raise RequestRefused(
                    f"{encoding or 'a body without a type'} is not received",
                    hint=f"send {PROTOBUF} or {JSON}",
                    status=415,
                )
            body = await request.body()
            packing = request.headers.get("content-encoding", "").lower()
            answer = await to_thread.run_sync(self._receive, body, encoding, packing)
        except MentisError as error:
            problem = problem_of(error)
            told = status_body(problem, encoding)
            media = encoding if encoding == PROTOBUF else JSON
            return Response(told, problem.status, media_type=media)
        return Response(answer, media_type=encoding)

    def _receive(self, body: bytes, encoding: str, packing: str) -> bytes:
        read = read_spans(read_request(self._unpack(body, packing), encoding), self._tree)
        self._offer(read)
        return response_body(read, encoding)

    def _offer(self, read: ReadSpans) -> None:
        recording, limit = self._recording, self._recording.settings.body_bytes
        for call in read.calls:
            recording.offer(span_copy(call, recording.targets, limit=limit))
        for rest in read.rests:
            recording.offer(steps_copy(rest, self._clock.now(), limit=limit))

    def _unpack(self, body: bytes, packing: str) -> bytes:
        if packing in ("", "identity"):
            return body
        if packing != "gzip":
            raise RequestRefused(
                f"the body is packed as {packing}", hint="send gzip, or nothing", status=415
            )
        unpacker = zlib.decompressobj(_GZIP)
        try:
            plain = unpacker.decompress(body, self._limit + 1)
        except zlib.error as error:
            raise BadInput(f"the body is no gzip: {error}") from error
        if not unpacker.eof and len(plain) <= self._limit:
            raise BadInput("the body is no gzip: it breaks off")
        if len(plain) > self._limit:
            raise RequestRefused(
                f"the body has more than {self._limit} bytes",
                hint="send less, or raise web.body_bytes",
                status=413,
            )
        return plain


def otlp_problem(problem: WebProblem) -> tuple[str, bytes]:
    """The form of errors that are told before anybody knows the encoding."""
    return JSON, status_body(problem, JSON)


def status_body(problem: WebProblem, encoding: str) -> bytes:
    """A `google.rpc.Status`: a number and a text."""
    code = _CODES.get(problem.status, _UNKNOWN)
    message = f"{problem.message}; {problem.hint}" if problem.hint else problem.message
    if encoding != PROTOBUF:
        return json.dumps({"code": code, "message": message}, ensure_ascii=False).encode()
    text = message.encode()
    return b"\x08" + bytes([code]) + b"\x12" + _varint(len(text)) + text


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    return bytes([*made, number])
