"""A PersonaUI folder becomes personas with all that they kept, as one change."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mentis import Agent, Personas, Prompts, create_home
from mentis.errors import BadInput
from mentis.exchange.personaui import read_origin_home
from mentis.homes import import_file, plan_file_import, undo_import
from mentis.memories.memories import Memories
from mentis.values.trust import Trust

PERSONA = {
    "name": "Mia", "age": 24, "gender": "female", "persona": "Elf",
    "core_traits": ["kind", "odd"], "knowledge": ["Music"], "expression": "normal",
    "scenarios": ["Town"], "background": "Grew up by the sea.",
    "start_msg_enabled": True, "start_msg": "Hey!", "avatar": "mia.png", "avatar_type": "standard",
}  # fmt: skip
SPEC = {
    "persona_type": {"Elf": "A being of the woods"},
    "core_traits_details": {"kind": {"description": "Warm", "behaviors": ["Greets everyone"]}},
    "knowledge_areas": {"Music": "Strings"},
    "expression_styles": {"normal": {"name": "Normal", "description": "Plain"}},
    "scenarios": {"Town": {"name": "Town", "description": "A small one", "setting": ["A square"]}},
}
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


def _database(path: Path) -> None:
    database = sqlite3.connect(path)
    with database:
        database.executescript(
            "CREATE TABLE chat_sessions (id INTEGER PRIMARY KEY, title TEXT);"
            "CREATE TABLE chat_messages (id INTEGER PRIMARY KEY, session_id INTEGER, message TEXT,"
            " is_user BOOLEAN, timestamp TEXT, character_name TEXT);"
            "CREATE TABLE memories (id INTEGER PRIMARY KEY, content TEXT, created_at TEXT,"
            " is_active BOOLEAN);"
            "INSERT INTO chat_sessions VALUES (1, 'By the sea'), (2, 'Empty');"
            "INSERT INTO chat_messages VALUES"
            " (1, 1, 'Hey!', 0, '2026-01-01 10:00:00', 'Mia'), (2, 1, 'Hello.', 1, '', '');"
            "INSERT INTO memories VALUES (1, 'Lena swims.', '2026-01-01', 1), (2, 'old', '', 0);"
        )
    database.close()


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    root = tmp_path / "PersonaUI" / "src"
    texts: dict[str, object] = {
        "instructions/personas/default/default_persona.json": {"persona_settings": PERSONA},
        "instructions/created_personas/ab12cd34.json": {
            "id": "ab12cd34", "persona_settings": {"name": "Max", "persona": "KI"}},
        "instructions/personas/spec/persona_spec.json": {"persona_spec": SPEC},
        "instructions/personas/spec/custom_spec/custom_spec.json": {
            "persona_spec": {"core_traits_details": {"odd": {"description": "Mine"}}}},
        "instructions/prompts/_meta/prompt_manifest.json": {"version": "2.0", "prompts": {}},
        "instructions/prompts/_meta/placeholder_registry.json": {
            "version": "2.0", "placeholders": {}},
        "instructions/prompts/_meta/user_manifest.json": {"version": "2.0", "prompts": {"my_rule": {
            "name": "Mine", "category": "custom", "type": "text", "target": "system_prompt",
            "position": "system_prompt", "order": 900, "enabled": True,
            "domain_file": "my_rule.json"}}},
        "instructions/prompts/my_rule.json": {
            "my_rule": {"variants": {"default": {"content": "Sing."}}, "placeholders_used": []}},
        "instructions/personas/active/persona_config.json": {"active_persona_id": "ab12cd34"},
        "settings/settings.json": {"profile": {"user_name": "Lena", "user_info": "I swim."}},
        "settings/user_settings.json": {"apiModel": "x"},
        "data/ab12cd34/sessions/sessions.jsonl": {"id": 3, "title": "Lines"},
        "data/ab12cd34/messages/messages_3.jsonl": {
            "id": 1, "message": "Hi Max", "is_user": True, "timestamp": "2026-02-01T00:00:00"},
    }  # fmt: skip
    for name, told in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(json.dumps(told), encoding="utf-8")
    cortex = root / "instructions/personas/cortex"
    for name, text in {
        "default/soul.md": "# Soul\n\nIntro.\n\n## Who I am\n\nI love {{user}}.\n",
        "default/memory.md": "# Memory\n\nIntro.\n\n---\n\n## Facts\n\n\n- (no entries yet)\n",
    }.items():
        (cortex / name).parent.mkdir(parents=True, exist_ok=True)
        (cortex / name).write_text(text, encoding="utf-8")
    (root / "static/images").mkdir(parents=True)
    (root / "static/images/mia.png").write_bytes(PNG)
    _database(root / "data/main.db")
    return root.parent


async def test_personas_come_with_their_files_memories_conversations_and_picture(
    home: Path, origin: Path
) -> None:
    made = import_file(home, origin)
    assert (made.plan.format, made.personas) == ("PersonaUI", ("max", "mia"))
    assert made.sessions == (("max", "lines"), ("mia", "by-the-sea"))
    assert set(made.blocks) == {"my_rule", "personaui-about-you"}
    with Personas.open(home) as personas:
        mia = personas.read("mia")
        assert (mia.type, mia.age, mia.greeting, mia.trust) == (
            "A being of the woods", 24, "Hey!", Trust.REFERENCE,
        )  # fmt: skip
        assert [(one.name, one.description, one.behaviours) for one in mia.traits] == [
            ("kind", "Warm", ("Greets everyone",)),
            ("odd", "Mine", ()),
        ]
        assert mia.scenarios[0].behaviours == ("A square",)
        assert personas.memory("mia").read("soul").text.endswith("I love Lena.\n")
        assert personas.memory("mia").read("memory").empty
        assert personas.picture("mia") == (PNG, "image/png")
    with Memories.open(home, persona="mia") as memories:
        assert [(one.text, one.worth) for one in memories.list()] == [
            ("Lena swims.", Trust.UNTRUSTED)
        ]
    with Prompts.open(home) as prompts:
        assert prompts.block("my_rule").trust is Trust.REFERENCE
    async with Agent.open(home, persona="mia") as agent:
        history = agent.compose("And?", session="by-the-sea").request.conversation_history
    assert [(one.role, one.text) for one in history[-2:]] == [
        ("assistant", "Hey!"),
        ("user", "Hello."),
    ]


def test_all_that_is_lost_is_named_and_undo_takes_all_back(home: Path, origin: Path) -> None:
    plan = plan_file_import(home, origin)
    assert [one.part for one in plan.losses] == [
        "times of memories of Mia (1)",
        "1 memories of Mia",
        "profile",
        "0 prompts of the program itself",
        "1 memory files",
        "src/instructions/personas/active/persona_config.json",
        "src/settings/user_settings.json",
    ]
    assert plan.shown == ("profile: user_name: Lena",)
    import_file(home, origin)
    undo_import(home)
    with Personas.open(home) as personas, Prompts.open(home) as prompts:
        assert personas.ids() == ("ada",)
        assert not prompts.loaded_library.owner.prompts


def test_a_zip_file_of_the_folder_is_the_same(home: Path, origin: Path, tmp_path: Path) -> None:
    packed = shutil.make_archive(str(tmp_path / "packed"), "zip", origin.parent, origin.name)
    assert plan_file_import(home, packed).parts == plan_file_import(home, origin).parts


def test_a_database_that_is_none_or_holds_other_things_does_no_harm(
    home: Path, origin: Path
) -> None:
    file = origin / "src/data/main.db"
    whole = file.read_bytes()
    for data in (b"not a database" * 100, whole[:100] + b"x" * 5000):
        file.write_bytes(data)
        with pytest.raises(BadInput, match="no database"):
            plan_file_import(home, origin)
    file.write_bytes(b"")
    assert plan_file_import(home, origin).persona == "max"
    file.unlink()
    database = sqlite3.connect(file)
    with database:
        database.executescript(
            "CREATE VIEW chat_sessions AS SELECT 1 AS id, 'x' AS title;"
            "CREATE TABLE chat_messages (id INTEGER);"
        )
    database.close()
    assert not [one for one in plan_file_import(home, origin).parts if "of Mia (" in one.part]


@given(st.binary(max_size=200), st.sampled_from(["data/main.db", "settings/settings.json"]))
@settings(max_examples=40)
def test_whatever_stands_in_a_file_it_is_read_or_refused(data: bytes, name: str) -> None:
    persona = json.dumps({"persona_settings": PERSONA}).encode()
    members = {"instructions/personas/default/default_persona.json": persona, name: data}
    try:
        found = read_origin_home(members)
    except BadInput:
        return
    assert found.personas[0].name == "Mia"
