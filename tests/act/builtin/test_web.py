"""Pages from a real server on loopback: bounded, judged at every step, told with their source."""

from __future__ import annotations

import gzip
import math
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from mentis.act.builtin.web import MOST_REDIRECTS, WebFetch, WebLimits
from mentis.errors import SettingsError
from mentis.library.acts import load_acts
from mentis.net.reach import Reach, WebAddress
from mentis.values.trust import Trust

from .calling import do, result

pytestmark = pytest.mark.anyio
WORDS = load_acts()["web_fetch"]


@dataclass
class Answer:
    body: bytes = b""
    type: str | None = "text/plain; charset=utf-8"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    length: int | None = None
    hangs: bool = False  # after the body nothing more comes, and no end
    endless: bool = False


@dataclass
class Site:
    """What stands where, and what was asked for."""

    port: int = 0
    pages: dict[str, Answer] = field(default_factory=dict[str, Answer])
    asked: list[tuple[str, str, dict[str, str]]] = field(
        default_factory=list[tuple[str, str, dict[str, str]]]
    )
    let_go: threading.Event = field(default_factory=threading.Event)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def act(self) -> WebFetch:
        reach = Reach(private=(self.host, f"localhost:{self.port}"))
        return WebFetch(WORDS, WebLimits(reach))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: Site

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.site.asked.append((self.command, self.path, headers))
        answer = self.site.pages.get(self.path, Answer(b"nothing here", status=404))
        self.close_connection = True
        self.send_response(answer.status)
        if answer.type is not None:
            self.send_header("content-type", answer.type)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if not (answer.hangs or answer.endless):
            length = len(answer.body) if answer.length is None else answer.length
            self.send_header("content-length", str(length))
        self.end_headers()
        if self.command == "GET":
            self._say(answer)

    do_HEAD = do_GET  # noqa: N815  # its own name

    def _say(self, answer: Answer) -> None:
        try:
            self.wfile.write(answer.body)
            while answer.endless:
                self.wfile.write(answer.body)
            if answer.hangs:
                self.rfile.read(1)  # comes back only when the other side closes
        except OSError:
            pass
        self.site.let_go.set()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its own name
        """Quiet."""


class Httpd(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away in the middle is what some tests are about."""


def serving(site: Site, context: ssl.SSLContext | None = None) -> Iterator[Site]:
    httpd = Httpd(("127.0.0.1", 0), type("Bound", (Handler,), {"site": site}))
    if context is not None:
        httpd.socket = context.wrap_socket(httpd.socket, server_side=True)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    site.port = httpd.server_address[1]
    yield site
    httpd.shutdown()
    thread.join()
    httpd.server_close()


@pytest.fixture
def site() -> Iterator[Site]:
    yield from serving(Site())


@pytest.fixture
def elsewhere() -> Iterator[Site]:
    yield from serving(Site())


async def test_a_page_is_told_with_its_facts_and_its_source(site: Site) -> None:
    site.pages["/a?q=1"] = Answer("Grüße".encode())
    outcome = await do(site.act(), {"url": site.url("/a?q=1#part")})
    assert result(outcome) == {
        "url": site.url("/a?q=1"),
        "redirected_from": [],
        "status": 200,
        "type": "text/plain",
        "charset": "utf-8",
        "length": 7,
        "bytes": 7,
        "truncated": False,
        "packed": "",
        "lossy": False,
        "text": "Grüße",
    }
    assert (outcome.trust, outcome.source) == (Trust.UNTRUSTED, site.url("/a?q=1"))
    method, path, headers = site.asked[0]
    assert (method, path, headers["host"]) == ("GET", "/a?q=1", site.host)
    assert {"cookie", "authorization"}.isdisjoint(headers)


async def test_a_host_is_asked_for_by_its_name_at_the_address_that_was_judged(site: Site) -> None:
    result(await do(site.act(), {"url": site.url("/", "localhost")}))
    assert site.asked[0][2]["host"] == f"localhost:{site.port}"


async def test_when_one_address_does_not_answer_the_next_one_is_asked(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def two(aim: WebAddress, reach: Reach) -> tuple[str, ...]:
        return "127.0.0.2", "127.0.0.1"

    monkeypatch.setattr("mentis.act.builtin.web.addresses_of", two)
    assert result(await do(site.act(), {"url": site.url()}))["status"] == 404


async def test_only_the_head_is_asked_for(site: Site) -> None:
    site.pages["/big"] = Answer(b"x" * 5000)
    told = result(await do(site.act(), {"url": site.url("/big"), "method": "HEAD"}))
    assert (told["length"], told["bytes"], told["truncated"]) == (5000, 0, False)
    assert site.asked[0][0] == "HEAD"


async def test_a_page_that_is_not_there_is_an_answer_too(site: Site) -> None:
    told = result(await do(site.act(), {"url": site.url("/none")}))
    assert (told["status"], told["text"]) == (404, "nothing here")


async def test_ten_megabytes_are_cut_where_it_was_said(site: Site) -> None:
    site.pages["/big"] = Answer(b"x" * 10_000_000)
    told = result(await do(site.act(), {"url": site.url("/big")}))
    assert (told["bytes"], told["truncated"], told["length"]) == (65_536, True, 10_000_000)
    assert told["text"] == "x" * 65_536


async def test_a_body_without_end_is_cut_and_let_go(site: Site) -> None:
    site.pages["/more"] = Answer("ü".encode() * 1000, endless=True)
    payload = {"url": site.url("/more"), "body_bytes": 2001}
    told = result(await do(site.act(), payload))
    assert (told["truncated"], told["lossy"], told["text"]) == (True, False, "ü" * 1000)
    assert site.let_go.wait(20)


async def test_a_body_that_just_fits_is_whole(site: Site) -> None:
    site.pages["/"] = Answer(b"x" * 100)
    told = result(await do(site.act(), {"url": site.url(), "body_bytes": 100}))
    assert (told["bytes"], told["truncated"]) == (100, False)


async def test_a_body_that_does_not_come_runs_out_of_time(site: Site) -> None:
    site.pages["/slow"] = Answer(b"begun", hangs=True)
    outcome = await do(site.act(), {"url": site.url("/slow"), "seconds": 1.5})
    assert outcome.state == "timeout"
    assert outcome.reason == "it was not all there within 1.5 seconds"
    assert site.let_go.wait(20)


async def test_a_body_that_breaks_off_is_unavailable(site: Site) -> None:
    site.pages["/broken"] = Answer(b"begun", length=5000)
    outcome = await do(site.act(), {"url": site.url("/broken")})
    assert outcome.state == "unavailable"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (Answer(b"\x89PNG\r\n\x1a\n\0", "image/png"), None),
        (Answer(b"a\0b", "text/plain"), None),
        (Answer(b"plain", None), None),
        (Answer(b"plain", "nonsense"), "plain"),
        (Answer(b'{"a": 1}', "application/problem+json"), '{"a": 1}'),
        (Answer("Grüße".encode("latin-1"), "text/html; charset=ISO-8859-1"), "Grüße"),
        (Answer("Grüße".encode("utf-16"), "text/plain; charset=utf-16"), "Grüße"),
        (Answer("\ufeffGrüße".encode(), "text/plain"), "Grüße"),
        (Answer("Grüße".encode(), 'text/plain; charset="none-such"'), "Grüße"),
        (Answer(b"+AGE-", "text/plain; charset=utf-7"), "+AGE-"),
        (Answer(b"ff", "text/plain; charset=hex"), "ff"),
        (Answer(b"\xff\xfe\xfd", "text/plain"), "\ufffd\ufffd\ufffd"),
    ],
)
async def test_text_is_told_as_text_and_nothing_else_is(
    site: Site, answer: Answer, text: str | None
) -> None:
    site.pages["/"] = answer
    told = result(await do(site.act(), {"url": site.url()}))
    assert told["text"] == text
    assert told["lossy"] is ("\ufffd" in (text or ""))


async def test_what_comes_packed_is_not_unpacked(site: Site) -> None:
    bomb = gzip.compress(b"\0" * 5_000_000)
    site.pages["/"] = Answer(bomb, headers={"content-encoding": "gzip"})
    told = result(await do(site.act(), {"url": site.url()}))
    assert (told["packed"], told["bytes"], told["text"]) == ("gzip", len(bomb), None)
    assert site.asked[0][2]["accept-encoding"] == "identity"


async def test_redirects_are_followed_inside_the_list(site: Site) -> None:
    site.pages["/old"] = Answer(status=301, headers={"location": "new"})
    site.pages["/new"] = Answer(b"here")
    told = result(await do(site.act(), {"url": site.url("/old")}))
    assert (told["url"], told["redirected_from"]) == (site.url("/new"), [site.url("/old")])


async def test_a_redirect_to_a_foreign_host_is_not_followed(site: Site, elsewhere: Site) -> None:
    for target in (
        elsewhere.url("/secret"),
        "https://example.org/",
        "file:///etc/passwd",
        "//x",
        "//[",
    ):
        site.pages["/"] = Answer(status=302, headers={"location": target})
        outcome = await do(site.act(), {"url": site.url()})
        assert outcome.state == "refused", target
    assert elsewhere.asked == []


async def test_redirects_have_an_end(site: Site) -> None:
    site.pages["/"] = Answer(status=307, headers={"location": "/"})
    outcome = await do(site.act(), {"url": site.url()})
    assert outcome.state == "refused"
    assert len(site.asked) == MOST_REDIRECTS + 1


async def test_without_a_list_nothing_can_be_fetched(site: Site) -> None:
    outcome = await do(WebFetch(WORDS, WebLimits()), {"url": site.url()})
    assert outcome.state == "refused"
    assert "not among the hosts" in outcome.reason
    assert site.asked == []


async def test_a_listed_host_that_leads_into_the_local_network_is_refused(site: Site) -> None:
    act = WebFetch(WORDS, WebLimits(Reach(hosts=(f"localhost:{site.port}",))))
    outcome = await do(act, {"url": f"https://localhost:{site.port}/"})
    assert outcome.state == "refused"
    assert "not an address that may be reached" in outcome.reason


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"url": ""},
        {"url": 7},
        {"url": "https://h/" + "x" * 2048},
        {"url": "https://h/", "method": "POST"},
        {"url": "https://h/", "seconds": math.nan},
        {"url": "https://h/", "seconds": 61},
        {"url": "https://h/", "body_bytes": 524_289},
        {"url": "https://h/", "body_bytes": 1.5},
    ],
)
async def test_what_is_no_request_is_refused(site: Site, payload: dict[str, Any]) -> None:
    await do(site.act(), payload, fits=False)


async def test_a_server_that_is_not_there_is_unavailable(site: Site) -> None:
    act = WebFetch(WORDS, WebLimits(Reach(private=("127.0.0.1:1",))))
    outcome = await do(act, {"url": "http://127.0.0.1:1/"})
    assert outcome.state == "unavailable"
    assert outcome.reason.startswith("it cannot be reached: ")


@pytest.mark.parametrize(
    "given", [{"most_seconds": 61}, {"seconds": 0}, {"body_bytes": 0}, {"seconds": math.nan}]
)
def test_limits_have_limits(given: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        WebLimits(**given)


def certificate(folder: Path, host: str) -> Path:
    """A key and a certificate for a host, signed by itself, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    day = datetime(2020, 1, 1, tzinfo=UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, day, day.replace(year=2090))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file = folder / f"{host}.pem"
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return file


@pytest.mark.parametrize(("named", "state"), [("localhost", "done"), ("other.test", "unavailable")])
async def test_the_certificate_must_be_that_of_the_host_though_a_number_is_called(
    tmp_path: Path, named: str, state: str
) -> None:
    file = certificate(tmp_path, named)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    trusted = ssl.create_default_context(cafile=str(file))
    for site in serving(Site(pages={"/": Answer(b"safe")}), context):
        act = WebFetch(
            WORDS,
            WebLimits(Reach(private=(f"localhost:{site.port}",))),
            open_client=lambda seconds: httpx2.AsyncClient(verify=trusted, timeout=seconds),
        )
        outcome = await do(act, {"url": f"https://localhost:{site.port}/"})
        assert outcome.state == state, outcome.reason
        assert bool(site.asked) is (state == "done")
