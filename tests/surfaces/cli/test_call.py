from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Mentis


def test_a_rendering_is_sent_and_its_reply_printed(
    mentis: Mentis, home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "payload.json"
    file.write_text(mentis("render", "--json", "--home", home).out, encoding="utf-8")
    done = mentis("call", file, "--home", home)
    assert (done.code, done.out) == (0, "One.\n")
    assert "stop: end" in done.err


def test_a_message_is_sent_and_the_raw_events_printed(mentis: Mentis, home: Path) -> None:
    done = mentis("call", "--message", "Hello", "--events", "--home", home)
    events = [json.loads(line) for line in done.out.splitlines()]
    assert events[-1]["choices"][0]["finish_reason"] == "stop"


def test_the_reply_is_there_as_json(mentis: Mentis, home: Path) -> None:
    done = mentis("call", "--message", "Hello", "--json", "--home", home)
    assert done.json()["text"] == "One."


def test_nothing_of_a_call_is_recorded(mentis: Mentis, home: Path) -> None:
    mentis("call", "--message", "Hello", "--home", home)
    assert mentis("status", "verify", "--json", "--home", home).json()["chains"] == []


def test_a_call_without_anything_to_send_is_wrong_usage(mentis: Mentis, home: Path) -> None:
    assert mentis("call", "--home", home).code == 2


def test_a_home_whose_routes_are_ready_is_told_so(mentis: Mentis, home: Path) -> None:
    done = mentis("routes", "check", "--home", home)
    assert done.code == 0
    assert "ready" in done.out
    live = mentis("routes", "check", "--live", "--json", "--home", home)
    assert live.json()["ready"] is True


def test_a_route_that_is_not_ready_makes_the_check_fail(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    done = mentis("routes", "check", "gemini/gemini-3-pro", "--json", "--home", home)
    assert done.code == 1
    assert "GEMINI_API_KEY" in json.dumps(done.json())
    assert "NOT READY" in mentis("routes", "check", "gemini/x", "--home", home).out


def test_another_try_is_told_in_our_own_words_only(mentis: Mentis, home: Path, log: str) -> None:
    toml = '[routes.default]\nurl = "http://127.0.0.1:9/v1"\nmodel = "m"\nattempts = 2\n'
    (home / "mentis.toml").write_text(toml + log, encoding="utf-8")
    done = mentis("call", "--message", "Hello", "--home", home)
    assert done.code == 1
    assert "no answer: trying again in" in done.err
    assert "stamina" not in done.err


def test_a_file_that_a_request_names_is_read_beside_it_only(
    mentis: Mentis, home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    file = folder / "request.json"
    (tmp_path / "outside.txt").write_text("outside", encoding="utf-8")
    part = {"kind": "document", "mime": "text/plain", "path": "../outside.txt"}
    request = {"system_instruction": [], "current_text": "Hi", "attachments": [part]}
    file.write_text(json.dumps(request), encoding="utf-8")
    done = mentis("call", file, "--json", "--home", home)
    assert done.code == 1
    assert "outside-home" in done.err
