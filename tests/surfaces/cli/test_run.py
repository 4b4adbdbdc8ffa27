"""`mentis run` and `mentis sense`, from the command line."""

from __future__ import annotations

import json
import signal
import socket
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mentis.home.system import SystemClock
from mentis.loop.aside import open_asides
from mentis.record.leases import leased
from mentis.settle.output_ir import write_output_ir
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.cognition import Sense

from .conftest import Mentis

Start = Callable[..., subprocess.Popen[str]]
GOAL = {
    "op": "sprout",
    "parent_node_id": "user-root",
    "node_id": "umbrella",
    "summary": "Find the umbrella",
    "weight": 5,
}
QUIET = write_output_ir({"acts": [], "goal-tree-patch": [], "l1-memory-patch": []})
WANTING = write_output_ir({"acts": [], "goal-tree-patch": [GOAL], "l1-memory-patch": []})


@pytest.fixture
def living(home: Path) -> Path:
    """A home whose primary finds a goal first and is quiet from then on."""
    told = f"""
[routes.primary]
backend = "scripted"
replies = {json.dumps([WANTING, *[QUIET] * 9])}
facts = {{native_tools = false}}

[run]
proactive = 5
"""
    toml = home / "mentis.toml"
    toml.write_text(toml.read_text(encoding="utf-8") + told, encoding="utf-8")
    return home


def test_what_is_added_is_taken_and_goals_are_thought_of_every_so_many_ticks(
    mentis: Mentis, living: Path
) -> None:
    added = mentis("--home", living, "sense", "add", "It rains.", "--json")
    assert (added.code, set(added.json())) == (0, {"queued", "waiting"})
    assert "It rains." in mentis("--home", living, "sense", "list").out
    done = mentis("--home", living, "run", "--interval", "0", "--ticks", "11", "--json")
    report: Any = done.json()
    assert done.code == 0, done.err
    # The sense, then the goal that came of it after every fifth tick.
    assert (report["thought"], report["idle"], report["senses"]) == (3, 8, 1)
    assert (report["patches"], report["stopped"]) == (1, "ticks")
    assert mentis("--home", living, "sense", "list").out == ""
    shown = mentis("--home", living, "run", "--interval", "0", "--ticks", "1")
    assert shown.out.splitlines()[0] == "ticks    1: 0 thought, 1 idle"


def test_an_agent_with_drives_and_no_goals_starts_by_itself(mentis: Mentis, living: Path) -> None:
    toml = living / "mentis.toml"
    told = toml.read_text(encoding="utf-8").replace("proactive = 5", "proactive = 1")
    toml.write_text(f'{told}\n[cortex]\ndrives = ["Learn."]\n', encoding="utf-8")
    done = mentis("--home", living, "run", "--interval", "0", "--ticks", "4")
    assert done.out.splitlines()[0] == "ticks    4: 4 thought, 0 idle"


def test_a_budget_ends_it_with_exit_code_1_and_says_which(mentis: Mentis, living: Path) -> None:
    mentis("--home", living, "sense", "add", "It rains.")
    with (living / "mentis.toml").open("a", encoding="utf-8") as toml:
        toml.write("[budgets]\nday_tokens = 20\n")
    done = mentis("--home", living, "run", "--interval", "0", "--ticks", "3")
    assert done.code == 1
    assert "budgets.day_tokens" in done.err


def test_a_sense_is_one_thing_and_the_folder_is_bounded(mentis: Mentis, living: Path) -> None:
    assert mentis("--home", living, "sense", "add").code == 2
    with (living / "mentis.toml").open("a", encoding="utf-8") as toml:
        toml.write("waiting = 1\n")
    text = living / "mail.txt"
    text.write_text("Dear Ada,", encoding="utf-8")
    assert mentis("--home", living, "sense", "add", "--file", text).code == 0
    full = mentis("--home", living, "sense", "add", "More.")
    assert (full.code, "wait already" in full.err) == (2, True)
    assert mentis("--home", living, "run", "--folder", living / "nowhere").code == 1


def test_a_number_or_a_text_that_is_none_is_refused_in_one_line(
    mentis: Mentis, living: Path
) -> None:
    interval = mentis("--home", living, "run", "--interval", "nan", "--ticks", "1")
    assert (interval.code, "nan is no interval" in interval.err) == (2, True)
    added = mentis("--home", living, "sense", "add", "\udc80bad")
    assert (added.code, "UTF-8" in added.err) == (1, True)
    odd = living / "mail\udc80.txt"
    odd.write_text("Dear Ada,", encoding="utf-8")
    assert mentis("--home", living, "sense", "add", "--file", odd).code == 0
    waits: Any = mentis("--home", living, "sense", "list", "--json").json()
    assert json.loads(waits[0]["content"])["payload"]["name"] == r"mail\udc80.txt"


def test_what_is_refused_is_told_while_it_runs(
    process: Start, living: Path, tmp_path: Path
) -> None:
    (tmp_path / "inbox").mkdir()
    (tmp_path / "inbox" / "mail.txt").write_bytes(b"\xff\xfe\x00")
    running = process("--home", living, "run", "--folder", tmp_path / "inbox", "--interval", "0.05")
    assert running.stderr is not None
    assert "lives" in running.stderr.readline()
    assert running.stderr.readline().startswith("refused mail.txt")
    running.send_signal(signal.SIGTERM)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    assert "refused  1" in out


def test_a_process_takes_senses_from_its_socket_and_ends_cleanly_on_sigterm(
    process: Start, living: Path, tmp_path: Path
) -> None:
    path = tmp_path / "s"
    running = process("--home", living, "run", "--interval", "0.05", "--socket", path, "--json")
    assert running.stderr is not None
    assert "lives" in running.stderr.readline()
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(60)
        while True:
            try:
                client.connect(str(path))
                break
            except (FileNotFoundError, ConnectionRefusedError):
                assert running.poll() is None, running.stderr.read()
        assert stat.S_IMODE(path.lstat().st_mode) == 0o600
        client.sendall(b'{"text": "It rains.", "id": "one"}\n[]\n{"trust": "owner"}\n')
        said = _lines(client, 3)
        assert {"taken": "one"} in said
        assert sum("refused" in one for one in said) == 2
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=60)
    report = json.loads(out)
    assert running.returncode == 0, err
    assert (report["stopped"], report["senses"]) == ("asked", 1)
    assert not path.exists()


def _lines(client: socket.socket, count: int) -> list[Any]:
    with client.makefile(encoding="utf-8") as stream:
        return [json.loads(stream.readline()) for _ in range(count)]


def test_what_was_set_aside_is_listed_given_again_or_dropped(mentis: Mentis, living: Path) -> None:
    with open_asides(living) as asides:
        for name in ("one", "two"):
            told = Sense(name, "input", {"text": f"This is {name}."}, endpoint="cli")
            asides.add(told, failures=3, reason="provider-refused: no\n")
    listed = mentis("--home", living, "sense", "failed")
    assert [line.split()[0] for line in listed.out.splitlines()[2:]] == ["one", "two"]
    assert listed.out.splitlines()[2].split()[3:] == ["3", "provider-refused:", "no\\n"]
    assert mentis("--home", living, "sense", "aside").out == listed.out  # the older name
    assert mentis("--home", living, "sense", "again", "three").code == 2
    assert mentis("--home", living, "sense", "drop", "two", "--json").json() == {"dropped": "two"}
    for command in ("again", "drop"):  # an unset variable is nobody's name, also of the only one
        assert mentis("--home", living, "sense", command, "").code == 2
    assert mentis("--home", living, "sense", "again", "one", "--json").code == 0
    assert "This is one." in mentis("--home", living, "sense", "list").out
    assert mentis("--home", living, "sense", "aside", "--json").json() == []


def test_what_an_act_brought_and_was_set_aside_can_be_given_again(
    mentis: Mentis, living: Path, tmp_path: Path
) -> None:
    with open_asides(living) as asides:
        for name in ("k1", "k2"):
            told = Sense(f"act.result:{name}", "act.result", {"key": name, "text": f"page {name}"})
            asides.put((told,), (), failures=3, reason="provider-refused: no")
    assert mentis("--home", living, "sense", "again", "act.result:k1").code == 0
    assert mentis("--home", living, "sense", "drop", "act.result:k2").code == 0
    events = tmp_path / "events.jsonl"
    done = mentis("--home", living, "run", "--ticks", "1", "--events", events, "--json")
    assert (done.code, done.json()["senses"], done.json()["refusals"]) == (0, 1, 0), done.err
    assert "page k1" in events.read_text(encoding="utf-8")
    assert mentis("--home", living, "sense", "aside", "--json").json() == []


def test_what_is_done_between_ticks_is_told(mentis: Mentis, living: Path) -> None:
    with (living / "mentis.toml").open("a", encoding="utf-8") as toml:
        toml.write("[beats]\nenabled = true\nweights = {curiosity = 1.0}\n")
    done = mentis("--home", living, "run", "--interval", "0", "--ticks", "1", "--json")
    assert done.code == 0, done.err
    assert "beat: curiosity [entry 0]" in done.err
    assert done.json()["beats"] == 1


def test_who_is_not_the_only_one_does_not_say_that_it_lives(mentis: Mentis, living: Path) -> None:
    with Database(living / "mentis.db") as database:
        ledger = SqliteLedger(database)
        with leased(ledger, SystemClock(), "home/ada", "run"):
            done = mentis("--home", living, "run", "--ticks", "1")
    assert (done.code, "run already by" in done.err) == (1, True)
    assert "lives" not in done.err
    assert "home/ada lives" in mentis("--home", living, "run", "--ticks", "1").err
