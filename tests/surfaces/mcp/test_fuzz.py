"""What no client would send: the server answers in its protocol, and is there afterwards."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from mentis.status.statuses import open_statuses

from .conftest import Json, Lines, window

ROUNDS = 300
METHODS = ("tools/call", "tools/list", "prompts/get", "prompts/list", "resources/read", "ping", "x")
ODD: tuple[Any, ...] = (
    None, True, -1, 1e308, "", "\0", "\ud83d\ude00" * 40, "../../etc/passwd", "{{persona}}",
    [], {}, [[[[]]]], {"": {"": {}}}, "a" * 5_000, {"status_window": []}, "' OR 1=1 --",
)  # fmt: skip
NAMES = ("name", "arguments", "uri", "cursor", "_meta", "status_window", "query", "session", "")


def odd_message(chance: random.Random, number: int) -> bytes:
    """A request with anything in it, and sometimes no request at all."""
    params = {chance.choice(NAMES): chance.choice(ODD) for _ in range(chance.randrange(4))}
    tools = ("save_status", "status_stats", "verify_status", "search_memories", 7)
    if chance.random() < 0.5:
        params = {"name": chance.choice(tools), "arguments": params}
    message: Json = {"jsonrpc": "2.0", "id": 1_000 + number, "method": chance.choice(METHODS)}
    message["params"] = chance.choice((params, params, params, chance.choice(ODD)))
    if chance.random() < 0.2:
        message[chance.choice(("id", "jsonrpc", "method", "params"))] = chance.choice(ODD)
    line = json.dumps(message).encode()
    if chance.random() < 0.2:
        place = chance.randrange(len(line))
        line = line[:place] + bytes([chance.choice(b'"{}[],\x00\xff\\')]) + line[place + 1 :]
    return line.replace(b"\n", b" ")


def test_whatever_a_client_sends_it_is_answered_in_the_protocol_and_nothing_is_broken(
    lines: Lines, home: Path
) -> None:
    chance = random.Random(22)  # noqa: S311 - the same ones each time
    lines.begin()
    sent = [odd_message(chance, number) for number in range(ROUNDS)]
    arguments = {"status_window": window()}
    asked = {"name": "save_status", "arguments": arguments}
    last = {"jsonrpc": "2.0", "id": "last", "method": "tools/call", "params": asked}
    out, err = lines.process.communicate(
        b"\n".join([*sent, json.dumps(last).encode(), b""]), timeout=300
    )
    answers = [json.loads(line) for line in out.splitlines()]
    assert lines.process.returncode == 0
    assert err == b""
    assert {answer["jsonrpc"] for answer in answers} == {"2.0"}
    (saved,) = (answer for answer in answers if answer.get("id") == "last")
    assert not saved["result"].get("isError")
    assert len(answers) > ROUNDS / 2
    with open_statuses(home) as statuses:
        assert statuses.verify().intact
