"""What a service needs of the command line: logs for machines, and a way to newer versions."""

from __future__ import annotations

import json
import logging
import re
import shutil
import sqlite3
import subprocess
import tarfile
import warnings
from pathlib import Path
from typing import Any

import pytest

from mentis.stores.sqlite.migrations import NOTES, VERSION
from mentis.surfaces.cli import serve
from mentis.surfaces.cli.logs import JsonLogFormatter
from mentis.web.guard import AccessRecord

from .conftest import Mentis

ROOT = Path(__file__).resolve().parents[3]


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_living_agent_logs_events_as_json_and_nothing_of_what_was_said(
    mentis: Mentis, home: Path
) -> None:
    mentis("--home", home, "sense", "add", "The cat sleeps on mat 7.")
    done = mentis("--home", home, "run", "--ticks", "1", "--log-format", "json")
    told = lines(done.err)
    assert all(line.keys() >= {"time", "level", "event"} for line in told)
    events = [line["event"] for line in told]
    assert events[0] == "loop_started"
    assert {"tick_started", "tick_completed", "entry_recorded", "loop_stopped"} <= {*events}
    recorded = next(line for line in told if line["event"] == "entry_recorded")
    assert (recorded["persona"], recorded["entry"], recorded["kind"]) == ("ada", 0, "turn")
    for said in ("cat", "One."):
        assert said not in done.err
    assert done.out.startswith("ticks    1")  # data stays data


def test_without_the_option_nothing_is_logged_and_a_log_ends_with_its_command(
    mentis: Mentis, home: Path
) -> None:
    mentis("--home", home, "run", "--ticks", "1", "--log-format", "json")
    done = mentis("--home", home, "run", "--ticks", "1")
    assert done.err.startswith(f"{home.name}/ada lives")
    assert not logging.getLogger("mentis.record").isEnabledFor(logging.INFO)


def test_an_error_is_a_line_of_the_log_and_the_variable_chooses_it(
    mentis: Mentis, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENTIS_LOG_FORMAT", "json")
    started, *_ = lines(mentis("--home", home, "run", "--ticks", "1").err)
    assert started["event"] == "loop_started"
    (line,) = lines(mentis("--home", tmp_path / "none", "run").err)
    assert (line["level"], line["event"], line["code"]) == ("error", "error", "home-missing")


@pytest.mark.parametrize("line", ["run --nonsense", "run --ticks many", "serve --port many"])
def test_a_command_line_that_cannot_be_read_is_a_line_of_the_log(
    mentis: Mentis, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setenv("MENTIS_LOG_FORMAT", "json")
    (told,) = lines(mentis(*line.split()).err)
    assert (told["level"], told["event"], told["code"]) == ("error", "error", "usage")
    assert "Error: " in mentis("chat", "--nonsense").err  # it writes no log


def test_a_missing_key_and_a_warning_are_warnings_of_the_log(
    mentis: Mentis, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENTIS_LOG_FORMAT", "json")
    monkeypatch.setenv("MENTIS_CONFIG", str(tmp_path / "another-machine"))
    told, *_ = lines(mentis("--home", home, "run", "--ticks", "1").err)
    assert told["level"] == "warning"
    assert told["message"].startswith("the signing key of this home is missing")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", told["time"])

    def warn(*_: object) -> None:
        warnings.warn("an old way", UserWarning, stacklevel=1)

    monkeypatch.setattr("mentis.surfaces.cli.options.say_missing_key", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        told, *_ = lines(mentis("--home", home, "run", "--ticks", "1").err)
    assert (told["level"], told["event"], told["category"]) == ("warning", "warning", "UserWarning")


def test_a_defect_is_named_in_the_log_and_its_message_stands_in_the_report_alone(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("the cat sleeps on mat 7")

    monkeypatch.setattr("mentis.surfaces.cli.options.say_missing_key", broken)
    done = mentis("--home", home, "run", "--ticks", "1", "--log-format", "json")
    (told,) = lines(done.err)
    assert (told["event"], told["exception"]) == ("defect", "ZeroDivisionError")
    assert "mat 7" not in done.err
    assert "mat 7" in Path(told["report"]).read_text(encoding="utf-8")


def test_the_entry_of_a_talk_names_its_session(
    mentis: Mentis, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "mentis.record"):
        mentis("--home", home, "chat", "--session", "evening", "Hello")
    (facts,) = (record.__dict__["facts"] for record in caplog.records)
    assert (facts["persona"], facts["session"], facts["entry"]) == ("ada", "evening", 0)


def test_a_request_is_an_event_and_keys_are_struck_out(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    key = "sk-ant-" + "a1B2" * 12
    monkeypatch.setattr(serve, "logs_json", lambda: True)
    logged = serve._logged  # pyright: ignore[reportPrivateUsage]  # what `serve` is given
    with caplog.at_level(logging.INFO, "mentis.service"):
        logged(AccessRecord(1.0, "req_1", "GET", f"/v1/{key}", 503, 0.1, 2, 3, "", "phone"))
    (line,) = (json.loads(JsonLogFormatter().format(record)) for record in caplog.records)
    assert (line["event"], line["level"], line["status"]) == ("request", "warning", 503)
    assert (line["token"], key in json.dumps(line)) == ("phone", False)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A home that an older version made."""
    with tarfile.open(ROOT / "tests/homes/6920afd.tar.xz") as archive:
        archive.extractall(tmp_path / "old", filter="data")
    return tmp_path / "old" / "home"


def schema(database: Path) -> int:
    connection = sqlite3.connect(database)
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return version


def test_an_upgrade_is_told_first_and_done_on_a_copied_database(mentis: Mentis, old: Path) -> None:
    before = schema(old / "mentis.db")
    told = mentis("--home", old, "upgrade", "--json").json()
    assert (told["schema"], told["known_schema"], told["applied"]) == (before, VERSION, False)
    assert told["steps"] == list(NOTES[before:])
    assert schema(old / "mentis.db") == before
    assert [path.name for path in old.glob("mentis.schema*")] == []
    done = mentis("--home", old, "upgrade", "--apply")
    assert (done.code, schema(old / "mentis.db")) == (0, VERSION)
    assert schema(old / f"mentis.schema-{before}.db") == before
    assert mentis("--home", old, "upgrade").out.endswith("Nothing to do.\n")


def test_a_home_of_a_newer_version_is_left_alone(mentis: Mentis, home: Path) -> None:
    mentis("--home", home, "chat", "Hello")
    connection = sqlite3.connect(home / "mentis.db")
    connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    done = mentis("--home", home, "upgrade", "--apply")
    assert (done.code, "[store-too-new]" in done.err) == (1, True)


def test_every_step_of_the_schema_is_told_in_words() -> None:
    assert len(NOTES) == VERSION


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    unit = tmp_path / "mentis@.service"
    text = (ROOT / "deploy/mentis@.service").read_text(encoding="utf-8")
    unit.write_text(text.replace("/opt/mentis/bin/mentis", "/bin/true"), encoding="utf-8")
    command = ["systemd-analyze", "verify", str(tmp_path / "mentis@home.service")]
    (tmp_path / "mentis@home.service").symlink_to(unit)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "mentis@" not in done.stderr, done.stderr
