from __future__ import annotations

import json
from pathlib import Path

import pytest

from mentis.errors import StoreLocked
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger

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


def test_what_a_call_used_is_recorded_and_nothing_that_was_said(mentis: Mentis, home: Path) -> None:
    mentis("call", "--message", "Hello there", "--home", home)
    assert mentis("routes", "check", "--live", "--home", home).code == 0
    assert mentis("status", "verify", "--home", home).code == 0
    with Database(home / "mentis.db", readonly=True) as database:
        ledger = SqliteLedger(database)
        assert ledger.agents() == ("home/calls",)
        called, checked = ledger.entries("home/calls")
    assert (called.kind, called.body["call"]) == ("call", {"what": "call", "stop": "end"})
    assert checked.body["call"] == {"what": "routes-check", "stop": "end"}
    assert called.body["price"] == {"usd": "0.0", "told": "free: nobody is asked"}
    told = json.dumps(called.body)
    assert "Hello" not in told
    assert "One." not in told


def test_a_call_that_cannot_be_recorded_is_answered_and_says_so(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StoreLocked("somebody else writes", hint="wait")

    monkeypatch.setattr("mentis.ask.call_record.open_ledger", refuse)
    done = mentis("call", "--message", "Hello", "--home", home)
    assert (done.code, done.out) == (0, "One.\n")
    assert "the call is not in the record: somebody else writes" in done.err
    live = mentis("routes", "check", "--live", "--json", "--home", home).json()
    assert "the call is not in the record" in json.dumps(live)


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


KEYED = '[routes.served]\nurl = "http://127.0.0.1:9/v1"\nmodel = "m"\nkey_env = "SERVED_KEY"\n'
SERVED = {"variable": "SERVED_KEY", "server": "http://127.0.0.1:9"}


@pytest.fixture
def keyed(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SERVED_KEY", "canary-key-1234567890")
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n{KEYED}")
    return home


def test_a_key_is_trusted_to_a_server_by_a_word_and_taken_back_by_another(
    mentis: Mentis, keyed: Path
) -> None:
    asked = mentis("chat", "Hello?", "--route", "served", "--home", keyed)
    assert (asked.code, "mentis routes trust served" in asked.err) == (1, True)
    assert "SERVED_KEY (untrusted)" in mentis("routes", "check", "served", "--home", keyed).out
    done = mentis("routes", "trust", "served", "--yes", "--json", "--home", keyed)
    assert (done.code, done.json()) == (0, {"keys": [{**SERVED, "trust": "trusted"}]})
    assert mentis("routes", "trust", "--home", keyed).out == (
        "SERVED_KEY may go to http://127.0.0.1:9 (trusted)\n"
    )
    checked = mentis("routes", "check", "served", "--home", keyed)
    assert (checked.code, "untrusted" in checked.out) == (1, False)  # nothing serves there
    done = mentis("routes", "trust", "served", "--remove", "--json", "--home", keyed)
    assert (done.code, done.json()) == (0, {"keys": [{**SERVED, "trust": "untrusted"}]})
    assert mentis("routes", "trust", "served", "--remove", "--home", keyed).code == 1
    assert mentis("routes", "check", "served", "--home", keyed).code == 1


def test_all_of_it_is_taken_back_at_once_whatever_the_routes_name_now(
    mentis: Mentis, keyed: Path
) -> None:
    mentis("routes", "trust", "served", "--yes", "--home", keyed)
    toml = (keyed / "mentis.toml").read_text(encoding="utf-8")
    (keyed / "mentis.toml").write_text(toml.replace(":9/", ":7/"), encoding="utf-8")
    assert mentis("routes", "check", "served", "--home", keyed).code == 1
    assert mentis("routes", "trust", "--remove", "--home", keyed).code == 0
    assert mentis("routes", "trust", "--home", keyed).out == ""


def test_trust_is_not_given_where_nobody_can_be_asked(mentis: Mentis, keyed: Path) -> None:
    done = mentis("routes", "trust", "served", "--home", keyed)
    assert (done.code, "--yes" in done.err) == (2, True)
    assert mentis("routes", "trust", "--home", keyed).out == ""


def test_a_route_without_a_key_has_nothing_to_be_trusted_with(mentis: Mentis, keyed: Path) -> None:
    done = mentis("routes", "trust", "default", "--home", keyed)
    assert (done.code, "sends no key" in done.err) == (2, True)
    done = mentis("routes", "trust", "openai/gpt-6", "--home", keyed)
    assert done.out == "OPENAI_API_KEY may go to https://api.openai.com:443 (provider)\n"
