"""A conversation leaves as a file, and comes back as it was told."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mentis import Agent, create_home
from mentis.errors import UsageError
from mentis.homes import export_session, import_file
from mentis.testing import ScriptedProvider
from mentis.values.json import JsonObject

ROWS: list[JsonObject] = [
    {"user_name": "unused", "character_name": "unused", "chat_metadata": {"variables": {"a": 1.5}}},
    {"name": "Ada", "mes": "Welcome.", "swipes": ["Hm.", "Welcome."], "swipe_id": 1, "bookmark": 7},
    {"name": "Lena", "is_user": True, "mes": "Hello, {{char}}.", "send_date": "June 2, 2024"},
    {
        "name": "Ada",
        "mes": "Yes?",
        "swipes": ["Yes?", "No."],
        "swipe_id": 0,
        "swipe_info": [{}, {}],
    },
    {"name": "Ada", "mes": "A note.", "is_system": True, "extra": {"type": "comment"}},
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


def _imported(home: Path, folder: Path, rows: list[JsonObject]) -> str:
    file = folder / "talk.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return import_file(home, file, persona="ada").sessions[0][1]


def _rows(data: bytes) -> list[JsonObject]:
    return [json.loads(line) for line in data.split(b"\n")]


def test_an_imported_chat_leaves_with_all_that_its_file_said(home: Path, tmp_path: Path) -> None:
    made = export_session(home, _imported(home, tmp_path, ROWS))
    header, *rows = _rows(made.data)
    assert rows == ROWS[1:]
    assert header["chat_metadata"] == {
        "variables": {"a": 1.5},
        "mentis": {"session": "talk", "title": "talk"},
    }
    assert made.losses == ()


async def test_what_was_said_since_stands_after_it_with_its_swipes(
    home: Path, tmp_path: Path
) -> None:
    session = _imported(home, tmp_path, ROWS)
    provider = ScriptedProvider(["One.", "Two."])
    async with Agent.open(home, provider=provider) as agent:
        await agent.chat("And now?", session=session)
        await agent.regenerate(session=session)
    rows = _rows(export_session(home, session).data)
    assert rows[1:5] == ROWS[1:]
    asked, answer = rows[5:]
    assert (asked["mes"], asked["is_user"], answer["mes"]) == ("And now?", True, "Two.")
    assert (answer["swipes"], answer["swipe_id"]) == (["One.", "Two."], 1)
    assert str(asked["send_date"]).endswith("Z")
    other = create_home(tmp_path / "other")
    (tmp_path / "again.jsonl").write_bytes(export_session(home, session).data)
    import_file(other, tmp_path / "again.jsonl", persona="ada")
    async with Agent.open(home) as first, Agent.open(other) as second:
        told = first.compose("Go on.", session=session).request.conversation_history
        again = second.compose("Go on.", session="again").request.conversation_history
    assert [(turn.role, turn.text) for turn in told] == [(turn.role, turn.text) for turn in again]


def test_markdown_is_what_counts_to_be_read(home: Path, tmp_path: Path) -> None:
    made = export_session(home, _imported(home, tmp_path, ROWS), format="markdown")
    assert made.data.decode() == (
        "# talk\n\n**Ada**\n\nWelcome.\n\n**Lena** (June 2, 2024)\n\nHello, Ada.\n\n"
        "**Ada**\n\nYes?\n"
    )
    assert [one.part for one in made.losses] == ["hidden messages", "other answers"]
    with pytest.raises(UsageError):
        export_session(home, "nothing-here")


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
_LINE = st.tuples(st.sampled_from(["Ada", "Lena", "Max"]), _TEXT, st.lists(_TEXT, max_size=2))


@settings(max_examples=12)
@given(st.lists(_LINE, min_size=1, max_size=6))
def test_every_chat_comes_back_as_it_was_told(lines: list[tuple[str, str, list[str]]]) -> None:
    rows: list[JsonObject] = [
        {
            "name": name,
            "mes": text,
            "is_user": name == "Lena",
            "swipes": [text, *more] if name == "Ada" else [],
        }
        for name, text, more in [("Ada", "Begin.", list[str]()), *lines]
    ]
    with TemporaryDirectory() as folder:
        home = create_home(Path(folder) / "home")
        first = export_session(home, _imported(home, Path(folder), rows))
        assert [row["mes"] for row in _rows(first.data)[1:]] == [
            row["mes"] for row in rows if str(row["mes"]).strip()
        ]
        again = _imported(home, Path(folder), _rows(first.data))
        assert _rows(export_session(home, again).data)[1:] == _rows(first.data)[1:]
