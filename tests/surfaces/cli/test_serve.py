"""`mentis serve` as a real process."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from openai import OpenAI

from mentis.web.tokens import open_tokens

from .conftest import Mentis

Process = Callable[..., subprocess.Popen[str]]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_home_is_served_until_a_signal_ends_it(
    home: Path, process: Process, number: signal.Signals
) -> None:
    token = open_tokens(home).new("laptop")
    running = process("serve", "--port", "0", "--home", home)
    assert running.stdout is not None
    address = running.stdout.readline().strip()
    with OpenAI(base_url=f"{address}/v1", api_key=token, max_retries=0) as client:
        persona = client.models.list().data[0].id
        answer = client.responses.create(model=persona, input="Hello!")
    assert answer.output_text == "One."
    assert httpx2.get(f"{address}/readyz").json() == {"status": "ready"}
    running.send_signal(number)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 0, told
    lines = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
    assert [(line["path"], line["status"]) for line in lines] == [
        ("/v1/models", 200),
        ("/v1/responses", 200),
        ("/readyz", 200),
    ]
    assert lines[1]["token"] == "laptop"  # noqa: S105  # its name
    assert "Hello!" not in told


def test_a_port_that_is_taken_is_told(home: Path, mentis: Mentis, process: Process) -> None:
    first = process("serve", "--port", "0", "--no-log", "--home", home)
    assert first.stdout is not None
    port = first.stdout.readline().strip().rpartition(":")[2]
    second = mentis("serve", "--port", port, "--home", home)
    first.terminate()
    first.communicate(timeout=60)
    assert (second.code, "cannot listen" in second.err) == (1, True)


def test_a_route_that_is_not_there_is_told_before_anybody_comes(home: Path, mentis: Mentis) -> None:
    refused = mentis("serve", "--route", "nowhere", "--port", "0", "--home", home)
    assert (refused.code, "there is no route 'nowhere'" in refused.err) == (1, True)
