"""Programs of the official SDKs, recorded by the transport of their client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from mentis.home.create import create_home
from mentis.record.call_bodies import read_body
from mentis.record.foreign_calls import GAP, ForeignCall, foreign_calls
from mentis.record.record import open_record
from mentis.recording import RecordingTransport, transport
from mentis.stores.files.blobs import FileBlobs
from mentis.values.entry import Entry
from mentis.values.json import json_object

from .foreign import MODEL, message_stream

KEY = "sk-0123456789abcdefghijklmnop"
USAGE = {"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13}
CHOICE = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hi."}}
ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-5",
    "choices": [CHOICE],
    "usage": USAGE,
}
CHUNK = {**ANSWER, "object": "chat.completion.chunk", "usage": None}
DELTA = {**CHUNK, "choices": [{"index": 0, "delta": {"content": "Hi."}, "finish_reason": None}]}
LAST = {**CHUNK, "choices": [], "usage": USAGE}
EVENTS = [f"data: {json.dumps(one)}\n\n".encode() for one in (DELTA, DELTA, LAST)]
QUESTION: dict[str, Any] = {"model": "gpt-5", "messages": [{"role": "user", "content": "Hello"}]}


class Pieces(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, pieces: list[bytes | Exception]) -> None:
        self.pieces = pieces
        self.given = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            self.given += 1
            yield piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


class Server(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Answers with these pieces, and keeps what it was sent."""

    def __init__(self, *pieces: bytes | Exception, kind: str = "text/event-stream") -> None:
        self.stream = Pieces(list(pieces))
        self.kind = kind
        self.bodies: list[bytes] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        assert isinstance(request.stream, httpx2.SyncByteStream)
        self.bodies.append(b"".join(request.stream))
        if isinstance(self.stream.pieces[0], Exception):
            raise self.stream.pieces[0]
        headers = [(b"Content-Type", self.kind.encode()), (b"X-Odd", b"1"), (b"X-Odd", b"2")]
        return httpx2.Response(200, headers=headers, stream=self.stream)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return self.handle_request(request)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "house")


def fail(text: str) -> None:
    raise AssertionError(text)


def recorder(home: Path, inner: Server) -> RecordingTransport:
    return transport(home, name="program", inner=inner, tell=fail)


def entries_of(home: Path) -> list[Entry]:
    with open_record(home, "recorded/program", readonly=True) as record:
        return list(record.store.entries(record.agent))


def calls_of(home: Path) -> list[ForeignCall]:
    return list(foreign_calls(entries_of(home)))


def openai_client(home: Path, inner: Server) -> openai.OpenAI:
    client = httpx2.Client(transport=recorder(home, inner))
    return openai.OpenAI(api_key=KEY, max_retries=0, http_client=client)


@pytest.fixture
def whole() -> Server:
    return Server(json.dumps(ANSWER).encode(), kind="application/json")


def test_a_call_of_the_openai_client_is_recorded_as_its_bytes_were(
    home: Path, whole: Server
) -> None:
    with openai_client(home, whole) as client:
        completions: Any = client.chat.completions
        answer = completions.with_raw_response.create(**QUESTION)
        assert answer.parse().choices[0].message.content == "Hi."
        assert answer.headers.get_list("X-Odd") == ["1", "2"]
    (entry,) = entries_of(home)
    blobs = FileBlobs(home / "blobs")
    kept = {part: json_object(entry.body[part]) for part in ("request", "answer")}
    assert read_body(blobs, str(kept["request"]["body"])) == whole.bodies[0]
    assert read_body(blobs, str(kept["answer"]["body"])) == json.dumps(ANSWER).encode()
    assert json_object(kept["request"]["headers"])["authorization"] == ""
    (call,) = calls_of(home)
    assert (call.route, call.model, call.end, call.status) == ("openai", "gpt-5", "answered", 200)
    assert call.usage is not None
    assert (call.usage.input, call.usage.output) == (11, 2)
    assert not any(KEY.encode() in file.read_bytes() for file in home.rglob("*") if file.is_file())


def test_a_stream_reaches_the_program_piece_by_piece_before_it_is_whole(home: Path) -> None:
    inner = Server(*EVENTS, b"data: [DONE]\n\n", b": and more\n\n")
    with openai_client(home, inner) as client:
        seen = [inner.stream.given for _ in client.chat.completions.create(**QUESTION, stream=True)]
    assert seen == [1, 2, 3]
    (call,) = calls_of(home)
    assert call.end == "answered"  # the client reads no further than the last event
    assert call.usage is not None
    assert call.usage.input == 11


def test_a_program_that_closes_a_stream_early_has_left(home: Path) -> None:
    with openai_client(home, Server(*EVENTS)) as client:
        with client.chat.completions.create(**QUESTION, stream=True) as stream:
            next(iter(stream))
        dropped = client.chat.completions.create(**QUESTION, stream=True)
        next(iter(dropped))
        del dropped, stream
    assert [(call.end, call.status) for call in calls_of(home)] == [("left", 200)] * 2


@pytest.mark.parametrize(
    ("begun", "error", "end"),
    [
        ((), httpx2.ConnectError("nobody there"), "unreachable"),
        ((EVENTS[0],), httpx2.ReadError("half of it"), "broken"),
    ],
)
def test_an_error_is_the_programs_as_it_was_and_is_recorded(
    home: Path, begun: tuple[bytes, ...], error: Exception, end: str
) -> None:
    with (
        httpx2.Client(transport=recorder(home, Server(*begun, error))) as client,
        pytest.raises(type(error), match=str(error)),
    ):
        client.post("https://api.openai.com/v1/chat/completions", json=QUESTION)
    (entry,) = entries_of(home)
    told = json_object(entry.body["call"])
    assert told["end"] == end
    assert str(error) in str(told["reason"])


@pytest.mark.parametrize("key", [KEY, "key-of-no-known-shape"])
def test_an_error_that_repeats_the_key_is_kept_without_it(home: Path, key: str) -> None:
    given = f"Bearer {key}\n"  # as it is read from a file
    headers = {"Authorization": given}
    error = httpx2.LocalProtocolError(f"Illegal header value {given.encode()!r}")
    with (
        httpx2.Client(transport=recorder(home, Server(error))) as client,
        pytest.raises(httpx2.LocalProtocolError, match=key),
    ):
        client.post("https://api.openai.com/v1/responses", json=QUESTION, headers=headers)
    (entry,) = entries_of(home)
    assert "Illegal header value b'" in str(entry.body)
    assert key not in str(entry.body)


async def test_the_async_client_of_anthropic_is_recorded_alike(home: Path) -> None:
    body = message_stream({"input_tokens": 40, "output_tokens": 1})
    inner = Server(*(body[at : at + 50] for at in range(0, len(body), 50)))
    async with httpx2.AsyncClient(transport=recorder(home, inner)) as http:
        client = anthropic.AsyncAnthropic(api_key=KEY, max_retries=0, http_client=http)
        asked: Any = {"model": MODEL, "max_tokens": 9, "messages": QUESTION["messages"]}
        async with client.messages.stream(**asked) as stream:
            assert "".join([text async for text in stream.text_stream]) == "Hello"
        async with client.messages.stream(**asked) as stream:
            async for _ in stream:
                break
    first, second = calls_of(home)
    assert (first.route, first.model, first.end) == ("anthropic", MODEL, "answered")
    assert first.usage is not None
    assert (first.usage.input, first.usage.output) == (40, 7)
    assert second.end == "left"


def test_a_body_that_comes_in_pieces_is_passed_on_and_kept(home: Path, whole: Server) -> None:
    body = json.dumps(QUESTION).encode()

    def pieces() -> Generator[bytes]:
        yield body[:9]
        yield body[9:]

    with httpx2.Client(transport=recorder(home, whole)) as client:
        client.post("http://127.0.0.1:9/v1/chat/completions", content=pieces())
    (entry,) = entries_of(home)
    kept = read_body(FileBlobs(home / "blobs"), str(json_object(entry.body["request"])["body"]))
    assert whole.bodies == [body] == [kept]


def test_a_record_that_cannot_be_written_fails_no_call_and_says_what_is_missing(
    home: Path, whole: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    made = transport(home, name="program", inner=whole, tell=told.append)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with httpx2.Client(transport=made) as client:
        monkeypatch.setattr("mentis.recorder.writer.keep_body", full)
        answer = client.post("https://api.openai.com/v1/chat/completions", json=QUESTION)
        assert answer.json() == ANSWER
        assert made.flush(20)
        monkeypatch.undo()
    (entry,) = entries_of(home)
    assert entry.kind == GAP
    assert "No space left" in told[0]
