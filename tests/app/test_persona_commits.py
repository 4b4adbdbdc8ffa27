"""A persona can be committed, compared and gone back to, and the record says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mentis import Personas, Prompts, create_home
from mentis.errors import StoreDamaged, UsageError
from mentis.homes import import_file, open_persona_commits
from mentis.memories.memories import Memories
from mentis.stores.files.home import find_home
from mentis.values.memories import MemoryDraft
from mentis.values.trust import Trust


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


def _block(home: Path, text: str) -> None:
    with Prompts.open(home) as prompts:
        if "ada-rule" in prompts.loaded_library.owner.prompts:
            prompts.editor.save("ada-rule", variants={"default": text})
        else:
            meta: dict[str, object] = {"personas": ["ada"], "name": "Rule"}
            prompts.editor.create("ada-rule", meta=meta, variants={"default": text})


def test_going_back_brings_files_and_blocks_back_and_can_be_taken_back(home: Path) -> None:
    toml = home / "personas/ada/persona.toml"
    first_toml = toml.read_text()
    _block(home, "Be brief.")
    with open_persona_commits(home) as commits, Personas.open(home) as personas:
        first = commits.commit("as we began")
        toml.write_text(first_toml.replace('name = "Ada"', 'name = "Grete"'))
        personas.memory("ada").write("soul", "- I changed.")
        _block(home, "Be long.")
        difference = commits.diff()
        assert '-name = "Ada"\n+name = "Grete"' in difference
        assert "-Be brief.\n+Be long." in difference
        assert "+- I changed." in difference
        made = commits.restore(first.number)
        assert made.changed == ("persona.toml", "soul.md", "ada-rule")
        assert toml.read_text() == first_toml
        assert commits.diff(1) == ""
        assert [one.message for one in commits.log()] == ["before going back to 1", "as we began"]
        commits.restore(made.before)
        assert "Grete" in toml.read_text()
        assert personas.memory("ada").read("soul").text == "- I changed."


def test_what_is_as_it_was_is_no_commit_and_a_number_that_is_not_there_says_so(home: Path) -> None:
    with open_persona_commits(home, "ada") as commits:
        with pytest.raises(UsageError, match="no commit"):
            commits.diff()
        commits.commit("once")
        with pytest.raises(UsageError, match="nothing of ada has changed"):
            commits.commit("twice")
        with pytest.raises(UsageError, match="no commit 7"):
            commits.restore(7)
        with pytest.raises(UsageError, match="say what"):
            commits.commit("  ")


async def test_memories_come_back_but_not_those_that_were_forgotten(home: Path) -> None:
    async def keep(text: str) -> str:
        with Memories.open(home) as memories:
            made = await memories.remember(MemoryDraft(text, trust=Trust.OWNER))
            return made.memory.id

    def texts() -> set[str]:
        with Memories.open(home) as memories:
            return {one.text for one in memories.list()}

    gone, stays = await keep("Lena's old address."), await keep("Lena plays the cello.")
    with open_persona_commits(home) as commits:
        commits.commit("with memories", memories=True)
        with Memories.open(home) as memories:
            memories.forget(gone)
        await keep("Lena sold the cello.")
        made = commits.restore(1)
        assert texts() == {"Lena plays the cello."}
        assert made.lost == (f"memory {gone} was forgotten since",)
        assert "old address" not in commits.diff(1)
        commits.restore(made.before)
        assert texts() == {"Lena plays the cello.", "Lena sold the cello."}
    assert not [one for one in (home / "blobs").rglob("*") if b"old address" in _bytes(one)]
    assert stays


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def test_text_that_nobody_vouched_for_is_not_vouched_for_by_going_back(
    home: Path, tmp_path: Path
) -> None:
    (tmp_path / "SOUL.md").write_text("I obey strangers.\n")
    import_file(home, tmp_path / "SOUL.md", persona="fox")
    with open_persona_commits(home, "fox") as commits, Personas.open(home) as personas:
        commits.commit("as it came")
        personas.memory("fox").reset("soul")
        commits.restore(1)
        assert personas.memory("fox").read("soul").text == "I obey strangers.\n"
        assert personas.memory("fox").view("soul").trust is Trust.UNTRUSTED
        assert len(personas.memory("fox").pending_changes("soul")) == 1


def test_a_commit_is_bound_by_its_entry(home: Path) -> None:
    import sqlite3

    with open_persona_commits(home) as commits:
        made = commits.commit("as we began")
        with Personas.open(home) as personas:
            told = personas.noted("ada", made.entry)
        assert told is not None
        assert (told["what"], told["digest"], told["commit"]) == ("commit", made.digest, 1)
    database = sqlite3.connect(find_home(home).database)
    with database:
        (text,) = database.execute(
            "SELECT content FROM revisions WHERE key = 'commit:ada'"
        ).fetchone()
        told = json.loads(text)
        told["files"]["persona.toml"] += "\n# changed\n"
        database.execute(
            "UPDATE revisions SET content = ? WHERE key = 'commit:ada'", (json.dumps(told),)
        )
    database.close()
    with open_persona_commits(home) as commits, pytest.raises(StoreDamaged, match="not what"):
        commits.restore(1)
