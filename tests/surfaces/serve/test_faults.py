"""What goes wrong around a served agent is refused, told in the client's form, and recorded."""

from __future__ import annotations

import json
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2
import openai
import pytest
from tests.constants import constants_set
from tests.rounds import Rounds, says
from tests.surfaces.serve.served import PERSONA, Served, make_home, serving
from tests.surfaces.serve.test_openai import user

from mentis.errors import StoreFull
from mentis.settings.web import WebSettings
from mentis.stores.sqlite.database import Database

CHAT = "/v1/chat/completions"
ASKED = {"model": PERSONA, "messages": [user("Hi")]}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make_home(tmp_path / "home")


def raw(one: Served, content: bytes, *lines: str) -> bytes:
    """The answer to a body of which no more comes."""
    there = urlsplit(one.url)
    head = "\r\n".join((f"POST {CHAT} HTTP/1.1", f"authorization: Bearer {one.token}", *lines))
    with socket.create_connection((there.hostname, there.port), timeout=30) as line:
        line.sendall(head.encode() + b"\r\n\r\n" + content)
        answer = b""
        while piece := line.recv(65536):
            answer += piece
    return answer


def test_web_pages_large_and_slow_bodies_and_guessed_tokens_reach_no_agent(home: Path) -> None:
    with serving(
        home,
        Rounds(says("Hello.")),
        web__body_bytes="2048",
        web__body_seconds="0.2",
        web__failures_per_minute="2",
    ) as one:
        for headers, status in (
            ({"host": "rebound.example"}, 421),
            ({"origin": "https://evil.example"}, 403),
            ({"origin": "null"}, 403),
        ):
            got = one.post(CHAT, ASKED, **headers)
            assert (got.status_code, bool(got.json()["error"]["message"])) == (status, True)
        large = {**ASKED, "messages": [user("x" * 4000)]}
        assert one.post(CHAT, large).status_code == 413
        slow = raw(one, b"{", "host: localhost", "content-length: 90")
        assert slow.startswith(b"HTTP/1.1 408 ")
        guesses = [one.post(CHAT, ASKED, token=f"mts_x_{n}").status_code for n in range(3)]
        assert guesses == [401, 401, 429]
        assert one.provider.sent == []
        assert one.post(CHAT, ASKED).status_code == 200


def test_a_provider_that_hangs_is_given_up_in_the_clients_form(home: Path) -> None:
    hangs = Rounds([{"choices": [{"delta": {"content": "Once"}}]}, "wait"])
    with serving(home, hangs, web__answer_seconds="0.3") as one:
        with pytest.raises(openai.InternalServerError) as given_up:
            one.openai().chat.completions.create(**cast("Any", ASKED))
        assert given_up.value.status_code == 504
        agent = one.agent()
        try:
            (entry,) = agent.entries()
            assert agent.verify().intact
        finally:
            agent.close()
    assert cast("dict[str, object]", entry.body["turn"])["stop"] == "interrupted"


def test_a_full_disk_is_told_and_the_next_turn_goes_on_when_there_is_room(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full: list[bool] = []
    real = Database.write

    @contextmanager
    def write(self: Database, *, synced: bool = True) -> Generator[Any]:
        if full:
            raise StoreFull("no space left on the disk", hint="free some space and try again")
        with real(self, synced=synced) as connection:
            yield connection

    monkeypatch.setattr(Database, "write", write)
    with serving(home, Rounds(*(says(f"Answer {n}.") for n in range(3)))) as one:
        assert one.post(CHAT, ASKED).status_code == 200
        full.append(True)
        refused = one.post(CHAT, ASKED)
        assert refused.status_code == 507
        assert "no space left" in json.dumps(refused.json())
        full.clear()
        assert one.post(CHAT, ASKED).status_code == 200
        assert one.verify()


def test_a_socket_that_sends_nothing_holds_nothing_up(home: Path) -> None:
    rounds = Rounds(says("Hello."))
    with constants_set(WebSettings, header_seconds=0.2), serving(home, rounds) as one:
        there = urlsplit(one.url)
        with socket.create_connection((there.hostname, there.port), timeout=30) as line:
            assert httpx2.get(f"{one.url}/healthz").status_code == 200
            assert line.recv(1) == b""
