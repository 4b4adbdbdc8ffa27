"""`mentis record`, as a process in front of another one, on loopback."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import httpx2
import pytest

from mentis.home.create import create_home

from .conftest import JSON, PATIENCE, Received, Upstream, upstream_server

PROGRAM = """
import os, sys
import httpx2
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
messages = []
for number in range(int(sys.argv[1])):
    messages.append({"role": "user", "content": f"question {number}"})
    system = [{"type": "text", "text": f"It is {number}. " + "Be brief. " * 400,
               "cache_control": {"type": "ephemeral"}}]
    body = {"model": sys.argv[2], "max_tokens": 5, "system": system, "messages": messages}
    answer = httpx2.post(url, json=body, headers={"x-api-key": "the-key-of-the-program"})
    messages.append({"role": "assistant", "content": answer.json()["content"][0]["text"]})
print("the program says this")
sys.exit(7)
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "house")


def messages_answer(request: Received, out: BinaryIO) -> None:
    asked: dict[str, Any] = json.loads(request.body)
    usage = {"input_tokens": 2000, "output_tokens": 3, "cache_read_input_tokens": 0}
    told = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": asked["model"],
        "content": [{"type": "text", "text": "Yes."}],
        "stop_reason": "end_turn",
        "usage": usage,
    }
    body = json.dumps(told).encode()
    out.write(JSON % (len(body), body))


def environ_for(upstream: Upstream) -> dict[str, str]:
    proxies = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    kept = {name: text for name, text in os.environ.items() if name.upper() not in proxies}
    return {**kept, "ANTHROPIC_BASE_URL": upstream.url}


def mentis(home: Path, *args: str, environ: dict[str, str] | None = None) -> Any:  # noqa: ANN401  # a process with text
    command = [sys.executable, "-m", "mentis", "--home", str(home), *args]
    return subprocess.run(
        command, env=environ, check=False, capture_output=True, text=True, timeout=120
    )


@pytest.mark.slow
def test_a_program_is_recorded_with_its_exit_code_passed_on_and_a_sum_at_the_end(
    home: Path,
) -> None:
    with upstream_server() as upstream:
        upstream.answer = messages_answer
        program = [sys.executable, "-c", PROGRAM, "3", "claude-sonnet-5"]
        environ = environ_for(upstream)
        done = mentis(home, "record", "--as", "tester", "--", *program, environ=environ)
        assert [one.line for one in upstream.received] == ["POST /v1/messages HTTP/1.1"] * 3
    assert done.returncode == 7, done.stderr
    assert done.stdout == "the program says this\n"
    assert "recorded/tester: 3 calls (3 to a model) in 1 session" in done.stderr
    assert "tokens: 6000 in (0 from cache, 0 written to it), 9 out" in done.stderr
    assert "cost: $0.0" in done.stderr or "cost: unknown price" in done.stderr
    assert "cache: 4000 tokens read again in 2 calls" in done.stderr
    assert "keep system block 0 the same from call to call" in done.stderr
    assert b"the-key-of-the-program" not in b"".join(
        file.read_bytes() for file in home.rglob("*") if file.is_file()
    )
    verdict = mentis(home, "status", "verify", "--persona", "recorded/tester")
    assert verdict.returncode == 0
    assert verdict.stdout.startswith("ok  recorded/tester: 3 entries")
    listed = json.loads(
        mentis(home, "sessions", "list", "--persona", "recorded/tester", "--json").stdout
    )
    assert [(one["sum"]["calls"], one["threads"]) for one in listed] == [(3, 1)]
    shown = mentis(home, "sessions", "show", listed[0]["name"], "--persona", "recorded/tester")
    assert "2000: system block 0" in " ".join(shown.stdout.split())
    for chosen in ((), ("--persona", "recorded/tester")):
        cost = json.loads(mentis(home, "cost", "--json", *chosen).stdout)
        assert (cost["total"]["calls"], cost["total"]["input"]) == (3, 6000)


def test_what_has_no_price_is_never_told_as_nothing(home: Path) -> None:
    with upstream_server() as upstream:
        upstream.answer = messages_answer
        program = [sys.executable, "-c", PROGRAM, "1", "a-model-nobody-knows"]
        done = mentis(home, "record", "--json", "--", *program, environ=environ_for(upstream))
    assert done.returncode == 7
    told = json.loads(done.stdout.removeprefix("the program says this\n"))
    assert (told["agent"].partition("/")[0], told["unpriced"], told["usd"]) == ("recorded", 1, "0")
    assert "a-model-nobody-knows" in told["why"] or "no price table" in told["why"]


def test_a_program_that_is_not_there_is_told_with_the_code_of_a_shell(home: Path) -> None:
    done = mentis(home, "record", "--", "no-such-program-anywhere")
    assert done.returncode == 127
    assert "there is no program 'no-such-program-anywhere'" in done.stderr


def test_a_program_that_a_signal_ended_is_told_as_a_shell_would(home: Path) -> None:
    program = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    done = mentis(home, "record", "--", sys.executable, "-c", program)
    assert done.returncode == 128 + signal.SIGKILL


def test_without_a_home_nothing_is_started(tmp_path: Path) -> None:
    done = mentis(tmp_path / "none", "record", "--", sys.executable, "-c", "print(1)")
    assert (done.returncode, done.stdout) == (1, "")
    assert "home-missing" in done.stderr


@contextmanager
def _ended(process: subprocess.Popen[str]) -> Generator[None]:
    """Whatever a test finds, nobody waits for a program that stands by."""
    try:
        yield
    finally:
        process.kill()


def test_it_stands_by_until_it_is_told_to_stop(home: Path) -> None:
    with upstream_server() as upstream:
        upstream.answer = messages_answer
        settings = home / "mentis.toml"
        more = f'\n[recorder.targets]\nstub = "{upstream.url}"\n'
        settings.write_text(settings.read_text("utf-8") + more, encoding="utf-8")
        command = [sys.executable, "-m", "mentis", "--home", str(home), "record", "--port", "0"]
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        with (
            subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process,
            _ended(process),
        ):
            signal.signal(signal.SIGINT, before)
            assert process.stderr is not None
            head = [process.stderr.readline() for _ in range(8)]
            found = re.search(r"ANTHROPIC_BASE_URL=(http://\S+)/anthropic\n", "".join(head))
            assert found, head
            body = {"model": "claude-sonnet-5", "messages": [{"role": "user", "content": "hi"}]}
            got = httpx2.post(f"{found[1]}/stub/v1/messages", json=body, trust_env=False)
            assert got.json()["content"][0]["text"] == "Yes."
            assert process.stderr.readline().startswith("[0]  stub  claude-sonnet-5  200  2000 in")
            process.send_signal(signal.SIGINT)
            rest = process.stderr.read()
            assert process.wait(PATIENCE) == 0
    assert "recorded/program: 1 call (1 to a model) in 1 session" in rest
