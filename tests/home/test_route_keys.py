"""A key goes to no server that nobody here has said it may go to, whatever a home names."""

from __future__ import annotations

import shutil
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from mentis.app.agent import Agent
from mentis.ask.one_call import call_route
from mentis.ask.route_check import check_routes
from mentis.errors import MentisError, OptionError, ProviderRefused, RouteError, StoreDamaged
from mentis.facts.presets import PRESETS
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.home.route_keys import KeyTarget, RouteKeys, open_route_keys
from mentis.home.server import open_postgres
from mentis.settings.sources import load_settings
from mentis.stores.files.trusted import TrustedRoutes
from mentis.values.cognition import Sense
from mentis.values.request import PromptRequest
from mentis.values.route import Backend, Route

pytestmark = pytest.mark.anyio
SECRET = "canary-secret-1234567890"  # noqa: S105  # of nobody
CHAT = b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


class Listener:
    """Somebody who waits for connections and never says anything."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/v1"

    def was_called(self) -> bool:
        self.socket.setblocking(False)
        try:
            self.socket.accept()[0].close()
        except BlockingIOError:
            return False
        return True


@pytest.fixture
def listener() -> Iterator[Listener]:
    opened = Listener()
    with opened.socket:
        yield opened


class Answering(BaseHTTPRequestHandler):
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]  # no other has it

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.keys.append(self.headers.get("authorization", ""))
        self.send_response(302 if self.server.leads_to else 200)
        if self.server.leads_to:
            self.send_header("location", self.server.leads_to)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(CHAT)))
        self.end_headers()
        self.wfile.write(CHAT)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its own name
        """Quiet."""


class Server(ThreadingHTTPServer):
    """A model server; `keys` are those it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.keys: list[str] = []
        self.leads_to = ""
        self.url = f"http://127.0.0.1:{self.server_port}/v1"


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as opened:
        thread = threading.Thread(target=opened.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield opened
        finally:
            opened.shutdown()
            thread.join()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


def route_to(url: str, variable: str = "AWS_SECRET_ACCESS_KEY") -> str:
    once = "attempts = 1, timeout_seconds = 9"
    return f'{{ url = "{url}", model = "m", key_env = "{variable}", {once} }}'


def choose(home: Path, **routes: str) -> None:
    lines = "\n".join(f"{name} = {route}" for name, route in routes.items())
    (home / "mentis.toml").write_text(f"[routes]\n{lines}\n", encoding="utf-8")


def parts(home: Path, **variables: str) -> Parts:
    known = {"MENTIS_CONFIG": str(home.parent / "config"), "AWS_SECRET_ACCESS_KEY": SECRET}
    return Parts(environ={**known, **variables})


def keys_of(home: Path, **variables: str) -> RouteKeys:
    return open_route_keys(home, parts(home, **variables))


def trust(home: Path, name: str = "default") -> KeyTarget:
    target = keys_of(home).target(name)
    assert target is not None
    keys_of(home).trust(target)
    return target


async def chat(home: Path) -> str:
    async with Agent.open(home, parts=parts(home)) as agent:
        return (await agent.chat("Hello?")).reply.text


async def tick(home: Path) -> str:
    async with Agent.open(home, parts=parts(home)) as agent:
        done = await agent.tick([Sense("s", "mail", {"text": "It rains."})])
    return " ".join(stage.reason for stage in done.tick.report.stages)


async def call(home: Path) -> str:
    request = PromptRequest(current_text="Hi")
    return (await call_route(home, request, parts=parts(home), on_event=lambda _: None)).text


async def check(home: Path) -> str:
    (found,) = await check_routes(home, live=True, parts=parts(home))
    return " ".join(found.problems) or found.said


WAYS = {"chat": chat, "tick": tick, "call": call, "routes check --live": check}


@pytest.mark.parametrize("way", WAYS)
async def test_nobody_is_even_called_before_it_is_trusted(
    home: Path, listener: Listener, way: str
) -> None:
    choose(home, default=route_to(listener.url))
    try:
        told = await WAYS[way](home)
    except RouteError as error:
        told = f"{error.message} ({error.hint})"
    assert "would send AWS_SECRET_ACCESS_KEY to http://127.0.0.1:" in told
    if way != "tick":  # a report of a tick has no hints
        assert told.endswith("(if it belongs there: mentis routes trust default)")
    assert not listener.was_called()


async def test_it_is_refused_before_the_keyring_is_asked(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(_service: str, name: str) -> str:
        raise AssertionError(f"the keyring was asked for {name}")

    monkeypatch.setitem(sys.modules, "keyring", SimpleNamespace(get_password=ask))
    choose(home, default=route_to("https://a.example/v1", "IN_THE_KEYRING"))
    with pytest.raises(RouteError, match="nobody here has said"):
        await call(home)


async def test_what_is_trusted_is_sent_until_it_is_taken_back(home: Path, server: Server) -> None:
    choose(home, default=route_to(server.url))
    target = trust(home)
    assert keys_of(home).trusted_targets() == (target,)
    assert (await chat(home), server.keys) == ("Hi", [f"Bearer {SECRET}"])
    async with Agent.open(home, parts=parts(home)) as agent:
        await agent.chat("Hello?")
        assert keys_of(home).forget(target)
        with pytest.raises(RouteError, match="nobody here has said"):  # also where it is open
            await agent.chat("Hello?")
    assert not keys_of(home).forget(target)
    assert keys_of(home).trusted_targets() == ()
    assert len(server.keys) == 2


async def test_a_route_without_a_key_needs_no_word(home: Path, server: Server) -> None:
    choose(home, default=f'{{ url = "{server.url}", model = "m" }}')
    assert (await chat(home), server.keys) == ("Hi", [""])
    assert keys_of(home).target() is None


async def test_trust_is_in_this_key_and_this_server_and_in_no_other(
    home: Path, server: Server, listener: Listener
) -> None:
    choose(home, default=route_to(server.url))
    trust(home)
    others = {
        "another port": route_to(listener.url),
        "another host": route_to(server.url.replace("127.0.0.1", "localhost")),
        "the same host, written otherwise": route_to(server.url.replace("127.0.0.1", "127.1")),
        "another variable": route_to(server.url, "GITHUB_TOKEN"),
    }
    for other in others.values():
        choose(home, default=other)
        with pytest.raises(RouteError, match="nobody here has said"):
            await chat(home)
    assert not listener.was_called()
    assert server.keys == []
    choose(home, default=route_to(f"{server.url}/deeper"))
    assert await chat(home) == "Hi"


@pytest.mark.parametrize(
    "options", ['headers = { x-note = "KEY" }', 'body = { note = ["Look: KEY"] }']
)
async def test_the_key_of_another_route_travels_in_no_option(
    home: Path, listener: Listener, options: str
) -> None:
    """Though nobody could tell by its looks that it is one."""
    other = '{ url = "https://models.example/v1", model = "m", key_env = "AWS_SECRET_ACCESS_KEY" }'
    own = f'{{ url = "{listener.url}", model = "m", options = {{ {options} }} }}'
    choose(home, other=other, default=own.replace("KEY", SECRET))
    with pytest.raises(OptionError, match="hold the key in AWS_SECRET_ACCESS_KEY"):
        await chat(home)
    assert not listener.was_called()


async def test_a_redirect_takes_no_key_along(
    home: Path, server: Server, listener: Listener
) -> None:
    choose(home, default=route_to(server.url))
    trust(home)
    server.leads_to = f"{listener.url}/chat/completions"
    with pytest.raises(ProviderRefused):
        await chat(home)
    assert not listener.was_called()


async def test_a_fallback_and_a_route_under_another_name_are_held_to_it_as_well(
    home: Path, server: Server, listener: Listener
) -> None:
    closed = '{ url = "http://127.0.0.1:9/v1", model = "m", attempts = 1, fallback = ["other"] }'
    choose(home, default=closed, other=route_to(listener.url))
    with pytest.raises(RouteError) as caught:
        await chat(home)
    assert caught.value.hint.endswith("mentis routes trust other")
    assert not listener.was_called()
    choose(home, default='"other"', other=route_to(server.url))
    with pytest.raises(RouteError) as caught:
        await chat(home)
    assert caught.value.hint.endswith("mentis routes trust default")
    trust(home, "other")  # one word for every route that sends this key to this server
    assert await chat(home) == "Hi"


def test_a_copy_of_a_home_is_another_home(home: Path) -> None:
    choose(home, default=route_to("https://a.example/v1"))
    target, copy = trust(home), home.with_name("copy")
    shutil.copytree(home, copy)
    assert keys_of(home).trust_in(target) == "trusted"
    assert keys_of(copy).trust_in(target) == "untrusted"


async def test_where_trust_cannot_be_read_nothing_is_sent(home: Path, listener: Listener) -> None:
    choose(home, default=route_to(listener.url))
    trust(home)
    TrustedRoutes(home.parent / "config").file(home).write_text("{", encoding="utf-8")
    with pytest.raises(StoreDamaged, match="which routes are trusted cannot be read") as caught:
        await chat(home)
    assert "mentis routes trust NAME" in caught.value.hint
    assert not listener.was_called()


def test_the_name_of_a_route_is_quoted_where_it_is_to_be_typed(home: Path) -> None:
    choose(home, **{'"x; rm -rf ~"': route_to("https://a.example/v1")})
    keys = keys_of(home)
    with pytest.raises(RouteError) as caught:
        keys.key_of(load_settings(home, {}).route("x; rm -rf ~"))
    assert caught.value.hint.endswith("mentis routes trust 'x; rm -rf ~'")


# What needs no word


@pytest.mark.parametrize(
    "name", [name for name, place in PRESETS.items() if place.key_env and place.url]
)
def test_a_provider_gets_its_own_key_unasked(home: Path, name: str) -> None:
    route = load_settings(home, {}).route(f"{name}/m")
    assert keys_of(home, **{route.key_env: SECRET}).key_of(route) == SECRET


@pytest.mark.parametrize("name", ["azure", "bedrock"])
def test_an_address_that_every_customer_has_of_their_own_is_asked_for(
    home: Path, name: str
) -> None:
    """Anybody can have one of them: the name alone says nothing about whose it is."""
    url = PRESETS[name].form.replace("RESOURCE", "mine").replace("REGION", "us-west-2")
    choose(home, default=f'{{ preset = "{name}", url = "{url}", model = "m" }}')
    route = load_settings(home, {}).route()
    assert route.key_env == PRESETS[name].key_env
    with pytest.raises(RouteError, match="nobody here has said that it may"):
        keys_of(home, **{route.key_env: SECRET}).key_of(route)


def test_a_preset_at_another_address_takes_no_key_along(home: Path) -> None:
    choose(home, default='{ preset = "groq", url = "https://elsewhere.example/v1", model = "m" }')
    assert load_settings(home, {}).route().key_env == ""


def test_both_names_of_a_key_of_google_go_to_google(home: Path) -> None:
    choose(home, default='{ backend = "gemini", model = "m", key_env = "GOOGLE_API_KEY" }')
    keys = keys_of(home, GOOGLE_API_KEY=SECRET)
    assert keys.key_of(load_settings(home, {}).route()) == SECRET


def test_a_provider_gets_no_other_key_unasked(home: Path) -> None:
    for key in ("AWS_SECRET_ACCESS_KEY", "ANTHROPIC_API_KEY", "openai_api_key"):
        choose(home, default=route_to("https://api.openai.com/v1", key))
        with pytest.raises(RouteError, match="nobody here has said"):
            keys_of(home, **{key: SECRET}).key_of(load_settings(home, {}).route())


FROM_OUTSIDE: Mapping[str, Mapping[str, str]] = {
    "environment": {"URL": "https://a.example/v1", "KEY_ENV": "AWS_SECRET_ACCESS_KEY"},
    "untrusted": {"URL": "https://a.example/v1"},  # the home names the key
    "untrusted ": {"KEY_ENV": "AWS_SECRET_ACCESS_KEY"},  # the home names the server
}


@pytest.mark.parametrize("found", FROM_OUTSIDE)
def test_what_the_environment_says_in_whole_is_the_owners_word(home: Path, found: str) -> None:
    choose(home, default=route_to("https://a.example/v1"))
    given = {f"MENTIS_ROUTES__DEFAULT__{key}": value for key, value in FROM_OUTSIDE[found].items()}
    keys = keys_of(home, **given)
    target = keys.target()
    assert target is not None
    assert keys.trust_in(target) == found.strip()


def test_a_backend_that_the_home_names_is_half_of_a_target(home: Path) -> None:
    choose(home, default='{ backend = "gemini", model = "m" }')
    target = KeyTarget("MINE", "https://generativelanguage.googleapis.com:443")
    given = {"MENTIS_ROUTES__DEFAULT__KEY_ENV": "MINE"}
    assert keys_of(home, **given).trust_in(target) == "untrusted"
    given["MENTIS_ROUTES__DEFAULT__BACKEND"] = "gemini"
    assert keys_of(home, **given).trust_in(target) == "environment"


# Servers that would pass for others


def openai_at(url: str, backend: Backend = "openai") -> Route:
    return Route("r", backend, "m", url=url, key_env="OPENAI_API_KEY")


@pytest.mark.parametrize(
    "url", ["https://api.openai.com", "https://API.OpenAI.com/v1", "https://api.openai.com:443/v2"]
)
def test_a_server_is_the_same_in_any_case_and_with_its_usual_port(home: Path, url: str) -> None:
    assert keys_of(home, OPENAI_API_KEY=SECRET).key_of(openai_at(url)) == SECRET


@pytest.mark.parametrize(
    "url",
    [
        "http://api.openai.com/v1",
        "https://api.openai.com:8443/v1",
        "https://api.openai.com./v1",
        "https://api.openai.com.evil.example/v1",
        "https://evil.example/api.openai.com/v1",
        "https://evil.example?api.openai.com",
        "https://evil.example#@api.openai.com/v1",
        "https://api.openai.com@evil.example/v1",
        "https://user:word@api.openai.com/v1",
        "https://@api.openai.com/v1",
        "https://api.openai.com:443@evil.example/v1",
        "https://evil.example\\@api.openai.com/v1",
        "https://evil.example\\.api.openai.com/v1",
        "https://api.openai.com\\.evil.example/v1",
        "https://api.openai.com%2eevil.example/v1",
        "https://[::1]api.openai.com/v1",
        "https://api.openai.com[::1]/v1",
        "https:// api.openai.com/v1",
        "https://api.openai\t.com/v1",
        "https://api.open\u0430i.com/v1",  # a Cyrillic letter
        "https://\uff41pi.openai.com/v1",  # a wide one
        "https://api.openai\u3002com/v1",  # a dot to those who look names up
        "https://xn--api-openai.com/v1",
        "//api.openai.com/v1",
    ],
)
def test_a_server_that_looks_like_another_gets_no_key(home: Path, url: str) -> None:
    with pytest.raises(RouteError):
        keys_of(home, OPENAI_API_KEY=SECRET).key_of(openai_at(url))


def test_a_letter_that_becomes_a_plain_one_when_it_is_made_small_is_not_it(home: Path) -> None:
    trusted = openai_at("https://kiosk.example/v1")
    choose(home, default=route_to(trusted.url, "OPENAI_API_KEY"))
    trust(home)
    keys = keys_of(home, OPENAI_API_KEY=SECRET)
    assert keys.key_of(trusted) == SECRET
    with pytest.raises(RouteError, match="not written in a way"):
        keys.key_of(openai_at("https://\u212aiosk.example/v1"))  # the sign for kelvin


# The other way out: libpq takes a password from the environment


class Database(threading.Thread):
    """Asks whoever connects for a password in plain text, and keeps it."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"postgresql://ada@127.0.0.1:{self.socket.getsockname()[1]}/x?sslmode=disable"
        self.said = b""

    def run(self) -> None:
        caller, _ = self.socket.accept()
        with caller:
            caller.recv(1024)
            caller.sendall(b"R\0\0\0\x08\0\0\0\x03")
            self.said = caller.recv(1024)


@pytest.mark.parametrize("whose", ["the home's", "the owner's"])
def test_a_password_of_the_environment_goes_to_no_database_that_the_home_names(
    home: Path, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    monkeypatch.setenv("PGPASSWORD", SECRET)
    database = Database()
    database.start()
    toml, environ = f'[ledger]\nstore = "postgres"\nurl = "{database.url}"\n', dict[str, str]()
    if whose == "the owner's":
        environ = {"MENTIS_LEDGER__URL": database.url}
    (home / "mentis.toml").write_text(toml, encoding="utf-8")
    with pytest.raises(MentisError) as caught:
        open_postgres(load_settings(home, environ), environ)
    database.join()
    database.socket.close()
    assert (SECRET.encode() in database.said) == (whose == "the owner's")
    if whose == "the home's":
        assert "wants a password" in str(caught.value)
