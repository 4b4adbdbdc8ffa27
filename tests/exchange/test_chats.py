"""Chats of SillyTavern are read line by line, and a line that cannot be is named."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.errors import BadInput
from mentis.exchange.chats import LONGEST_LINE, is_chat, read_chat

HEADER = {"user_name": "Lena", "character_name": "Ada", "chat_metadata": {"note_prompt": "Kind."}}


def _lines(*rows: object) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


def test_a_chat_is_read_with_its_swipes_and_times_as_the_file_says_them() -> None:
    chat = read_chat(
        _lines(
            HEADER,
            {"name": "Ada", "mes": "b", "swipes": ["a", "b", 7, "b", " "], "swipe_id": 1},
            {"name": "Lena", "is_user": True, "mes": "c", "send_date": 1700000000000},
            {"name": "Sys", "mes": "d", "extra": {"type": "narrator"}, "send_date": "x"},
        )
    )
    assert (chat.user, chat.character, chat.note, chat.broken) == ("Lena", "Ada", "Kind.", ())
    assert chat.lines[0].others == ("a",)
    assert [one.time for one in chat.lines] == ["", "1700000000000", "x"]
    assert chat.speakers == ("Ada",)
    assert chat.lines[2].narrator


def test_names_that_newer_versions_leave_open_are_none() -> None:
    chat = read_chat(_lines({"user_name": "unused", "character_name": "unused"}, {"mes": "a"}))
    assert (chat.user, chat.character, chat.lines[0].name) == ("", "", "")


def test_a_group_chat_without_a_header_is_a_chat_too() -> None:
    data = _lines({"name": "A", "mes": "a"}, {"name": "B", "mes": "b", "swipe_id": 99})
    assert is_chat(data)
    assert read_chat(data).speakers == ("A", "B")


@pytest.mark.parametrize(
    "bad",
    [b"{", b"[1]", b'{"mes": 1}', b"\xff", b'{"mes": "\\ud800"}', b'{"mes": NaN}', b"{}"],
)
def test_a_line_that_cannot_be_read_is_named_and_the_others_stay(bad: bytes) -> None:
    data = b"\n".join([json.dumps(HEADER).encode(), bad, b'{"mes": "a\\u2028b"}', b""])
    chat = read_chat(data)
    assert [one.text for one in chat.lines] == ["a\u2028b"]
    (reason,) = chat.broken
    assert reason.startswith("line 2")


def test_a_chat_in_which_nobody_speaks_is_refused() -> None:
    for data in (b"", _lines(HEADER), _lines(HEADER) + b"\n{"):
        with pytest.raises(BadInput, match="nobody says anything"):
            read_chat(data)


def test_a_line_that_no_chat_has_is_passed_over_unread() -> None:
    huge = b'{"mes": "' + b"x" * LONGEST_LINE + b'"}'
    chat = read_chat(b"\n".join([json.dumps(HEADER).encode(), huge, b'{"mes": "a"}']))
    assert chat.broken == (f"line 2 has more than {LONGEST_LINE} bytes",)
    assert not is_chat(huge)


def test_other_files_are_no_chats() -> None:
    for data in (b"", b"x", b"[]\n", b'{\n "mes": 1\n}', b'{"prompts": []}', b'{"name": "Ada"}'):
        assert not is_chat(data)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["note_prompt", "type", "image", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)
_FIELDS = ("mes", "name", "is_user", "is_system", "send_date", "swipes", "swipe_id", "extra")


@given(st.lists(st.dictionaries(st.sampled_from([*_FIELDS, *HEADER]), _JSON), max_size=5))
def test_no_lines_do_anything_but_a_refusal(rows: list[object]) -> None:
    data = _lines(*rows)
    is_chat(data)
    try:
        chat = read_chat(data)
    except BadInput:
        return
    assert len(chat.lines) + len(chat.broken) <= len(rows)
    assert all(isinstance(one.others, tuple) for one in chat.lines)


@given(st.binary(max_size=80))
def test_no_bytes_do_anything_but_a_refusal(noise: bytes) -> None:
    is_chat(noise)
    with contextlib.suppress(BadInput):
        read_chat(json.dumps(HEADER).encode() + b"\n" + noise)
