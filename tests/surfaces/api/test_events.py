"""News of a home: what is recorded is told to whoever follows, also what they missed."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.constants import constants_set
from tests.surfaces.api.api_home import PERSONA, ApiClient, ApiHome, api_home

from mentis.settings.web import WebSettings
from mentis.surfaces.api.events import read_standing
from mentis.surfaces.api.operation import PREFIX

TURNS = f"/personas/{PERSONA}/sessions/main/turns"


@contextmanager
def following(client: ApiClient, path: str = "", **headers: str) -> Generator[Iterator[str]]:
    given = {"authorization": f"Bearer {client.token}"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    url = f"{client.url}{PREFIX}{path}/events"
    with httpx2.stream("GET", url, headers=given, timeout=20) as answer:
        assert answer.status_code == 200, answer.read()
        yield answer.iter_lines()


def next_event(lines: Iterator[str]) -> tuple[str, dict[str, Any]]:
    """The id and the data of the next one that is no comment."""
    known = ""
    for line in lines:
        if line.startswith("id: "):
            known = line[4:]
        if line.startswith("data: "):
            return known, json.loads(line[6:])
    raise AssertionError("it ended")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiHome]:
    folder: Path = tmp_path_factory.mktemp("events")
    often = constants_set(WebSettings, events_seconds=0.02, heartbeat_seconds=0.05)
    with often, api_home(folder) as home:
        yield home


@pytest.fixture(scope="module")
def client(home: ApiHome) -> ApiClient:
    return home.client("all")


def test_a_turn_is_told_to_whoever_follows_and_again_to_whoever_was_away(
    client: ApiClient,
) -> None:
    with following(client) as lines:
        assert next(lines).startswith("id: ")
        made = client.post(TURNS, {"text": "Hello"}).json()
        known, told = next_event(lines)
        assert (told["kind"], told["session"]) == ("turn", "main")
        assert (told["index"], told["hash"]) == (made["entry"]["index"], made["entry"]["hash"])
        assert "Hello" not in json.dumps(told)
    client.post(TURNS, {"text": "Nobody follows"})
    with following(client, last_event_id=known) as lines:
        _, missed = next_event(lines)
        assert missed["index"] == told["index"] + 1


def test_whoever_sees_one_persona_alone_follows_that_one(home: ApiHome, client: ApiClient) -> None:
    one = home.client("one", agent=PERSONA)
    assert one.get("/events").status_code == 403
    assert one.get("/personas/nobody/events").status_code == 404
    with following(one, f"/personas/{PERSONA}") as lines:
        assert next(lines).startswith("id: ")
        made = client.post(TURNS, {"text": "Hello"}).json()
        known, told = next_event(lines)
    assert (told["hash"], told["index"]) == (made["entry"]["hash"], made["entry"]["index"])
    assert list(read_standing(known)) == [told["agent"]]


def test_a_silent_stream_says_that_it_is_there(client: ApiClient) -> None:
    with following(client) as lines:
        assert ": still here" in lines


def test_an_id_that_is_none_of_ours_is_refused(client: ApiClient) -> None:
    found = client.get("/events", last_event_id="x")
    assert (found.status_code, found.json()["facts"]["field"]) == (422, "last-event-id")


def test_a_server_that_stops_does_not_wait_for_whoever_follows(tmp_path: Path) -> None:
    often = constants_set(WebSettings, events_seconds=0.02)
    with often, api_home(tmp_path, web__drain_seconds="600") as home:
        client = home.client("all")
        stream = following(client)
        lines = stream.__enter__()
        next(lines)
    list(lines)  # it came to its end
    stream.__exit__(None, None, None)
