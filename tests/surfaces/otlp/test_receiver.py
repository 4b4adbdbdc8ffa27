"""`mentis record --otlp`: spans that exporters send over OTLP/HTTP become entries."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as service
from opentelemetry.proto.trace.v1 import trace_pb2

from mentis.home.create import create_home
from mentis.record.foreign_calls import ForeignCall, foreign_calls
from mentis.record.record import open_record
from mentis.recorder.recording import open_recording
from mentis.surfaces.cli.main import cli
from mentis.surfaces.otlp.start import running_receiver

JSON, PROTOBUF = "application/json", "application/x-protobuf"
TRACE = "ab" * 16
TEXTS = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-5",
    "gen_ai.conversation.id": "talk-1",
    "gen_ai.input.messages": json.dumps(
        [{"role": "user", "parts": [{"type": "text", "content": "Hello"}]}]
    ),
}
COUNTS = {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_home(tmp_path_factory.mktemp("otlp") / "house")


def fail(text: str) -> None:
    raise AssertionError(text)


@pytest.fixture(scope="module")
def sender(house: Path) -> Generator[httpx2.Client]:
    """Sends to a receiver; all tests share it."""
    with (
        open_recording(house, "traced", tell=fail) as recording,
        running_receiver(recording, port=0) as base,
        httpx2.Client(base_url=base, trust_env=False) as client,
    ):
        client.headers["x-of-the-test"] = "1"
        yield client


def json_span(span: str, **more: object) -> dict[str, Any]:
    texts = [{"key": name, "value": {"stringValue": text}} for name, text in TEXTS.items()]
    counts = [{"key": name, "value": {"intValue": str(n)}} for name, n in COUNTS.items()]
    ids = {"traceId": TRACE, "spanId": span, "name": "chat gpt-5", "kind": 3}
    times = {"startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000001000000000"}
    return {**ids, **times, "attributes": [*texts, *counts], **more}


def request_of(*spans: dict[str, Any]) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()


def protobuf_request(span: str) -> bytes:
    made = trace_pb2.Span(
        trace_id=bytes.fromhex(TRACE),
        span_id=bytes.fromhex(span),
        name="chat gpt-5",
        start_time_unix_nano=1700000000000000000,
        end_time_unix_nano=1700000001000000000,
    )
    for name, text in TEXTS.items():
        made.attributes.add(key=name).value.string_value = text
    for name, count in COUNTS.items():
        made.attributes.add(key=name).value.int_value = count
    request = service.ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.append(made)
    return request.SerializeToString()


def calls_of(house: Path, name: str = "traced") -> list[ForeignCall]:
    with open_record(house, f"recorded/{name}", readonly=True) as record:
        return list(foreign_calls(record.store.entries(record.agent)))


def post(sender: httpx2.Client, body: bytes, kind: str, **headers: str) -> httpx2.Response:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return sender.post("/v1/traces", content=body, headers={"content-type": kind, **named})


def test_both_encodings_packed_or_not_become_the_same_calls(house: Path) -> None:
    with (
        open_recording(house, "alike", tell=fail) as recording,
        running_receiver(recording, port=0) as base,
        httpx2.Client(base_url=base, trust_env=False) as client,
    ):
        whole = post(client, request_of(json_span("01" * 8)), JSON)
        assert (whole.status_code, whole.json()) == (200, {})
        packed = gzip.compress(protobuf_request("02" * 8))
        binary = post(client, packed, PROTOBUF, content_encoding="gzip")
        assert (binary.status_code, binary.content) == (200, b"")
        assert binary.headers["content-type"] == PROTOBUF
    first, second = calls_of(house, "alike")
    for call in (first, second):
        assert (call.session, call.route, call.model, call.evidence) == (
            "talk-1",
            "openai",
            "gpt-5",
            "span",
        )
        assert call.usage is not None
        assert (call.usage.input, call.usage.output, call.milliseconds) == (9, 2, 1000)


def test_spans_that_cannot_be_taken_are_counted_in_the_answer(sender: httpx2.Client) -> None:
    body = request_of(json_span("03" * 8, traceId=""), json_span("04" * 8))
    told = post(sender, body, JSON)
    assert told.status_code == 200
    assert told.json()["partialSuccess"]["rejectedSpans"] == 1
    bad = protobuf_request("00" * 8)
    partial = service.ExportTraceServiceResponse.FromString(post(sender, bad, PROTOBUF).content)
    assert partial.partial_success.rejected_spans == 1
    assert "spanId" in partial.partial_success.error_message


@pytest.mark.parametrize(
    ("body", "kind", "packing", "status", "words"),
    [
        (b"{", JSON, "", 400, "not JSON"),
        (b"[]", JSON, "", 400, "no JSON object"),
        (b"\xff\xff\xff", PROTOBUF, "", 400, "ExportTraceServiceRequest"),
        (b"x" * 20, JSON, "gzip", 400, "no gzip"),
        (gzip.compress(b"{}", mtime=0)[:-9], JSON, "gzip", 400, "breaks off"),
        (b"x", JSON, "br", 415, "packed as br"),
        (b"x", "text/plain", "", 415, "text/plain is not received"),
    ],
)
def test_a_bad_request_is_answered_with_a_status_in_its_own_encoding(
    sender: httpx2.Client, *, body: bytes, kind: str, packing: str, status: int, words: str
) -> None:
    told = post(sender, body, kind, content_encoding=packing)
    assert told.status_code == status
    assert words.encode() in told.content
    if kind == PROTOBUF:
        assert told.headers["content-type"] == PROTOBUF
        assert told.content[:2] == b"\x08\x03"
    else:
        assert told.json()["code"] == 3


def test_a_few_packed_bytes_do_not_become_very_many_plain_ones(sender: httpx2.Client) -> None:
    bomb = gzip.compress(b" " * 40_000_000)
    told = post(sender, bomb, JSON, content_encoding="gzip")
    assert told.status_code == 413
    assert "web.body_bytes" in told.json()["message"]


def test_web_pages_are_kept_out(sender: httpx2.Client) -> None:
    body = request_of(json_span("05" * 8))
    told = post(sender, body, JSON, origin="https://evil.example")
    assert told.status_code == 403
    told = post(sender, body, JSON, host="evil.example")
    assert (told.status_code, "add the name to recorder.hosts" in told.text) == (421, True)


PROGRAM = """
import os, urllib.request
url = os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]
assert os.environ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] == "http/protobuf"
body = open("body.json", "rb").read()
request = urllib.request.Request(url, body, {"content-type": "application/json"})
urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request)
raise SystemExit(5)
"""


def test_a_command_is_told_where_to_send_its_spans_and_its_code_is_passed_on(
    house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "body.json").write_bytes(request_of(json_span("06" * 8)))
    monkeypatch.chdir(tmp_path)
    command = ["--home", str(house), "record", "--otlp", "--as", "sender", "--"]
    started = [*command, sys.executable, "-c", PROGRAM]
    done = CliRunner().invoke(cli, started, standalone_mode=False)
    assert done.return_value == 5, done.output
    assert "recorded/sender: 1 call (1 to a model) in 1 session" in done.output
    assert [call.evidence for call in calls_of(house, "sender")] == ["span"]


@pytest.mark.parametrize("option", ["--forward", "--token", "--log", "--repair=all"])
def test_options_of_the_proxy_are_refused_by_the_receiver(house: Path, option: str) -> None:
    done = CliRunner().invoke(cli, ["--home", str(house), "record", "--otlp", option, "true"])
    assert (done.exit_code, "--otlp passes no calls on" in done.output) == (2, True)
