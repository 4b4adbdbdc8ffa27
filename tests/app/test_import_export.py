"""Exports of chat services become conversations of a persona, all of them or those chosen."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from tests.exchange.test_chat_exports import CHATGPT, CLAUDE

from mentis import Agent, create_home
from mentis.errors import BadInput
from mentis.homes import import_file, plan_file_import, undo_import
from mentis.values.trust import Trust


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


def _zip(tmp_path: Path, *rows: object) -> Path:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps(rows))
        archive.writestr("user.json", "{}")
    (tmp_path / "export.zip").write_bytes(buffer.getvalue())
    return tmp_path / "export.zip"


async def test_a_conversation_of_an_export_can_be_talked_on(home: Path, tmp_path: Path) -> None:
    made = import_file(home, _zip(tmp_path, CHATGPT))
    assert (made.plan.format, made.plan.version) == ("chat export", "ChatGPT")
    assert made.sessions == (("ada", "cello"),)
    async with Agent.open(home) as agent:
        told = agent.compose("And the bow?", session="cello").request.conversation_history
    assert [(one.role, one.text, one.lineage) for one in told[-2:]] == [
        ("user", "Which strings?", Trust.UNTRUSTED),
        ("assistant", "Steel.", Trust.UNTRUSTED),
    ]
    undo_import(home)
    async with Agent.open(home) as agent:
        told = agent.compose("And the bow?", session="cello").request.conversation_history
    assert not [one for one in told if "Steel." in one.text]


def test_the_plan_lists_every_conversation_and_all_that_is_lost(home: Path, tmp_path: Path) -> None:
    plan = plan_file_import(home, _zip(tmp_path, CLAUDE, {**CLAUDE, "uuid": "c-3", "name": ""}))
    assert [(one.part, one.trust, one.note) for one in plan.parts] == [
        ("Garden (2 messages)", "untrusted", "c-2 2026-01-01"),
        ("Untitled (2 messages)", "untrusted", "c-3 2026-01-01"),
    ]
    assert [one.part for one in plan.losses] == [
        "parts of kind thinking in Garden (1)",
        "attachment soil.txt of Garden",
        "parts of kind thinking in Untitled (1)",
        "attachment soil.txt of Untitled",
        "user.json",
    ]


def test_conversations_are_chosen_by_title_or_id(home: Path, tmp_path: Path) -> None:
    other = {**CLAUDE, "uuid": "c-3", "name": "Shed"}
    file = _zip(tmp_path, CLAUDE, other, {**CLAUDE, "uuid": "c-4", "name": "Pond"})
    made = import_file(home, file, only=["Shed", "c-4"])
    assert [one for _, one in made.sessions] == ["shed", "pond"]
    assert made.plan.losses[-2].part == "1 conversations"
    with pytest.raises(BadInput, match="no conversation 'Nope'"):
        plan_file_import(home, file, only=["Nope"])
    again = import_file(home, file, only=["Shed"])
    assert again.sessions == (("ada", "shed-2"),)


def test_too_many_at_once_and_something_else_are_refused(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mentis.app.import_export.MOST_CONVERSATIONS", 1)
    with pytest.raises(BadInput, match="2 conversations"):
        plan_file_import(home, _zip(tmp_path, CLAUDE, CLAUDE))
    with pytest.raises(BadInput, match="nothing in it is recognised"):
        plan_file_import(home, _zip(tmp_path, CLAUDE, CHATGPT))
    (tmp_path / "AGENTS.md").write_text("Be brief.")
    with pytest.raises(BadInput, match="no conversations to choose"):
        plan_file_import(home, tmp_path / "AGENTS.md", only=["x"])


def test_a_file_of_more_than_its_limit_is_refused_before_it_is_read(
    home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "conversations.json"
    with file.open("wb") as written:
        written.truncate(100_000_000)
    with pytest.raises(BadInput, match="larger than 60000000 bytes"):
        plan_file_import(home, file)
