"""Programs of other people, once directly at a provider and once through `mentis record`: the same
bytes arrive, and the record has them.

What a program makes up itself (ids, times, the order of a hash map) is found by running it twice
directly: in those places shapes are compared, and everywhere else the bytes or values.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.programs.jobs import JOBS, KEY, Job, Provider
from tests.programs.stub import ANSWER, Arrival, arrivals, stub_provider

from mentis.home.create import create_home

pytestmark = pytest.mark.slow
# Names, numbers and ids that have a digit in them: those that a program makes up do.
_MADE_UP = re.compile(r"[A-Za-z0-9_.:-]*\d[A-Za-z0-9_.:-]*")


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_a_program_sends_the_same_through_the_recorder(job: Job, tmp_path: Path) -> None:
    house, folder = create_home(tmp_path / "house"), tmp_path / "user"
    with stub_provider() as upstream:
        provider, sent, done = Provider(upstream.url), list[list[Arrival]](), list[_Done]()
        recorded = [
            sys.executable,
            "-m",
            "mentis",
            "--home",
            str(house),
            "record",
            "--as",
            "other",
            "--",
        ]
        for before in ([], [], recorded):
            upstream.received.clear()
            done.append(job.run(folder, provider, *before))
            sent.append(_questions(arrivals(upstream)))
    direct, again, through = done
    assert direct.returncode == again.returncode == through.returncode == 0, through.stderr
    assert ANSWER in direct.stdout
    assert ANSWER in through.stdout
    assert [(one.method, one.path) for one in sent[2]] == [
        (one.method, one.path) for one in sent[0]
    ]
    assert sent[0]
    for first, second, last in zip(*sent, strict=True):
        if first.body == second.body:
            assert last.body == first.body
        else:
            assert _compared(last.json, first.json, second.json) == _steady(first.json, second.json)

    agent, count = "recorded/other", len(sent[2])
    listed = json.loads(_mentis(house, "sessions", "list", "--persona", agent, "--json"))
    assert sum(one["sum"]["calls"] for one in listed) == count
    verdict = _mentis(house, "status", "verify", "--persona", agent)
    found = re.match(rf"ok  {agent}: (\d+) entr", verdict)
    assert found, verdict
    assert int(found[1]) >= count
    assert KEY.encode() not in b"".join(
        one.read_bytes() for one in house.rglob("*") if one.is_file()
    )


_Done = subprocess.CompletedProcess[str]


def _questions(arrived: list[Arrival]) -> list[Arrival]:
    """Those to a model, in an order of their own: a program may ask two things at once. That one
    first tries a WebSocket is its way of asking, and a recorder may answer that itself.
    """
    asked = [one for one in arrived if one.method == "POST"]
    return sorted(asked, key=lambda one: (one.path, str(one.json.get("model"))))


def _steady(first: Any, second: Any) -> Any:  # noqa: ANN401  # JSON
    """What two direct runs have in common; where they differ, the shape of it."""
    return _compared(first, first, second)


def _compared(value: Any, first: Any, second: Any) -> Any:  # noqa: ANN401  # JSON
    """`value` with shapes in those places where the other two differ."""
    kinds = [isinstance(one, dict) for one in (value, first, second)]
    if all(kinds) and first.keys() == second.keys():
        return {key: _compared(one, first.get(key), second.get(key)) for key, one in value.items()}
    kinds = [isinstance(one, list) for one in (value, first, second)]
    if all(kinds) and len(value) == len(first) == len(second):
        return [_compared(*those) for those in zip(value, first, second, strict=True)]
    return value if first == second else _shape(value)


def _shape(value: object) -> object:
    """Its type; of a text also the words that nobody makes up, in any order."""
    if isinstance(value, str):
        return sorted(re.split(r"[^\w#]+", _MADE_UP.sub("#", value)))
    return type(value).__name__


def test_only_what_a_program_makes_up_is_compared_by_its_shape() -> None:
    first = {"id": "msg_4a", "at": 1.5, "text": "Two", "in": [{"key": "k-1"}]}
    second = {**first, "id": "msg_77", "at": 2.5}
    wanted = _steady(first, second)
    assert _compared({**first, "id": "msg_9", "at": 7.0}, first, second) == wanted
    changes: list[dict[str, object]] = [
        {"id": "Other"},
        {"at": "7.0"},
        {"text": "two"},
        {"in": []},
        {"more": 1},
    ]
    for change in changes:
        assert _compared({**first, **change}, first, second) != wanted


def _mentis(home: Path, *args: str) -> str:
    command = [sys.executable, "-m", "mentis", "--home", str(home), *args]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
