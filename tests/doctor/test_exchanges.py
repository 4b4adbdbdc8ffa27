"""Logs that hold the prompts: lines of JSON, HAR, cassettes, trackers and spans."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mentis.doctor.breaks import LogBreak
from mentis.doctor.diagnosis import diagnose
from mentis.doctor.report import DoctorReport

from .logs import stamp, write_lines

URL = "https://api.anthropic.com/v1/messages?beta=true"
LONG = "You are a careful agent. " * 2000
TOOLS: list[dict[str, object]] = [
    {"name": name, "description": name, "input_schema": {"type": "object"}} for name in "abc"
]


def question(
    *said: str, system: str = LONG, tools: list[dict[str, object]] | None = None, **more: object
) -> dict[str, object]:
    marked = {"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}
    roles = ("user", "assistant")
    return {
        "model": "claude-opus-4-6",
        "max_tokens": 100,
        "system": [marked],
        "tools": TOOLS if tools is None else tools,
        "messages": [{"role": roles[n % 2], "content": text} for n, text in enumerate(said)],
        **more,
    }


def answer(read: int, wrote: int, **more: object) -> dict[str, object]:
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": wrote,
        "output_tokens": 20,
    }
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-6",
        "content": [{"type": "text", "text": "Yes."}],
        "stop_reason": "end_turn",
        "usage": usage,
        **more,
    }


Pair = tuple[dict[str, object], dict[str, object]]
GOOD: Pair = (question("a"), answer(0, 9000))


def stream(told: Mapping[str, Any]) -> str:
    usage = told["usage"]
    events: list[dict[str, object]] = [
        {"type": "message_start", "message": {**told, "content": [], "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "Yes."},
        },
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 20},
        },
        {"type": "message_stop"},
    ]
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)


def as_line(pair: Pair, at: float) -> dict[str, object]:
    return {"timestamp": stamp(at), "request": pair[0], "response": pair[1]}


def as_har(pairs: list[Pair]) -> dict[str, object]:
    entries: list[dict[str, object]] = [
        {
            "startedDateTime": stamp(number * 20),
            "time": 1234.5,
            "request": {
                "method": "POST",
                "url": URL,
                "headers": [{"name": "User-Agent", "value": "claude-cli/2.1.300"}],
                "postData": {"mimeType": "application/json", "text": json.dumps(asked)},
            },
            "response": {
                "status": 200,
                "headers": [],
                "content": {
                    "mimeType": "text/event-stream",
                    "text": base64.b64encode(stream(told).encode()).decode(),
                    "encoding": "base64",
                },
            },
        }
        for number, (asked, told) in enumerate(pairs)
    ]
    page = {"request": {"method": "GET", "url": "https://docs.example/"}, "response": {}}
    return {"log": {"version": "1.2", "entries": [page, *entries]}}


def as_cassette(pairs: list[Pair]) -> dict[str, object]:
    return {
        "interactions": [
            {
                "request": {
                    "body": json.dumps(asked),
                    "headers": {"user-agent": ["Anthropic/Python 2.8.0"]},
                    "method": "POST",
                    "uri": URL,
                },
                "response": {
                    "body": {"string": gzip.compress(json.dumps(told).encode())},
                    "headers": {
                        "content-encoding": ["gzip"],
                        "date": [f"Mon, 02 Nov 2026 09:00:{number * 20:02d} GMT"],
                    },
                    "status": {"code": 200, "message": "OK"},
                },
            }
            for number, (asked, told) in enumerate(pairs)
        ],
        "version": 1,
    }


def read(tmp_path: Path, *pairs: Pair, each: float = 20) -> DoctorReport:
    lines = [as_line(pair, number * each) for number, pair in enumerate(pairs)]
    return diagnose([write_lines(tmp_path / "calls.jsonl", lines)])


def only_break(report: DoctorReport) -> LogBreak:
    (group,) = report.breaks
    (one,) = group.dearest
    return one


def test_one_conversation_reads_the_same_in_each_format(tmp_path: Path) -> None:
    pairs = [GOOD, (question("a", "b", "c"), answer(9000, 50))]
    plain = read(tmp_path, *pairs)
    (tmp_path / "all.har").write_text(json.dumps(as_har(pairs), indent=1))
    (tmp_path / "one.yaml").write_text(yaml.safe_dump(as_cassette(pairs)))
    for name in ("all.har", "one.yaml"):
        report = diagnose([tmp_path / name])
        assert report.total == plain.total, name
        assert not report.breaks
        assert report.session_count == 1
    assert plain.total.calls == 2
    assert plain.total.usage.cache_read == 9000
    assert diagnose([tmp_path / "all.har"]).programs[0].name == "claude-code"


def test_a_clock_in_the_prefix_is_named_with_its_byte_and_the_repair(tmp_path: Path) -> None:
    texts = [f"{LONG}It is 12:0{minute}." for minute in range(2)]
    pairs = [
        (question("a", system=texts[0]), answer(0, 9000)),
        (question("a", "b", "c", system=texts[1]), answer(0, 9050)),
    ]
    one = only_break(read(tmp_path, *pairs))
    assert (one.cause, one.evidence, one.where) == ("clock", "bytes", "system block 0")
    assert one.pointer == "/system/0/text"
    assert one.before.endswith('It is 12:00."}],"messages":[{"role":"user"')
    assert "12:01" in one.after
    assert one.repair == "clock"


def test_an_id_that_is_another_one_each_time_is_told_apart_from_an_edit(tmp_path: Path) -> None:
    def asked(mark: str, *said: str) -> dict[str, object]:
        return question(*said, system=f"{mark} {LONG}")

    first, second = (f"request {n}f3a9c1d-77aa-4bbb-8ccc-00000000000{n}" for n in range(2))
    pairs = [(asked(first, "a"), answer(0, 9000)), (asked(second, "a", "b", "c"), answer(0, 9000))]
    assert only_break(read(tmp_path, *pairs)).cause == "nonce"
    pairs = [
        (asked("Be kind.", "a"), answer(0, 9000)),
        (asked("Be fast.", "a", "b", "c"), answer(0, 9000)),
    ]
    assert only_break(read(tmp_path, *pairs)).cause == "changed"


def test_tools_in_another_order_are_no_other_tools(tmp_path: Path) -> None:
    pairs = [GOOD, (question("a", "b", "c", tools=TOOLS[::-1]), answer(0, 9000))]
    assert only_break(read(tmp_path, *pairs)).cause == "reordered"
    pairs = [GOOD, (question("a", "b", "c", tools=TOOLS[:2]), answer(0, 9000))]
    one = only_break(read(tmp_path, *pairs))
    assert (one.cause, one.where) == ("tools", "the tools")


def test_a_pause_a_header_and_a_missing_mark_are_told_apart(tmp_path: Path) -> None:
    more = (question("a", "b", "c"), answer(0, 9000))
    assert only_break(read(tmp_path, GOOD, more, each=1000)).cause == "idle"
    bare = [
        ({**question(*said), "system": LONG}, answer(0, 0) | {"usage": {"input_tokens": 9000}})
        for said in (("a",), ("a", "b", "c"))
    ]
    assert only_break(read(tmp_path, *bare)).cause == "unmarked"
    lines = [
        {
            "url": URL,
            "timestamp": stamp(number),
            "request": {"headers": {"anthropic-beta": beta}, "body": pair[0], "url": URL},
            "response": pair[1],
        }
        for number, (beta, pair) in enumerate((("one", GOOD), ("one,two", more)))
    ]
    one = only_break(diagnose([write_lines(tmp_path / "headers.jsonl", lines)]))
    assert (one.cause, one.where) == ("headers", "header anthropic-beta")


def test_what_the_provider_says_is_told_as_its_word(tmp_path: Path) -> None:
    said = {"cache_miss_reason": {"type": "system_changed", "cache_missed_input_tokens": 8000}}
    pairs = [GOOD, (question("a", "b", "c"), answer(0, 9000, diagnostics=said))]
    one = only_break(read(tmp_path, *pairs))
    assert one.said == "system_changed"


def test_the_next_model_of_a_conversation_has_a_cache_of_its_own(tmp_path: Path) -> None:
    other = question("a", "b", "c", model="claude-haiku-4-5")
    one = only_break(read(tmp_path, GOOD, (other, answer(0, 9000))))
    assert (one.cause, one.evidence) == ("model", "usage")


def test_order_counts_only_what_really_changed(tmp_path: Path) -> None:
    texts = ["Rule one.", "Rule two."]
    pairs = [(question("a" * 9000, system=text), answer(0, 9000)) for text in texts]
    lines = [as_line(pair, n * 20) for n, pair in enumerate(pairs)]
    path = write_lines(tmp_path / "calls.jsonl", lines)
    report = diagnose([path], what_if=("plan", "order"))
    plan, order = (one.usd for one in report.scenarios)
    assert plan is not None
    assert order is not None
    assert plan <= order < report.total.usd


def test_chat_completions_and_gemini_are_known_by_how_they_look(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 3000, "completion_tokens": 5, "total_tokens": 3005}
    chat = {
        "request": {"model": "gpt-5.6", "messages": [{"role": "user", "content": "hi"}]},
        "response": {
            "object": "chat.completion",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "a"}}],
            "usage": {**usage, "prompt_tokens_details": {"cached_tokens": 2048}},
        },
    }
    counts = {"promptTokenCount": 4000, "candidatesTokenCount": 6, "cachedContentTokenCount": 1000}
    gemini = {
        "url": "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent",
        "request_body": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
        "response_body": {
            "candidates": [{"content": {"role": "model", "parts": [{"text": "a"}]}}],
            "usageMetadata": counts,
        },
    }
    failed = {**chat, "response": {"status": 429, "body": {"error": {"message": "later"}}}}
    report = diagnose([write_lines(tmp_path / "mixed.jsonl", [chat, gemini, failed])])
    found = {one.name: one.sum.usage for one in report.models}
    assert found["gpt-5.6"].cache_read == 2048
    assert found["gemini-2.5-flash"].input == 4000
    assert report.total.calls == 2
    assert "1 call failed" in report.notes[0].why


def test_payloads_of_litellm_tell_texts_and_counts(tmp_path: Path) -> None:
    def logged(number: int, system: str, read: int) -> dict[str, object]:
        said = [{"role": "user", "content": f"{n}"} for n in range(number + 1)]
        return {
            "id": f"call-{number}",
            "call_type": "acompletion",
            "status": "success",
            "model": "anthropic/claude-opus-4-6",
            "custom_llm_provider": "anthropic",
            "startTime": 1_793_000_000.5 + number,
            "prompt_tokens": 9000,
            "completion_tokens": 10,
            "response_cost": 0.5,
            "metadata": {
                "usage_object": {
                    "prompt_tokens": 9000,
                    "completion_tokens": 10,
                    "cache_read_input_tokens": read,
                    "cache_creation_input_tokens": 9000 - read,
                }
            },
            "messages": [{"role": "system", "content": system}, *said],
            "response": {"id": f"r{number}"},
            "model_parameters": {},
        }

    lines = [logged(0, f"A{LONG}", 0), logged(1, f"B{LONG}", 0)]
    report = diagnose([write_lines(tmp_path / "litellm.jsonl", lines)])
    one = only_break(report)
    assert (one.cause, one.evidence, one.byte) == ("changed", "usage", -1)
    assert one.where == "message 0 (system)"
    assert report.models[0].name == "claude-opus-4-6"
    wrapped = [{"standard_logging_object": line} for line in lines]
    assert diagnose([write_lines(tmp_path / "w.jsonl", wrapped)]).total == report.total


def test_observations_of_langfuse_are_read_as_the_api_and_exports_write_them(
    tmp_path: Path,
) -> None:
    one = {
        "id": "o1",
        "traceId": "t1",
        "type": "GENERATION",
        "model": "claude-opus-4-6",
        "startTime": stamp(0),
        "input": [{"role": "user", "content": "hi"}],
        "output": "a",
        "usageDetails": {"input": 10, "cache_read_input_tokens": 5000, "output": 7, "total": 5017},
    }
    exported = {
        "id": "o2",
        "trace_id": "t2",
        "type": "GENERATION",
        "provided_model_name": "gpt-5.6",
        "start_time": "2026-11-02 09:00:00.000000",
        "input": json.dumps([{"role": "user", "content": "hi"}]),
        "usage_details": json.dumps({"input": 100, "output": 7, "total": 107}),
        "total_cost": "0.25",
    }
    span = {"id": "s", "traceId": "t1", "type": "SPAN", "name": "work"}
    (tmp_path / "trace.json").write_text(json.dumps({"id": "t1", "observations": [span, one]}))
    api, export = (
        diagnose([path]).total
        for path in (tmp_path / "trace.json", write_lines(tmp_path / "e.jsonl", [exported]))
    )
    assert (api.calls, api.usage.input, api.usage.cache_read) == (1, 5010, 5000)
    assert (export.calls, export.usage.input) == (1, 100)


def test_spans_in_files_of_a_collector_are_calls(tmp_path: Path) -> None:
    values: dict[str, object] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-opus-4-6",
        "gen_ai.usage.input_tokens": 9000,
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.usage.cache_read.input_tokens": 8000,
    }
    attributes = [
        {"key": k, "value": {"stringValue": v} if isinstance(v, str) else {"intValue": str(v)}}
        for k, v in values.items()
    ]
    span = {
        "traceId": "0af7651916cd43dd8448eb211c80319c",
        "spanId": "b7ad6b7169203331",
        "name": "chat claude-opus-4-6",
        "startTimeUnixNano": "1793000000000000000",
        "endTimeUnixNano": "1793000001000000000",
        "attributes": attributes,
    }
    told = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    for path in (write_lines(tmp_path / "s.jsonl", [told]), tmp_path / "s.json"):
        path.write_text(json.dumps(told))
        total = diagnose([path]).total
        assert (total.calls, total.usage.input, total.usage.cache_read) == (1, 9000, 8000)
        assert total.priced


def test_the_official_client_is_read_from_what_it_sent(tmp_path: Path) -> None:
    """Its own bytes, as they left it, beside the answer as it came."""
    lines: list[dict[str, object]] = []

    def served(request: httpx2.Request) -> httpx2.Response:
        body = stream(answer(9000 if lines else 0, 9000))
        lines.append(
            {
                "time": stamp(20 * len(lines)),
                "request": {
                    "url": str(request.url),
                    "headers": dict(request.headers),
                    "body": request.content.decode(),
                },
                "response": {"status": 200, "body": body},
            }
        )
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, text=body)

    client = anthropic.Anthropic(
        api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(served))
    )
    for said in (("a",), ("a", "b", "c")):
        asked: dict[str, Any] = dict(question(*said))
        with client.messages.stream(**asked) as told:
            assert told.get_final_text() == "Yes."
    report = diagnose([write_lines(tmp_path / "sdk.jsonl", lines)])
    assert (report.total.calls, report.total.usage.cache_read) == (2, 9000)
    assert not report.breaks
    assert report.session_count == 1


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.har", b'{"log": {"entries": [', "is no JSON"),
        ("a.yaml", b"a: [1, 2", "no YAML that is read"),
        ("a.json.gz", gzip.compress(b'{"log": 1}' * 50, mtime=0)[:-20], "ends in the middle"),
        ("a.json", b'{"nothing": 1}', "no log that is known"),
        ("a.yaml", b"!!python/object/apply:os.system ['true']", "no YAML that is read"),
    ],
)
def test_a_document_that_cannot_be_read_is_named(
    tmp_path: Path, name: str, content: bytes, why: str
) -> None:
    (tmp_path / name).write_bytes(content)
    report = diagnose([tmp_path / name])
    assert report.total.calls == 0
    assert why in report.notes[0].why


def test_a_document_that_is_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mentis.doctor.documents.MOST_DOCUMENT", 5_000_000)
    (tmp_path / "bomb.json.gz").write_bytes(gzip.compress(b"[" + b" " * 9_000_000 + b"]"))
    assert "one document of more than" in diagnose([tmp_path / "bomb.json.gz"]).notes[0].why


_LEAF = st.none() | st.integers() | st.text(max_size=6) | st.floats(allow_nan=False)
_NAMES = [
    *("request", "response", "body", "messages", "input", "contents", "usage", "headers", "url"),
    *("traceId", "type", "model", "usageDetails", "call_type", "metadata", "resourceSpans"),
    *("scopeSpans", "spans", "attributes", "content", "role", "string", "base64_string", "status"),
    *("choices", "candidates", "output", "system", "tools", "timestamp", "postData", "text"),
]
_TREE = st.recursive(
    _LEAF,
    lambda one: (
        st.lists(one, max_size=3) | st.dictionaries(st.sampled_from(_NAMES), one, max_size=5)
    ),
    max_leaves=25,
)


@settings(max_examples=25)
@given(st.lists(st.dictionaries(st.sampled_from(_NAMES), _TREE, max_size=6), max_size=3))
def test_no_shape_breaks_these_readers(
    tmp_path_factory: pytest.TempPathFactory, lines: list[dict[str, object]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "shapes.jsonl"
    diagnose([write_lines(path, lines)])
    base = json.loads(json.dumps(as_line(GOOD, 0)))
    diagnose([write_lines(path, [{**base, **one} for one in lines])])
    for one in lines:
        diagnose([write_lines(path, [{**base, "request": {**base["request"], **one}}])])
        diagnose([write_lines(path, [{**base, "response": {**base["response"], **one}}])])
