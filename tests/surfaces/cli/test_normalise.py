"""`mentis normalise` on every kind of recording."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Protocol, cast

import pytest

RECORDED = Path(__file__).parents[2] / "settle/recorded"


class Done(Protocol):
    code: int
    out: str
    err: str


Mentis = Callable[..., Done]
WIRES = ["openai-chat", "openai-responses", "anthropic", "gemini"]


def actions_in(done: Done) -> list[str]:
    answer = cast("dict[str, list[dict[str, str]]]", json.loads(done.out))
    return [action["type"] for action in answer["actions"]]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("kind", ["sse", "json"])
def test_events_and_whole_bodies_of_every_format_are_read(
    wire: str, kind: str, mentis: Mentis
) -> None:
    done = mentis("normalise", RECORDED / f"{wire}.{kind}", "--provider", wire, "--json")
    assert (done.code, actions_in(done)) == (0, ["get_weather", "list_files"])


def test_json_lines_arrays_and_standard_input_are_read(
    mentis: Mentis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = RECORDED / "gemini-array.json"
    done = mentis("normalise", array, "--provider", "gemini", "--json")
    assert actions_in(done) == ["get_weather", "list_files"]
    events = [json.dumps(event) for event in json.loads(array.read_text(encoding="utf-8"))]
    lines = tmp_path / "lines.jsonl"
    lines.write_text("\n".join(events), encoding="utf-8")
    again = mentis("normalise", lines, "--provider", "gemini", "--json")
    assert actions_in(again) == ["get_weather", "list_files"]
    stream = SimpleNamespace(buffer=io.BytesIO(lines.read_bytes()), isatty=lambda: False)
    monkeypatch.setattr("sys.stdin", stream)
    assert mentis("normalise", "-", "--provider", "gemini").code == 0


def test_text_is_read_with_the_tools_that_were_offered(mentis: Mentis, tmp_path: Path) -> None:
    file = tmp_path / "answer.txt"
    file.write_text('Sure. <tool_call>{"name": "look", "arguments": {}}</tool_call>')
    plain = mentis("normalise", file, "--provider", "text", "--json")
    assert actions_in(plain) == []
    offered = mentis("normalise", file, "--provider", "text", "--tool", "look")
    assert (offered.code, offered.out.startswith("Sure.\n")) == (0, True)
    assert "recovered" in offered.out
    assert "[leaked-call]" in offered.err


@pytest.mark.parametrize(
    "content",
    [b"", b"<html>502</html>", b'{"error": {"message": "no"}}', b"\xff\xfe", b"data: {\n\n"],
)
def test_what_is_no_answer_fails_and_says_why(
    content: bytes, mentis: Mentis, tmp_path: Path
) -> None:
    file = tmp_path / "answer"
    file.write_bytes(content)
    done = mentis("normalise", file, "--provider", "openai-chat")
    assert done.code == 1
    assert "error: " in done.err


def test_a_file_that_is_not_there_is_named(mentis: Mentis, tmp_path: Path) -> None:
    done = mentis("normalise", tmp_path / "none", "--provider", "text")
    assert (done.code, "cannot be read" in done.err) == (2, True)


def test_a_text_that_begins_like_an_event_stays_as_it_is(mentis: Mentis, tmp_path: Path) -> None:
    file = tmp_path / "answer.txt"
    file.write_text("data: the plural of datum\n")
    done = mentis("normalise", file, "--provider", "text")
    assert (done.code, done.out.strip()) == (0, "data: the plural of datum")


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_that_was_cut_off_is_shown_and_fails(
    wire: str, mentis: Mentis, tmp_path: Path
) -> None:
    events = (RECORDED / f"{wire}.sse").read_text(encoding="utf-8").split("\n\n")
    file = tmp_path / "answer.sse"
    file.write_text("\n\n".join(events[: len(events) // 2]), encoding="utf-8")
    done = mentis("normalise", file, "--provider", wire)
    assert done.code == 1
    assert "ends before the answer does" in done.err
    assert "stop: cut_off" in done.err
