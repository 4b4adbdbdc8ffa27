"""Whatever enters as JSON has one meaning, at every door: what has none or several is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from mentis.act.mcp.process import _parsed as read_mcp_answer  # pyright: ignore[reportPrivateUsage]
from mentis.errors import BadInput, RequestRefused
from mentis.exchange.memory_lines import read_lines
from mentis.loop.given import read_object
from mentis.surfaces.api.operation import Given
from mentis.surfaces.api.reading import read_body
from mentis.surfaces.serve.fields import read_json

# In place of a member: a key twice, what is no number, and what a double cannot hold.
AMBIGUOUS = {
    '"text": "a", "text": "b"': "the key 'text' stands there twice",
    '"text": NaN': "NaN is not a JSON number",
    '"text": 1e999': "1e999 is too large for a number",
    '"text": 9007199254740993': "the integer is beyond 2^53-1",
    '"text": "\\ud800"': "the text holds a lone surrogate",
}
members = pytest.mark.parametrize(("member", "reason"), AMBIGUOUS.items(), ids=list("abcde"))


class Done(Protocol):
    code: int
    err: str


Mentis = Callable[..., Done]


def read_as_body(text: str) -> object:
    return read_body(Given, text.encode(), "application/json")


def read_as_completion(text: str) -> object:
    return read_json(text.encode())


def read_as_memories(text: str) -> object:
    return read_lines(text.encode(), most_bytes=10**6)


@members
@pytest.mark.parametrize("read", [read_object, read_as_body, read_as_completion, read_as_memories])
def test_a_program_that_sends_it_is_told_what_is_wrong(
    read: Callable[[str], object], member: str, reason: str
) -> None:
    with pytest.raises((BadInput, RequestRefused)) as refused:
        read(f"{{{member}}}")
    assert reason in refused.value.message


COMMANDS = [
    ("tick", "--sense", "FILE"),
    ("chat", "Hello", "--schema", "FILE"),
    ("chat", "Hello", "--tools", "FILE"),
    ("chat", "Hello", "--set", "body.x=JSON"),
    ("tools", "call", "note", "JSON"),
    ("memory", "import", "FILE"),
    ("prompts", "edit", "style", "--set", "order=JSON"),
]


@members
def test_a_command_that_is_given_it_refuses(
    mentis: Mentis, home: Path, member: str, reason: str
) -> None:
    text = f"{{{member}}}"
    file = home.parent / "given.json"
    file.write_text(text, encoding="utf-8")
    for command in COMMANDS:
        given = [one.replace("JSON", text) if one != "FILE" else file for one in command]
        done = mentis("--home", home, *given)
        assert (command, done.code in (1, 2), reason in done.err) == (command, True, True)


@members
def test_a_server_of_tools_that_answers_with_it_has_not_answered(member: str, reason: str) -> None:
    line = f'{{"jsonrpc": "2.0", "id": 7, "result": {{{member}}}}}'
    told = read_mcp_answer(line.encode()).model_dump()
    assert told["id"] == 7
    assert reason in told["error"]["message"]
