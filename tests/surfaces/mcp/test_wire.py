"""The bytes on both pipes: only protocol goes out, and the process ends as it should."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mentis.status.statuses import open_statuses

from .conftest import HELLO, Json, Lines, window


def test_every_line_on_standard_output_is_json_rpc(lines: Lines) -> None:
    lines.send("initialize", **HELLO)
    lines.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    lines.write(b"")
    for broken in (b"not json", b'{"a": ', b"\xff\xfe", b"[" * 10_000):
        lines.write(broken)
    lines.write(b'{"id": 77, "method": "tools/list"}')
    lines.send("tools/list")
    lines.send("tools/call", name="save_status", arguments={"status_window": {}})
    lines.send("tools/call", name="status_stats", arguments={})
    lines.send("no/such/method")
    code, out, err = lines.finish()  # the client leaves: what it asked is answered first
    assert code == 0
    assert err == ""
    answers = [json.loads(line) for line in out.splitlines()]
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    errors = {answer["id"]: answer["error"]["code"] for answer in answers if "error" in answer}
    assert errors == {None: -32700, 77: -32600, 5: -32601}
    assert sum(answer["id"] is None for answer in answers) == 4
    assert {1, 2, 3, 4} <= {answer["id"] for answer in answers if "result" in answer}


def test_a_draft_that_names_a_key_twice_is_refused(lines: Lines, home: Path) -> None:
    text = json.dumps(window())[:-1] + ', "goal": "Another one"}'
    call = '"method":"tools/call","params":{"name":"save_status","arguments":{"status_window":%s}}'
    lines.begin().write((f'{{"jsonrpc":"2.0","id":9,{call % text}}}').encode())
    answer = lines.read()["result"]
    assert answer["isError"]
    assert "goal" in answer["content"][0]["text"]
    with open_statuses(home) as statuses:
        assert statuses.stats().total_entries == 0


def test_a_draft_that_is_too_large_gets_an_answer(lines: Lines) -> None:
    answer = lines.begin().save(window(goal="x" * 3_000_000))
    assert answer["isError"]
    assert "bytes" in answer["content"][0]["text"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_although_the_client_stays(lines: Lines, number: signal.Signals) -> None:
    lines.begin()
    lines.process.send_signal(number)
    assert lines.process.wait(timeout=60) == 0
    assert lines.finish()[1:] == (b"", "")


def test_a_signal_ends_it_although_the_client_does_not_read(lines: Lines) -> None:
    lines.begin()
    for _ in range(50):  # far more than a pipe holds
        lines.send("tools/list")
    assert lines.process.stdout is not None
    assert lines.process.stdout.read(1) == b"{"  # it has begun to answer
    lines.process.send_signal(signal.SIGTERM)
    assert lines.process.wait(timeout=60) == 0


def test_a_client_that_closed_its_end_ends_it(lines: Lines) -> None:
    lines.begin()
    assert lines.process.stdout is not None
    lines.process.stdout.close()
    lines.send("tools/list")
    assert lines.process.wait(timeout=60) == 0


def test_killed_in_the_middle_it_leaves_every_acknowledged_entry(lines: Lines, home: Path) -> None:
    lines.begin()
    acknowledged = [lines.save(window(actions=[f"Do {n}"])) for n in range(3)]
    for number in range(20):
        arguments = {"status_window": window(actions=[f"Do more {number}"])}
        lines.send("tools/call", name="save_status", arguments=arguments)
    lines.read()
    lines.process.kill()
    lines.process.wait()
    with open_statuses(home) as statuses:
        assert statuses.verify().intact
        kept = [entry.hash for entry in statuses.entries()]
    assert kept[:3] == [answer["structuredContent"]["hash"] for answer in acknowledged]
    assert 4 <= len(kept) <= 23


def test_it_serves_from_a_file_into_a_file(home: Path, tmp_path: Path) -> None:
    call: Json = {"name": "latest_status"}
    asked: list[Json] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    (tmp_path / "in").write_text("\n".join(map(json.dumps, asked)), encoding="utf-8")
    command = [sys.executable, "-m", "mentis", "--home", str(home), "mcp"]
    with (tmp_path / "in").open() as source, (tmp_path / "out").open("w") as target:
        subprocess.run(command, stdin=source, stdout=target, check=True)
    answers = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[1]["result"]["structuredContent"]["statuses"] == []


def test_without_a_home_it_says_so_and_writes_nothing_on_the_wire(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mentis", "--home", str(tmp_path / "none"), "mcp"]
    done = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no home here [home-missing]" in done.stderr
    assert "hint: make one with" in done.stderr


def test_what_others_print_goes_to_standard_error() -> None:
    script = """
import os
from mentis.surfaces.mcp.wire import claimed_ends

with claimed_ends() as ends:
    print("talk from Python")
    os.write(1, b"talk from below\\n")
    os.write(ends.writer, os.read(ends.reader, 100))
    assert os.read(0, 1) == b""
print("afterwards")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], input="wire\n", capture_output=True, text=True, check=True
    )
    assert done.stdout == "wire\nafterwards\n"
    assert sorted(done.stderr.splitlines()) == ["talk from Python", "talk from below"]
