"""What comes over HTTP before any surface sees it, over real loopback connections."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from tests.constants import constants_set
from tests.web.loopback import listening

from mentis.errors import ProviderUnreachable
from mentis.settings.web import WebSettings
from mentis.web.application import AppState, Door, make_app, token_of
from mentis.web.guard import AccessRecord, GuardParts
from mentis.web.problems import WebProblem
from mentis.web.streams import Emit, Streamed, sse, while_there
from mentis.web.tokens import Tokens


class AccessLog(list[AccessRecord]):
    """Lines as they are written: after the answer, which its reader may have first."""

    def __init__(self) -> None:
        super().__init__()
        self._written = threading.Condition()

    def append(self, record: AccessRecord) -> None:
        with self._written:
            super().append(record)
            self._written.notify_all()

    def line_of(self, request_id: str) -> AccessRecord:
        with self._written:
            assert self._written.wait_for(
                lambda: request_id in [one.request_id for one in self], 20
            )
            return next(one for one in self if one.request_id == request_id)


@dataclass
class Place:
    """A running server with one of each kind of door."""

    url: str
    chat: str
    read: str
    stop: Callable[[], None]
    tokens: Tokens
    log: AccessLog
    defects: list[BaseException]
    cancelled: threading.Event
    going: threading.Event
    go_on: threading.Event
    state: AppState = field(default_factory=AppState)

    def get(self, path: str, token: str = "", **headers: str) -> httpx2.Response:
        given = {"authorization": f"Bearer {token}"} if token else {}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx2.get(f"{self.url}{path}", headers={**given, **named})

    def post(self, path: str, body: bytes = b"{}", **headers: str) -> httpx2.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        given = {"authorization": f"Bearer {self.chat}", **named}
        return httpx2.post(f"{self.url}{path}", content=body, headers=given)


@contextmanager
def serving(folder: Path, **chosen: object) -> Generator[Place]:  # noqa: C901  # a door each
    home = folder / "home"
    home.mkdir()
    tokens, log = Tokens(folder / "config", home), AccessLog()
    settings = WebSettings.model_validate({"port": 0, **chosen})
    defects: list[BaseException] = []
    cancelled, going, go_on = threading.Event(), threading.Event(), threading.Event()

    async def echo(request: Request) -> Response:
        return JSONResponse({"token": token_of(request).name, "body": len(await request.body())})

    async def fail(_request: Request) -> Response:
        raise ProviderUnreachable("nobody there", hint="look")

    async def defect(_request: Request) -> Response:
        raise ZeroDivisionError("secret words")

    async def wait(request: Request) -> Response:
        await request.body()
        return await while_there(request, _held)

    async def _held() -> Response:
        going.set()
        try:
            while not go_on.is_set():
                await anyio.lowlevel.checkpoint()
        except anyio.get_cancelled_exc_class():
            cancelled.set()
            raise
        return JSONResponse({"ended": True})

    async def stream(request: Request) -> Response:
        failing = request.query_params.get("fail", "")

        async def work(emit: Emit) -> None:
            if failing == "first":
                raise ProviderUnreachable("nobody there")
            emit(sse({"n": 1}, "one"))
            if failing == "later":
                raise ProviderUnreachable("it broke")
            if request.query_params.get("hold"):
                await _held()
            emit(sse({"n": 2}, "two"))

        return Streamed(work, fail=lambda problem: sse({"error": problem.code}, "error"))

    def teapot(problem: WebProblem) -> tuple[str, bytes]:
        return "application/json", f'{{"other form": "{problem.code}"}}'.encode()

    doors = [
        Door("/echo", echo, "chat", ("POST",)),
        Door("/fail", fail, "read"),
        Door("/defect", defect, "read"),
        Door("/wait", wait, "chat", ("POST",)),
        Door("/stream", stream, "chat"),
        Door("/other/fail", fail, "read"),
    ]
    parts = GuardParts(
        tokens.find,
        settings,
        forms={"/other/": teapot},
        on_access=log.append,
        on_defect=defects.append,
    )
    state = AppState()
    chat, read = tokens.new("phone"), tokens.new("eyes", scope="read")
    with listening(lambda: make_app(doors, parts, state), settings, state) as (url, stop):
        try:
            yield Place(url, chat, read, stop, tokens, log, defects, cancelled, going, go_on, state)
        finally:
            go_on.set()


@pytest.fixture
def place(tmp_path: Path) -> Generator[Place]:
    with serving(tmp_path) as made:
        yield made


def test_health_and_readiness_need_no_token_and_everything_else_does(place: Place) -> None:
    assert place.get("/healthz").json() == {"status": "ok"}
    assert place.get("/readyz").json() == {"status": "ready"}
    for path in ("/metrics", "/fail", "/nothing"):
        refused = place.get(path)
        assert refused.status_code == 401
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.headers["www-authenticate"] == "Bearer"
        assert refused.json()["code"] == "access-denied"


def test_a_token_is_taken_as_bearer_or_as_api_key(place: Place) -> None:
    assert place.post("/echo", b"12345").json() == {"token": "phone", "body": 5}
    keyed = httpx2.post(f"{place.url}/echo", headers={"x-api-key": place.chat})
    assert keyed.json() == {"token": "phone", "body": 0}


def test_a_token_of_a_lesser_scope_is_refused(place: Place) -> None:
    refused = httpx2.post(f"{place.url}/echo", headers={"authorization": f"Bearer {place.read}"})
    assert (refused.status_code, refused.json()["code"]) == (403, "access-denied")
    assert "--scope chat" in refused.json()["hint"]


def test_a_revoked_token_counts_no_more_from_the_next_request_on(place: Place) -> None:
    assert place.post("/echo").status_code == 200
    place.tokens.revoke("phone")
    assert place.post("/echo").status_code == 401


def test_with_a_token_unknown_paths_and_methods_are_told(place: Place) -> None:
    assert place.get("/nothing", place.chat).status_code == 404
    assert place.get("/echo", place.chat).status_code == 405


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8377", "127.0.0.1.evil.example"])
def test_a_name_that_was_made_to_lead_here_is_refused(place: Place, host: str) -> None:
    refused = place.get("/healthz", host=host)
    assert (refused.status_code, refused.json()["code"]) == (421, "request-refused")


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:8377", "LOCALHOST"])
def test_the_names_of_this_machine_are_answered(place: Place, host: str) -> None:
    assert place.get("/healthz", host=host).status_code == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost.evil.example", "http://["]
)
def test_a_page_of_another_origin_cannot_post(place: Place, origin: str) -> None:
    assert place.post("/echo", origin=origin).status_code == 403


def test_a_page_of_its_own_origin_and_a_named_one_can(tmp_path: Path) -> None:
    with serving(tmp_path, origins=["https://chat.example.org"]) as place:
        assert place.post("/echo", origin=place.url).status_code == 200
        asked = httpx2.options(
            f"{place.url}/echo",
            headers={
                "origin": "https://chat.example.org",
                "access-control-request-method": "POST",
                "access-control-request-headers": "authorization",
            },
        )
        assert asked.headers["access-control-allow-origin"] == "https://chat.example.org"
        assert place.post("/echo", origin="https://chat.example.org").status_code == 200
        assert place.post("/echo", origin="https://evil.example").status_code == 403


def test_a_body_over_its_limit_is_refused_told_or_not(tmp_path: Path) -> None:
    with serving(tmp_path, body_bytes=1024) as place:
        assert place.post("/echo", b"x" * 1024).status_code == 200
        assert place.post("/echo", b"x" * 1025).status_code == 413
        pieces = (b"x" * 100 for _ in range(20))
        headers = {"authorization": f"Bearer {place.chat}"}
        untold = httpx2.post(f"{place.url}/echo", content=pieces, headers=headers)
        assert untold.status_code == 413


def test_headers_over_their_limit_are_refused(tmp_path: Path) -> None:
    with constants_set(WebSettings, header_bytes=2048), serving(tmp_path) as place:
        assert place.get("/healthz", x_long="x" * 1800).status_code == 200
        assert place.get("/healthz", x_long="x" * 2040).status_code in (400, 431)


def raw(place: Place, *pieces: bytes) -> bytes:
    """What comes back on a bare connection until it is closed."""
    there = urlsplit(place.url)
    with socket.create_connection((there.hostname, there.port), timeout=30) as connection:
        for piece in pieces:
            connection.sendall(piece)
        answer = b""
        while more := connection.recv(65536):
            answer += more
    return answer


def test_a_body_that_does_not_come_is_given_up(tmp_path: Path) -> None:
    with serving(tmp_path, body_seconds=0.05) as place:
        head = f"POST /echo HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {place.chat}\r\n"
        answer = raw(place, f"{head}content-length: 10\r\n\r\nhalf".encode())
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_head_that_does_not_come_is_given_up(tmp_path: Path) -> None:
    with constants_set(WebSettings, header_seconds=0.05), serving(tmp_path) as place:
        assert raw(place, b"GET /healthz HTTP/1.1\r\nhost: loc") == b""


def test_a_head_that_does_not_end_is_given_up(tmp_path: Path) -> None:
    with constants_set(WebSettings, header_bytes=2048), serving(tmp_path) as place:
        answer = raw(place, b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-long: ", b"x" * 5000)
    assert answer.startswith(b"HTTP/1.1 400 ")


def test_an_answer_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    with serving(tmp_path, answer_seconds=0.05) as place:
        late = place.post("/wait")
        assert place.cancelled.wait(30)
    assert (late.status_code, late.json()["code"]) == (504, "request-refused")


def test_a_token_that_comes_too_often_has_to_wait(tmp_path: Path) -> None:
    with serving(tmp_path, burst=2, requests_per_minute=1) as place:
        statuses = [place.post("/echo").status_code for _ in range(3)]
        last = place.post("/echo")
        assert place.get("/fail", place.read).status_code == 502  # another token has its own
    assert statuses == [200, 200, 429]
    assert int(last.headers["retry-after"]) > 0


def test_guessing_tokens_makes_the_address_wait(tmp_path: Path) -> None:
    with serving(tmp_path, failures_per_minute=3) as place:
        guesses = [place.get("/fail", f"mts_phone_{n}").status_code for n in range(4)]
        assert place.get("/fail", place.read).status_code == 502  # nobody is locked out by it
    assert guesses == [401, 401, 401, 429]


def test_too_many_at_once_are_told_to_come_again(tmp_path: Path) -> None:
    with serving(tmp_path, at_once=1) as place:
        waiting = threading.Thread(target=place.post, args=("/wait",))
        waiting.start()
        assert place.going.wait(30)
        refused = place.get("/healthz")
        place.go_on.set()
        waiting.join(30)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")


def test_an_error_is_a_problem_or_what_the_path_calls_one(place: Place) -> None:
    problem = place.get("/fail", place.read, x_request_id="mine-1")
    assert problem.status_code == 502
    assert problem.json() == {
        "type": "urn:mentis:error:provider-unreachable",
        "title": "provider unreachable",
        "status": 502,
        "detail": "nobody there",
        "code": "provider-unreachable",
        "hint": "look",
        "request_id": "mine-1",
        "facts": {},
    }
    assert problem.headers["x-request-id"] == "mine-1"
    assert place.get("/other/fail", place.read).json() == {"other form": "provider-unreachable"}
    assert place.get("/other/fail").json() == {"other form": "access-denied"}


def test_a_defect_says_nothing_of_itself_but_to_the_server(place: Place) -> None:
    answer = place.get("/defect", place.read)
    assert answer.status_code == 500
    assert "secret words" not in answer.text
    assert [type(one) for one in place.defects] == [ZeroDivisionError]


def test_a_stream_fails_as_a_request_or_with_its_last_event(place: Place) -> None:
    whole = place.get("/stream", place.chat)
    assert whole.text == 'event: one\ndata: {"n": 1}\n\nevent: two\ndata: {"n": 2}\n\n'
    assert whole.headers["content-type"].startswith("text/event-stream")
    assert place.get("/stream?fail=first", place.chat).status_code == 502
    later = place.get("/stream?fail=later", place.chat)
    assert later.status_code == 200
    assert later.text.endswith('event: error\ndata: {"error": "provider-unreachable"}\n\n')


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_client_that_leaves_ends_the_work(place: Place, method: str) -> None:
    there, path = urlsplit(place.url), "/stream?hold=1" if method == "GET" else "/wait"
    head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {place.chat}\r\n"
    with socket.create_connection((there.hostname, there.port), timeout=30) as connection:
        connection.sendall(f"{head}content-length: 0\r\n\r\n".encode())
        assert place.going.wait(30)
    assert place.cancelled.wait(30)


def test_what_was_begun_is_answered_after_it_was_told_to_stop(place: Place) -> None:
    answers: list[httpx2.Response] = []
    waiting = threading.Thread(target=lambda: answers.append(place.post("/wait")))
    waiting.start()
    assert place.going.wait(30)
    place.stop()
    while not place.state.draining:
        pass
    place.go_on.set()
    waiting.join(30)
    assert answers[0].json() == {"ended": True}


def test_what_does_not_end_in_time_is_ended(tmp_path: Path) -> None:
    with serving(tmp_path, drain_seconds=0) as place:
        waiting = threading.Thread(target=_ignoring, args=(place,))
        waiting.start()
        assert place.going.wait(30)
        place.stop()
        assert place.cancelled.wait(30)
        waiting.join(30)


def test_while_it_drains_it_is_not_ready(place: Place) -> None:
    place.state.draining = True
    assert place.get("/readyz").status_code == 503
    assert place.get("/healthz").status_code == 200


def _ignoring(place: Place) -> None:
    with suppress(httpx2.HTTPError):
        place.post("/wait")


def test_the_log_says_who_and_how_but_never_what(place: Place) -> None:
    place.post("/echo?key=secret-query", b"secret-body", x_request_id="r1")
    record = place.log.line_of("r1")
    assert (record.method, record.path, record.status) == ("POST", "/echo", 200)
    assert (record.token, record.person, record.received) == ("phone", "owner", 11)
    assert record.client == "127.0.0.1"
    assert "secret" not in repr(place.log)


def test_figures_are_told_in_the_form_of_prometheus(place: Place) -> None:
    place.post("/echo")
    place.get("/unknown/path", place.chat)
    text = place.get("/metrics", place.read).text
    assert 'mentis_http_requests_total{method="POST",path="/echo",status="200"} 1\n' in text
    assert 'path="other",status="404"} 1\n' in text
    assert 'mentis_http_request_seconds_count{path="/echo"} 1\n' in text
    assert "# TYPE mentis_http_request_seconds histogram\n" in text
