"""A record as GenAI spans: what is written is what our own receiver reads."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner
from tests import rounds
from tests.rounds import Rounds

from mentis import Agent, Parts, create_home, tool
from mentis.recorder.otlp import JSON, read_request, read_spans
from mentis.recorder.recording import open_recording
from mentis.recorder.trace_tree import TraceTree
from mentis.surfaces.cli.main import cli, run
from mentis.testing import HashEmbedder

from .foreign import MODEL, anthropic_call, user


@tool
def temperature(city: str) -> str:
    """How warm it is somewhere.

    Args:
        city: Where.
    """
    return f"17 degrees in {city}"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = create_home(tmp_path / "home")
    with (made / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write('\n[routes.default]\nurl = "http://127.0.0.1:9/v1"\nmodel = "m"\n')
    return made


def exported(home: Path, file: Path, *more: str) -> list[dict[str, Any]]:
    """The requests in the file."""
    command = ["--home", str(home), "ledger", "export", str(file), "--format", "otel", *more]
    done = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def spans_in(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    scopes = [one for request in requests for one in request["resourceSpans"][0]["scopeSpans"]]
    return [span for scope in scopes for span in scope["spans"]]


@pytest.mark.anyio
async def test_turns_calls_and_acts_are_a_tree_with_the_same_ids_each_time(
    home: Path, tmp_path: Path
) -> None:
    said = "The secret of the lighthouse"
    provider = Rounds(
        rounds.calls(("a", "temperature", {"city": "Berlin"})), rounds.says("It is warm.")
    )
    parts = Parts(embedder=HashEmbedder())
    async with Agent.open(home, tools=[temperature], provider=provider, parts=parts) as agent:
        await agent.chat(said, session="kitchen")
        (entry,) = [one for one in agent.entries() if one.kind == "turn"]
    requests = exported(home, tmp_path / "spans.jsonl")
    assert requests == exported(home, tmp_path / "again.jsonl")
    root, *below = spans_in(requests)
    assert root["name"] == "invoke_agent ada"
    assert sorted(one["name"] for one in below) == ["chat m", "chat m", "execute_tool temperature"]
    assert {one["parentSpanId"] for one in below} == {root["spanId"]}
    assert {one["traceId"] for one in below} == {root["traceId"]}
    assert len({one["spanId"] for one in (root, *below)}) == 4
    assert {"key": "mentis.entry.hash", "value": {"stringValue": entry.hash}} in root["attributes"]
    assert said not in json.dumps(requests)
    read = read_spans(read_request(json.dumps(requests[0]).encode(), JSON), TraceTree("test"))
    assert read.rejected == 0
    assert [(one.request["model"], one.source.session) for one in read.calls] == [
        ("m", "kitchen")
    ] * 2
    assert [one.source.above for one in read.calls] == [("agent ada",)] * 2


def test_what_is_exported_of_a_recorded_agent_our_receiver_takes_as_the_same_calls(
    home: Path, tmp_path: Path
) -> None:
    told = {"metadata": {"session_id": "talk-1"}, "messages": [user("hi")]}
    broken = anthropic_call(told, after=9)
    broken.end, broken.status, broken.reason = "unreachable", 0, "ConnectError: nobody there"
    with open_recording(home, "agent", tell=pytest.fail) as recording:
        recording.offer(anthropic_call(told, fresh=10, read=2000, written=300))
        recording.offer(broken)
    requests = exported(home, tmp_path / "spans.jsonl", "--persona", "recorded/agent")
    read = read_spans(read_request(json.dumps(requests[0]).encode(), JSON), TraceTree("test"))
    first, second = read.calls
    answer: Any = first.answer
    assert (first.provider, first.request["model"], first.source.session, first.seconds) == (
        "anthropic",
        MODEL,
        "talk-1",
        1.5,
    )
    usage = answer["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (2310, 7)
    assert usage["prompt_tokens_details"] == {"cached_tokens": 2000, "cache_write_tokens": 300}
    assert (second.answer, second.error) == (None, "ConnectError: nobody there")


class Receiver(HTTPServer):
    """Keeps what is posted to it, and answers with what it is told to."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taken)
        self.answer, self.status = b"{}", 200
        self.got: list[tuple[str, dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Taken(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        server = cast("Receiver", self.server)
        server.got.append((self.path, headers, body))
        self.send_response(server.status)
        self.send_header("content-length", str(len(server.answer)))
        self.end_headers()
        self.wfile.write(server.answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name there
        """Say nothing."""


@contextmanager
def receiving() -> Generator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class Post:
    """The command, as a user runs it: its code, and what it said to either side."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd
        self.out = ""

    def __call__(self, home: Path, to: str, *more: str) -> int:
        chosen = ("--persona", "recorded/agent", "--to", to)
        code = run(["--home", str(home), "export", "--format", "otel", *chosen, *more])
        said = self._capfd.readouterr()
        self.out = said.out + said.err
        return code


@pytest.fixture
def post(capfd: pytest.CaptureFixture[str]) -> Post:
    return Post(capfd)


def record_one(home: Path) -> None:
    told = {"metadata": {"session_id": "talk-1"}, "messages": [user("hi")]}
    with open_recording(home, "agent", tell=pytest.fail) as recording:
        recording.offer(anthropic_call(told))


@pytest.mark.parametrize("path", ["", "/", "/v1/traces", "/api/public/otel/v1/traces?x=1"])
def test_spans_are_posted_to_a_receiver_with_the_headers_of_the_usual_variable(
    home: Path, post: Post, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    record_one(home)
    lines = exported(home, home / "spans.jsonl", "--persona", "recorded/agent")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc, x-project=1")
    with receiving() as receiver:
        assert post(home, f"{receiver.url}{path}", "--json") == 0
        ((asked, headers, body),) = receiver.got
    assert (asked, json.loads(body)) == (path if path.strip("/") else "/v1/traces", *lines)
    assert (headers["authorization"], headers["x-project"]) == ("Bearer abc", "1")
    assert headers["content-type"] == "application/json"
    told = json.loads(post.out)
    assert (told["requests"], told["rejected"]) == (1, 0)


@pytest.mark.parametrize(
    ("status", "answer", "words"),
    [
        (200, b'{"partialSuccess": {"rejectedSpans": "1", "errorMessage": "too old"}}', "too old"),
        (401, b"who are you?", "answered 401 who are you?"),
        (302, b"", "answered 302"),
    ],
)
def test_what_a_receiver_does_not_take_is_told(
    home: Path, post: Post, status: int, *, answer: bytes, words: str
) -> None:
    record_one(home)
    with receiving() as receiver:
        receiver.status, receiver.answer = status, answer
        assert post(home, receiver.url) == (0 if status == 200 else 1)
    assert words in post.out


@pytest.mark.parametrize(
    ("to", "headers", "words"),
    [
        ("http://169.254.169.254", "", "link-local"),
        ("ftp://127.0.0.1", "", "not an http or https address"),
        ("http://collector.example", "a=b", "unencrypted"),
        ("http://127.0.0.1:9", "nonsense", "name=value"),
        ("http://127.0.0.1:1", "", "does not answer"),
    ],
)
def test_spans_go_nowhere_else(
    home: Path, post: Post, monkeypatch: pytest.MonkeyPatch, to: str, *, headers: str, words: str
) -> None:
    record_one(home)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", headers)
    assert post(home, to) != 0
    assert words in post.out


@pytest.mark.parametrize("words", [["export"], ["export", "x.zip", "--to", "http://127.0.0.1:1"]])
def test_an_export_that_names_no_file_or_sends_no_spans_says_what_is_missing(
    home: Path, capfd: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert run(["--home", str(home), *words]) == 2
    assert "hint:" in capfd.readouterr().err
