"""Files that say what an agent is told and may do: whoever edits one does no wrong, and `verify`
says so until a turn has recorded it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.disk.seen import Stamp
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.library.assemble import LoadedLibrary
from mentis.ports.clock import FixedClock
from mentis.prompts.prompts import Prompts
from mentis.recall.skills import SkillsFound
from mentis.record import home_files
from mentis.record.home_files import HomeFile
from mentis.stores import sql_inventory
from mentis.stores.files.home import Home
from mentis.values.inventory import KIND

from .owned_home import Owned

SETTINGS, PROFILE, PERSONA = "mentis.toml", "profile.toml", "personas/ada/persona.toml"
BLOCKS, SKILL = "prompts/own.json", "skills/tea/SKILL.md"
MANIFEST = "prompts/_meta/user_manifest.json"


@pytest.fixture
def owned(tmp_path: Path) -> Owned:
    """With a file of every kind, each of them bound."""
    home = create_home(tmp_path / "home")
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC), timedelta(hours=1))
    made = Owned(home, Parts(clock=clock, provider=ScriptedProvider(["Good."] * 20)))
    with Prompts.open(home) as prompts:
        for name in ("one", "two", "three"):
            meta = {"domain_file": "own.json"}
            prompts.editor.create(name, meta=meta, variants={"default": f"Say {name}."})
    write_skill(home, "Make tea.")
    made.remember("Lena plays the cello.")
    made.chat()
    assert made.verify().intact
    assert made.notes() == []
    return made


def write_skill(home: Path, text: str) -> None:
    (home / SKILL).parent.mkdir(parents=True, exist_ok=True)
    (home / SKILL).write_text(f"---\nname: tea\ndescription: {text}\n---\nBoil water.\n")


def entries(owned: Owned) -> list[object]:
    with owned.record() as record:
        told = record.store.entries(record.agent)
        return [one.body.get(KIND) for one in told if one.kind == KIND]


def appended(text: str) -> Callable[[Path], object]:
    def edit(path: Path) -> None:
        path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")

    return edit


@pytest.mark.parametrize(
    ("name", "gone"),
    [
        *((name, False) for name in (SETTINGS, PROFILE, PERSONA, SKILL)),
        *((name, True) for name in (PROFILE, SKILL)),  # there is no agent without the others
    ],
)
def test_a_file_that_is_edited_or_removed_is_told_and_recorded_by_the_next_turn(
    owned: Owned, name: str, gone: bool
) -> None:
    file = owned.path / name
    file.unlink() if gone else appended("\n# Looked at.\n")(file)
    what = "is gone" if gone else "changed"
    assert owned.verify().intact
    assert owned.notes() == [f"{name} {what} since entry 0, not yet recorded"]
    owned.chat()
    assert len(entries(owned)) == 2
    assert (owned.verify().intact, owned.notes()) == (True, [])
    owned.chat()
    assert len(entries(owned)) == 2


def test_a_new_file_is_told_and_recorded(owned: Owned) -> None:
    other = owned.path / "skills" / "cake" / "SKILL.md"
    other.parent.mkdir()
    shutil.copy(owned.path / SKILL, other)
    assert owned.notes() == ["skills/cake/SKILL.md is new, not yet recorded"]
    owned.chat()
    assert owned.notes() == []


def test_of_a_prompt_file_the_blocks_are_named(owned: Owned) -> None:
    file = owned.path / BLOCKS
    blocks = json.loads(file.read_text(encoding="utf-8"))
    blocks["four"] = blocks.pop("one")
    blocks["two"]["variants"]["default"] = "Say nothing."
    file.write_text(json.dumps(blocks), encoding="utf-8")
    said = "`four` is new, `two` changed, `one` is gone"
    assert owned.notes() == [f"{BLOCKS} changed since entry 0 ({said}), not yet recorded"]
    owned.chat()
    assert owned.notes() == []


def test_an_edit_through_mentis_is_told_block_by_block_until_a_turn_records_it(
    owned: Owned,
) -> None:
    with Prompts.open(owned.path) as prompts:
        prompts.editor.toggle("two")
    (told,) = owned.notes()
    assert told.startswith(f"{MANIFEST} changed since entry 0 (`two` changed)")
    owned.chat()
    assert owned.notes() == []


def test_a_prompt_file_that_is_broken_is_a_change_as_any_other(owned: Owned) -> None:
    (owned.path / BLOCKS).write_text("{", encoding="utf-8")
    assert any(one.startswith(f"{BLOCKS} changed since entry 0") for one in owned.notes())
    owned.chat()
    assert owned.verify().intact
    assert owned.notes() == []


def test_a_new_home_begins_with_its_turn_and_its_files_are_bound_with_whatever_comes_first(
    tmp_path: Path,
) -> None:
    home = create_home(tmp_path / "new")
    owned = Owned(home, Parts(provider=ScriptedProvider(["Good."] * 9)))
    owned.chat()
    owned.chat()
    assert entries(owned) == []
    assert (owned.verify().intact, owned.notes()) == (True, [])
    appended("\n# Looked at.\n")(home / PROFILE)
    assert owned.notes() == [f"{PROFILE} changed since it was noted first, not yet recorded"]
    owned.chat()
    (told,) = entries(owned)
    assert str(told).count("'file'") == 3  # the settings and the persona with it
    assert (owned.verify().intact, owned.notes()) == (True, [])


def test_an_agent_that_stays_open_records_what_is_edited_meanwhile(owned: Owned) -> None:
    async def talk() -> None:
        async with Agent.open(owned.path, parts=owned.parts) as agent:
            await agent.chat("Hello.")
            assert len(entries(owned)) == 1
            appended("\n# Looked at.\n")(owned.path / PROFILE)
            write_skill(owned.path, "Make green tea.")
            await agent.chat("And now?")
            assert len(entries(owned)) == 2
            await agent.chat("And now?")
            assert len(entries(owned)) == 2

    anyio.run(talk)
    assert (owned.verify().intact, owned.notes()) == (True, [])


def test_a_turn_where_nothing_changed_looks_at_three_files_and_reads_none(
    owned: Owned, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (SETTINGS, PROFILE, PERSONA):
        os.utime(owned.path / name, (1, 1))
    looked: list[object] = []
    read: list[object] = []
    stamp, whole = home_files.stamp_of, home_files.read_home_files

    def counted(path: Path) -> Stamp | None:
        looked.append(path)
        return stamp(path)

    def counted_read(
        home: Home, persona: str, *, library: LoadedLibrary | None, skills: SkillsFound | None
    ) -> dict[str, HomeFile]:
        read.append(persona)
        return whole(home, persona, library=library, skills=skills)

    def settled(path: Path, stamp: Stamp | None) -> bool:
        return path.exists() or stamp is None

    monkeypatch.setattr(home_files, "stamp_of", counted)
    monkeypatch.setattr(home_files, "read_home_files", counted_read)
    monkeypatch.setattr(home_files, "_tells", settled)

    async def talk() -> None:
        async with Agent.open(owned.path, parts=owned.parts) as agent:
            await agent.chat("Hello.")
            await agent.chat("Hello.")  # the skills are known by now
            del looked[:], read[:]
            await agent.chat("And now?")

    anyio.run(talk)
    assert (len(looked), read) == (3, [])


def test_an_entry_says_no_name_of_a_file_and_nothing_is_left_of_what_it_held(
    owned: Owned,
) -> None:
    before = sql(owned, "SELECT salt, leaf FROM inventory WHERE kind = 'file'")
    assert "SKILL" not in json.dumps(entries(owned))
    assert "own.json" not in json.dumps(entries(owned))
    (owned.path / PROFILE).write_text('name = "Lena"\n', encoding="utf-8")
    (owned.path / BLOCKS).write_text("{}", encoding="utf-8")
    shutil.rmtree(owned.path / "skills")
    owned.chat()
    after = sql(owned, "SELECT salt, leaf FROM inventory WHERE kind = 'file'")
    gone = set(before) - set(after)
    assert len(gone) == 3
    assert not {salt for salt, _ in gone} & {salt for salt, _ in after}
    lists = {digest for (digest,) in sql(owned, "SELECT digest FROM inventory_lists")}
    assert not lists & {leaf for _, leaf in gone}
    assert sql(owned, "SELECT name FROM inventory WHERE name LIKE '%skills%'") == []


def sql(owned: Owned, statement: str) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(owned.path / "mentis.db")) as connection:
        return connection.execute(statement).fetchall()


def test_what_was_noted_of_a_file_is_not_for_an_editor(owned: Owned) -> None:
    """Somebody edits the file, and the row so that it fits."""
    appended("\n# Looked at.\n")(owned.path / PROFILE)
    ((salt,),) = sql(owned, f"SELECT salt FROM inventory WHERE name LIKE '% {PROFILE}'")  # noqa: S608
    file = (owned.path / PROFILE).read_bytes()
    outline = json.dumps({"content": sha256(file)}, separators=(",", ":"))
    leaf = sql_inventory.leaf_of(salt, "file", PROFILE, (outline,))
    owned.sql(f"UPDATE inventory SET leaf = ? WHERE name LIKE '% {PROFILE}'", leaf)  # noqa: S608
    ((attack, message),) = owned.told()
    assert attack == "edited"
    assert f"({PROFILE}) is not as entry 0 has it" in message
    with owned.record() as record:
        assert record.repair().entry is not None
    assert owned.verify().intact
    owned.chat()
    assert (owned.verify().intact, owned.notes()) == (True, [])


def test_a_file_whose_note_is_gone_is_recorded_anew(owned: Owned) -> None:
    owned.sql(f"DELETE FROM inventory WHERE name LIKE '% {PROFILE}'")  # noqa: S608
    told = "1 file of the home cannot be compared with entry 0: what was noted of it is gone"
    verdict = owned.verify()
    assert verdict.intact
    assert any(one.startswith(told) for one in verdict.notes)
    owned.chat()
    verdict = owned.verify()
    assert verdict.intact
    assert not any("file of the home" in one for one in verdict.notes)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_memories_on_a_server_beside_a_record_in_the_home_are_said_not_to_be_compared(
    owned: Owned,
) -> None:
    appended('\n[memories]\nstore = "postgres"\n')(owned.path / SETTINGS)
    verdict = owned.verify()
    assert verdict.intact
    assert any(one.startswith("memories are not compared: they are in") for one in verdict.notes)
