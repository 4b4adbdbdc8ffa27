from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.compose.transcript import Unread, read_transcript
from mentis.values.trust import Trust

NAMES = ("Ada", "ada-1")


@pytest.mark.parametrize(
    ("line", "role", "text", "trust"),
    [
        ('[01/01/26:1200] Robin: "Hi"', "user", "Hi", Trust.UNTRUSTED),
        ('[t] ADA: "Hey"', "assistant", "Hey", Trust.UNTRUSTED),
        ('[t] Self: "Hm"', "assistant", "Hm", Trust.UNTRUSTED),
        ('[t] ada-1 : "Hm"', "assistant", "Hm", Trust.UNTRUSTED),
        (
            "[from mail/9] [t] Robin (replying to Ada): \"a: 'b'\nc\"",
            "user",
            "a: 'b'\nc",
            Trust.UNTRUSTED,
        ),
        ('[t] Al Green [replied]: "x"', "user", "Al Green: x", Trust.UNTRUSTED),
    ],
)
def test_a_line_becomes_a_turn(line: str, role: str, text: str, trust: Trust) -> None:
    read = read_transcript([line], NAMES, owner="Robin")
    (turn,) = read.turns
    assert (turn.role, turn.text, turn.lineage) == (role, text, trust)
    assert read.unread == ()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[diary 1] summary: x | thought: y", 'not of the form [time] sender: "text"'),
        ('[a time] Robin: "x"', 'not of the form [time] sender: "text"'),
        ("", 'not of the form [time] sender: "text"'),
        ('[t] Robin: " "', "nothing was said"),
    ],
)
def test_a_line_of_another_form_is_named(line: str, reason: str) -> None:
    assert read_transcript([line], NAMES).unread == (Unread(1, line, reason),)


@given(st.lists(st.text('[]ab :"(\n)t', max_size=24)))
def test_every_line_is_a_turn_or_named(lines: list[str]) -> None:
    read = read_transcript(lines, NAMES)
    assert len(read.turns) + len(read.unread) == len(lines)
    assert all(lines[one.number - 1] == one.line for one in read.unread)
