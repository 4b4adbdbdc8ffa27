"""`mentis status`: windows in by every way, the record out, and what is said when it fails."""

from __future__ import annotations

import io
import json
import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import pytest

from mentis.ledger.guardian.examples import good_window
from mentis.ledger.origin import hash_window, window_text


class Done(Protocol):
    code: int
    out: str
    err: str

    def json(self) -> Any: ...  # noqa: ANN401 - what a command prints


Mentis = Callable[..., Done]
Start = Callable[..., subprocess.Popen[str]]
COMMANDS = ("add", "write", "watch", "list", "latest", "stats", "verify", "check", "import")


@pytest.fixture
def draft(tmp_path: Path) -> Callable[..., Path]:
    def write(**fields: object) -> Path:
        file = tmp_path / "draft.json"
        window = {**good_window(), "cycle": "1/5", **fields}
        file.write_text(json.dumps(window, ensure_ascii=False), encoding="utf-8")
        return file

    return write


@pytest.fixture
def chosen(home: Path) -> None:
    """The owner chose the rules: they hold for windows from outside, too."""
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write('\n[status]\nprofile = "mentis"\n')


@pytest.fixture
def status(mentis: Mentis, home: Path) -> Mentis:
    def call(*args: str | Path) -> Done:
        return mentis("--home", home, "status", *args)

    return call


def run(process: Start, *args: str | Path, feed: str | None = None) -> tuple[int, str, str]:
    with process(*args) as started:
        out, err = started.communicate(feed, timeout=60)
    return started.returncode, out, err


# The origin's minimal proof


def test_minimal_proof_with_real_processes(
    process: Start, home: Path, draft: Callable[..., Path]
) -> None:
    def total() -> int:
        code, out, _ = run(process, "--home", home, "status", "stats", "--json")
        assert code == 0
        return json.loads(out)["total_entries"]

    before = total()
    with process("--home", home, "status", "watch") as watcher:
        assert watcher.stderr is not None
        assert watcher.stderr.readline().startswith("watching ")
        code, out, err = run(process, "--home", home, "status", "write", draft())
        assert (code, err) == (0, "")
        assert Path(out.strip()).parent == home / "status" / "ada" / "spool"
        assert watcher.stdout is not None
        line = watcher.stdout.readline()
        health = json.loads(run(process, "--home", home, "status", "health", "--json")[1])
        watcher.send_signal(signal.SIGINT)
        assert watcher.wait(60) == 0
    after = total()
    assert after == before + 1
    assert line.startswith("Added to history: ")
    assert line.endswith(f"... (total: {after})\n")
    log = (home / "status" / "ada" / "watcher.log").read_text(encoding="utf-8")
    logged = [json.loads(text) for text in log.splitlines()]
    assert [one["message"] for one in logged if one["event"] == "added"] == [line.strip()]
    assert [route["up"] for route in health["routes"]] == [True, True, True, False]
    code, out, _ = run(process, "--home", home, "status", "verify")
    assert (code, out.split(":")[0]) == (0, "ok  home/ada")
    _, out, _ = run(process, "--home", home, "status", "latest", "--count", "1", "--json")
    (entry,) = json.loads(out)
    assert entry["source"] == "pending_status_auto"
    assert entry["status_window"]["window_hash"] == entry["hash"]


def test_a_second_watcher_is_told_who_has_the_lease(
    process: Start, home: Path, draft: Callable[..., Path]
) -> None:
    assert run(process, "--home", home, "status", "write", draft())[0] == 0
    with process("--home", home, "status", "watch") as first:
        assert first.stdout is not None
        assert first.stdout.readline().startswith("Added")
        code, _, err = run(process, "--home", home, "status", "watch", "--once")
        first.terminate()
        assert first.wait(60) == 0
    assert code == 1
    assert "consumed by watcher" in err
    assert "[lease-held]" in err


# add


def test_add_says_the_line_an_acknowledgement_looks_for(
    status: Mentis, draft: Callable[..., Path]
) -> None:
    done = status("add", "--file", draft(), "--source", "editor")
    assert done.code == 0
    assert done.out.startswith("Added to history: ")
    assert done.out.endswith("... (total: 1)\n")
    told = status("add", "--file", draft(), "--source", "editor", "--json").json()
    assert told["acknowledged"] is True
    assert told["line"].endswith("(total: 2)")
    assert told["entry"]["source"] == "editor"
    assert status("stats", "--json").json()["sources"] == {"editor": 2}


def test_add_with_a_delivery_seen_before_adds_nothing(
    status: Mentis, draft: Callable[..., Path]
) -> None:
    args = ("add", "--file", draft(), "--delivery", "d-1")
    first, again = status(*args), status(*args)
    assert first.out == again.out
    assert "recorded before" in again.err
    assert status("stats", "--json").json()["total_entries"] == 1


@pytest.mark.usefixtures("chosen")
def test_a_refused_window_is_one_line_with_its_rule_and_where_it_is_kept(
    status: Mentis, home: Path, draft: Callable[..., Path]
) -> None:
    done = status("add", "--file", draft(confidence=7))
    assert (done.code, done.out) == (1, "")
    first, hint = done.err.splitlines()
    assert "S2-FIELD-CONF /confidence" in first
    assert first.endswith("[window-refused]")
    assert "kept in quarantine/" in hint
    problem = json.loads(status("add", "--file", draft(confidence=7), "--json").err)["error"]
    assert (home / "status" / "ada" / "quarantine" / problem["facts"]["quarantine"]).is_file()


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("add",), 2, "Missing option '--file'"),
        (("add", "--file", "none.json"), 2, "none.json cannot be read"),
        (("add", "--file", "{broken}"), 1, "[not-canonical]"),
        (("add", "--file", "{draft}", "--persona", "eve"), 1, "there is no persona 'eve'"),
        (("add", "--file", "{draft}", "--source", ""), 1, "source"),
        (("write", "{broken}"), 1, "[not-canonical]"),
        (("write", "{draft}", "--delivery", "../x"), 1, "[bad-input]"),
        (("write", "{draft}", "--slot", "--delivery", "x"), 2, "no deliveries"),
        (("check", "{broken}"), 1, "[not-canonical]"),
        (("import", "{draft}"), 1, "[history-broken]"),
        (("verify", "--persona", "eve"), 1, "there is no persona 'eve'"),
        (("verify", "--checkpoint", "none.txt"), 2, "none.txt"),
        (("verify", "--checkpoint", "{broken}"), 1, "checkpoint"),
        (("latest", "--count", "-1"), 2, "--count"),
        (("lst",), 2, "No such command 'lst'"),
    ],
)
def test_what_goes_wrong_is_one_line_with_the_right_exit_code(
    status: Mentis,
    draft: Callable[..., Path],
    tmp_path: Path,
    *,
    args: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"goal": ', encoding="utf-8")
    names = {"{broken}": broken, "{draft}": draft()}
    done = status(*(names.get(arg, arg) for arg in args))
    assert done.code == code
    assert words in done.out + done.err
    assert "Traceback" not in done.err


def test_no_home_is_said_by_every_command(mentis: Mentis, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text("{}", encoding="utf-8")
    more = {"add": ("--file", file), "write": (file,), "check": (file,), "import": (file,)}
    for command in COMMANDS:
        done = mentis("--home", tmp_path / "none", "status", command, *more.get(command, ()))
        assert done.code == 1, command
        assert "[home-missing]" in done.err, command


# Files


def test_write_takes_standard_input_and_the_slot(
    status: Mentis, home: Path, draft: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = draft().read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    told = status("write", "--json").json()
    assert Path(told["file"]).read_bytes() == data
    assert status("write", draft(), "--slot").out == f"{home}/status/ada/pending_status.json\n"
    assert status("health").out.startswith("YELLOW  2 drafts wait")
    done = status("watch", "--once")
    assert (done.code, len(done.out.splitlines())) == (0, 2)
    assert status("health").out.startswith("GREEN")


@pytest.mark.usefixtures("chosen")
def test_watch_once_says_what_was_refused_and_exits_1(
    status: Mentis, draft: Callable[..., Path]
) -> None:
    status("write", draft(goal=""))
    done = status("watch", "--once")
    assert (done.code, done.out) == (1, "")
    assert "refused: the guardian refuses this window" in done.err
    assert "missing: goal" in done.err or "S2-" in done.err
    assert "in quarantine: " in done.err
    red = {"critical_summary": {"status": "RED"}, "output_plan": ["Repair the chain"]}
    status("write", draft(actions=["Start the recovery"], **red))
    lines = status("watch", "--once", "--json").out.splitlines()
    assert [set(json.loads(line)) for line in lines] == [{"line", "index", "hash", "source"}]


# Looking


def test_list_latest_and_stats_of_nothing(status: Mentis) -> None:
    assert (status("list").out, status("list", "--json").json()) == ("", [])
    assert status("latest", "--json").json() == []
    told = status("stats", "--json").json()
    assert (told["total_entries"], told["oldest_timestamp"], told["sources"]) == (0, None, {})
    assert status("verify").out == "ok  nothing is recorded here\n"


def test_latest_shows_the_last_ones_and_zero_is_none(
    status: Mentis, draft: Callable[..., Path]
) -> None:
    for number in range(3):
        status("add", "--file", draft(goal=f"Goal\x1b number {number}"))
    assert [entry["index"] for entry in status("list", "--json").json()] == [0, 1, 2]
    assert status("latest", "--count", "0", "--json").json() == []
    lines = status("latest", "--count", "2", "--windows").out.splitlines()
    assert [line.split()[0] for line in lines] == ["1", "2"]
    assert lines[1].endswith("number 2")
    assert "total:   3 (3 with a window)" in status("stats").out


@pytest.mark.usefixtures("chosen")
def test_check_asks_for_what_the_record_asks_for(
    status: Mentis, mentis: Mentis, home: Path, draft: Callable[..., Path]
) -> None:
    for number in range(5):
        assert status("add", "--file", draft(cycle=f"{number + 1}/5")).code == 0
    file = draft(step_id="step-2")
    done = status("check", file)
    assert (done.code, done.out.split("\n")[0].split()[:2]) == (1, ["block", "S2-AUDIT6"])
    assert mentis("guardian", "check", file, "--home", home).code == 1
    assert mentis("guardian", "check", file, "--home", home, "--fresh").code == 0
    assert status("stats", "--json").json()["total_entries"] == 5
    assert status("check", file, "--json").json()["blocked"] is True


def test_guardian_check_takes_the_profile_of_the_home_or_the_one_that_is_named(
    mentis: Mentis, home: Path, draft: Callable[..., Path]
) -> None:
    toml = home / "mentis.toml"
    text = toml.read_text(encoding="utf-8")
    toml.write_text(f'{text}\n[status]\nprofile = "s2-4.0"\n', encoding="utf-8")
    file = draft(time_source="yesterday")
    assert mentis("guardian", "check", file, "--home", home).code == 1
    assert mentis("guardian", "check", file, "--home", home, "--profile", "mentis").code == 0
    missing = mentis("guardian", "check", file, "--home", home / "none")
    assert (missing.code, "[home-missing]" in missing.err) == (1, True)


def test_health_names_every_route_and_what_the_next_window_needs(status: Mentis) -> None:
    done = status("health")
    assert done.code == 0
    assert [line.split(":")[0].strip() for line in done.out.splitlines()[-4:]] == [
        "down  A watcher",
        "up    B command",
        "up    C save tool",
        "down  D monitor",
    ]
    assert "next window: step-1, cycle 1/5, no audit due" in done.err


def test_health_is_red_and_add_spools_when_the_store_cannot_be_opened(
    status: Mentis, home: Path, draft: Callable[..., Path]
) -> None:
    for file in home.glob("mentis.db*"):
        file.unlink()
    (home / "mentis.db").mkdir()
    done = status("health")
    assert (done.code, done.out.split()[0]) == (1, "RED")
    spooled = status("add", "--file", draft())
    assert (spooled.code, spooled.out.split()[0]) == (1, "Spooled:")
    assert "Persistence offline" in spooled.err
    (home / "mentis.db").rmdir()
    assert status("watch", "--once").out.endswith("(total: 1)\n")


def test_a_log_that_is_a_pipe_and_a_slot_that_stays_are_told_and_the_draft_is_recorded(
    status: Mentis, home: Path, draft: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    status("write", draft())
    status("write", "--slot", draft())
    slot, rename = home / "status" / "ada" / "pending_status.json", Path.rename
    os.mkfifo(home / "status" / "ada" / "watcher.log")

    def stays(self: Path, target: Path) -> Path:
        if self == slot:
            raise PermissionError(1, "Operation not permitted")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", stays)
    done = status("watch", "--once")
    assert (done.code, done.out.count("Added to history")) == (1, 1)
    assert "note: watcher.log cannot be written: " in done.err
    assert "stuck: " in done.err
    told = status("watch", "--once", "--json").out.splitlines()
    assert {"stuck", "unlogged"} <= {name for line in told for name in json.loads(line)}


# Verification and histories


def test_verify_names_the_first_bad_entry_and_its_column(
    status: Mentis, home: Path, draft: Callable[..., Path]
) -> None:
    for _ in range(3):
        status("add", "--file", draft())
    assert status("verify", "--resume").code == 0
    assert "verified before" in status("verify", "--resume").err
    with closing(sqlite3.connect(home / "mentis.db")) as connection, connection:
        connection.execute("UPDATE ledger SET source = 'me' WHERE idx = 1")
    done = status("verify")
    assert done.code == 1
    assert done.out.splitlines()[1].startswith("  entry 1, hash: ")
    chain = status("verify", "--json").json()["chains"][0]
    assert (chain["findings"][0]["index"], chain["findings"][0]["attack"]) == (1, "edited")


def test_verify_with_a_checkpoint_from_outside_sees_that_everything_was_emptied(
    status: Mentis, home: Path, tmp_path: Path, draft: Callable[..., Path]
) -> None:
    for _ in range(2):
        status("add", "--file", draft())
    with closing(sqlite3.connect(home / "mentis.db")) as connection, connection:
        (note,) = connection.execute("SELECT note FROM checkpoints ORDER BY id DESC").fetchone()
        outside = tmp_path / "outside.txt"
        outside.write_text(note, encoding="utf-8")
    done = status("verify", "--checkpoint", outside)
    assert (done.code, "has seen all 2 entries" in done.err) == (0, True)
    with closing(sqlite3.connect(home / "mentis.db")) as connection, connection:
        for table in ("ledger", "checkpoints"):
            connection.execute(f"DELETE FROM {table}")  # noqa: S608 - two names
    done = status("verify", "--checkpoint", outside)
    assert (done.code, "(emptied)" in done.out) == (1, True)
    assert "None" not in done.out
    assert status("add", "--file", draft()).code == 1
    assert status("health").out.startswith("RED")


def test_a_history_of_the_origin_is_imported_and_listed(status: Mentis, tmp_path: Path) -> None:
    time, salt = "2026-01-01T00:00:00+00:00", "0" * 32
    window = {"goal": "Größe prüfen", "prev_window_hash": None}
    digest = hash_window(window_text(window), time, salt)
    entry = {"timestamp": time, "salt": salt, "window_hash": digest, "status_window": window}
    file = tmp_path / "history.json"
    file.write_text(json.dumps([entry]), encoding="utf-8")
    assert status("import", file).out == "Imported: 1 entry, 0 known already (total: 1)\n"
    assert status("import", file, "--json").json()["known"] == 1
    (listed,) = status("list", "--windows", "--json").json()
    assert listed["status_window"] == {**window, "window_hash": digest}
    assert status("verify").code == 0
