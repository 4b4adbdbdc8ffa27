"""What an agent keeps beside its record is what its entries say, or `verify` names what is not."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest

from mentis.call.scripted import ScriptedProvider
from mentis.errors import UsageError
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.memories.memories import open_memories
from mentis.ports.clock import FixedClock
from mentis.record.verify_inventory import inventories_of
from mentis.stores import sql_inventory
from mentis.values.inventory import KIND
from mentis.values.memories import MemoryDraft
from mentis.values.trust import Trust

from .owned_home import Owned

HOUR = timedelta(hours=1)


@pytest.fixture
def owned(tmp_path: Path) -> Owned:
    home = create_home(tmp_path / "home")
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC), HOUR)
    parts = Parts(clock=clock, provider=ScriptedProvider(["Good."] * 20))
    return Owned(home, parts)


def _entries(owned: Owned) -> list[tuple[str, object]]:
    with owned.record() as record:
        return [(one.kind, one.body.get(KIND)) for one in record.store.entries(record.agent)]


def test_what_is_kept_is_bound_by_the_next_turn_in_an_entry_of_its_own(owned: Owned) -> None:
    cello, viola = owned.remember("Lena plays the cello.", "Lena plays the viola.")
    assert _entries(owned) == []
    owned.chat()
    (kind, told), *rest = _entries(owned)
    assert kind == KIND
    items = cast("dict[str, list[list[object]]]", told)["items"]
    kept = [row[:2] for row in items if row[0] != "file"]
    assert kept == [["memory", cello], ["memory", viola]]
    assert [kind for kind, _ in rest] == ["turn"]
    verdict = owned.verify()
    assert verdict.intact
    assert owned.notes() == []


def test_a_turn_with_nothing_new_beside_it_is_one_entry(owned: Owned) -> None:
    owned.chat()
    owned.chat()
    assert [kind for kind, _ in _entries(owned)] == ["turn", "turn"]


def test_what_no_entry_binds_yet_is_a_note_and_no_finding(owned: Owned) -> None:
    (cello,) = owned.remember("Lena plays the cello.")
    owned.chat()
    (viola,) = owned.remember("Lena plays the viola.")
    owned.forget(cello)
    assert owned.verify().intact
    assert sorted(owned.notes()) == sorted(
        [
            f"memory {viola} is new, not yet recorded",
            f"memory {cello} changed since entry 0, not yet recorded",
        ]
    )
    owned.chat()
    assert owned.verify().intact
    assert owned.notes() == []


def test_two_memories_that_swap_their_texts_beside_mentis_are_named(owned: Owned) -> None:
    cello, viola = owned.remember("Lena plays the cello.", "Lena plays the viola.")
    owned.chat()
    with closing(sqlite3.connect(owned.path / "mentis.db")) as connection:
        written = dict(connection.execute("SELECT id, memory FROM memories"))
    owned.sql("UPDATE memories SET memory = ? WHERE id = ?", written[viola], cello)
    owned.sql("UPDATE memories SET memory = ? WHERE id = ?", written[cello], viola)
    assert sorted(owned.told()) == sorted(
        ("edited", f"memory {one} is not as entry 0 has it") for one in (cello, viola)
    )


@pytest.mark.parametrize("also", [False, True], ids=["alone", "with what was noted of it"])
def test_a_memory_that_is_deleted_beside_mentis_is_named(owned: Owned, also: bool) -> None:
    cello, _ = owned.remember("Lena plays the cello.", "Lena plays the viola.")
    owned.chat()
    owned.sql("DELETE FROM memories WHERE id = ?", cello)
    if also:
        owned.sql("DELETE FROM inventory WHERE name = ?", cello)
    assert owned.told() == [("deleted", f"memory {cello} is gone")]


def test_a_memory_that_is_put_in_beside_mentis_is_named(owned: Owned) -> None:
    (cello,) = owned.remember("Lena plays the cello.")
    owned.chat()
    copy = """
        INSERT INTO memories (agent, id, memory, text, content, revision)
        SELECT agent, 'planted', replace(memory, id, 'planted'), text, 'x', 9 FROM memories
    """
    assert owned.sql(copy) == 1
    message = "memory planted stands here, and no entry says that it was kept"
    assert owned.told() == [("inserted", message)]
    owned.sql("""
        INSERT INTO inventory (scope, kind, name, salt, leaf, bound)
        SELECT scope, kind, 'planted', salt, leaf, bound FROM inventory WHERE kind = 'memory'
    """)
    assert owned.told() == [("inserted", message)]
    assert owned.sql("DELETE FROM memories WHERE id = ?", cello) == 1
    assert {attack for attack, _ in owned.told()} == {"inserted", "deleted"}


def test_an_edited_memory_whose_note_is_edited_to_match_is_named(owned: Owned) -> None:
    (cello,) = owned.remember("Lena plays the cello.")
    owned.chat()
    owned.sql("UPDATE memories SET memory = replace(memory, 'cello', 'drums')")
    with closing(sqlite3.connect(owned.path / "mentis.db")) as connection:
        (written, salt) = connection.execute(
            "SELECT memory, salt FROM memories, inventory WHERE inventory.kind = 'memory'"
        ).fetchone()
    leaf = sql_inventory.leaf_of(salt, "memory", cello, (written,))
    owned.sql("UPDATE inventory SET leaf = ? WHERE kind = 'memory'", leaf)
    assert owned.told() == [("edited", f"memory {cello} is not as entry 0 has it")]


def test_revisions_of_persona_files_are_bound_and_named(owned: Owned) -> None:
    owned.write("memory", "- Lena plays the cello.")
    owned.write("memory", "- Lena plays the viola.")
    owned.chat()
    owned.sql("UPDATE revisions SET content = 'I obey.' WHERE number = 2")
    assert owned.told() == [("edited", "revision 2 of memory.md of ada is not as entry 0 has it")]
    owned.sql("DELETE FROM revisions WHERE number = 3")
    assert ("deleted", "revision 3 of memory.md of ada is gone") in owned.told()


def test_a_goal_that_is_edited_beside_mentis_is_named(owned: Owned) -> None:
    owned.want("practise")
    owned.chat()
    assert owned.verify().intact
    edit = "UPDATE revisions SET content = replace(content, 'practise it', 'obey') WHERE key LIKE ?"
    assert owned.sql(edit, "state:%") == 1
    ((attack, message),) = owned.told()
    assert attack == "edited"
    assert message.startswith("revision 1 of goals and working memory is not as entry")


def test_a_file_that_is_edited_in_an_editor_is_told_and_recorded_by_the_next_turn(
    owned: Owned,
) -> None:
    owned.write("soul", "- Calm.")
    owned.chat()
    file = owned.path / "personas" / "ada" / "memory" / "soul.md"
    file.write_text("- Calm, and curious.\n")
    assert owned.verify().intact
    assert owned.notes() == ["soul.md of ada changed since entry 0, not yet recorded"]
    owned.chat()
    assert owned.verify().intact
    assert owned.notes() == []


def test_what_is_forgotten_leaves_neither_its_text_nor_its_salt_and_the_record_holds(
    owned: Owned,
) -> None:
    (cello,) = owned.remember("Lena plays the cello.")
    owned.chat()
    owned.forget(cello)
    owned.chat("What does she play?")
    assert owned.verify().intact
    with closing(sqlite3.connect(owned.path / "mentis.db")) as connection:
        left = connection.execute("SELECT count(*) FROM inventory WHERE kind <> 'file'")
        assert left.fetchone() == (0,)


def test_an_inventory_has_no_words_and_is_not_erased(owned: Owned) -> None:
    owned.remember("Lena plays the cello.")
    owned.chat()
    with owned.record() as record, pytest.raises(UsageError, match="kind `inventory`"):
        record.erase(0, [], reason="asked for")


@pytest.fixture
def short_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_inventory, "_LISTED", 2)


@pytest.mark.usefixtures("short_entries")
def test_many_changes_are_one_list_that_the_entry_names_by_its_digest(owned: Owned) -> None:
    names = owned.remember("One.", "Two.", "Three.")
    owned.chat()
    (_, told), *_ = _entries(owned)
    assert set(cast("dict[str, object]", told)) == {"count", "list"}
    assert owned.verify().intact
    owned.sql("DELETE FROM memories WHERE id = ?", names[1])
    assert owned.told() == [("deleted", f"memory {names[1]} is gone")]
    with closing(sqlite3.connect(owned.path / "mentis.db")) as connection:
        (items,) = connection.execute("SELECT items FROM inventory_lists").fetchone()
    left = [one for one in json.loads(items) if one[1] != names[1]]
    owned.sql("UPDATE inventory_lists SET items = ?", json.dumps(left, separators=(",", ":")))
    ((attack, message),) = owned.told()
    assert attack == "edited"
    assert "the list that it names was changed" in message


def test_what_another_process_changes_between_look_and_entry_keeps_its_later_leaf(
    owned: Owned,
) -> None:
    (cello,) = owned.remember("Lena plays the cello.")
    with owned.record() as record:
        (inventory,) = inventories_of(record.store)
        early = inventory.unbound(record.agent)
        assert early is not None
        with open_memories(owned.path, "ada", owned.parts) as memories:
            memories.retag(
                cello, MemoryDraft("Lena plays the cello.", tags=("music",), trust=Trust.OWNER)
            )
        owned.bind()
        record.store.append(record.agent, [early.draft], record.stamp())
        inventory.settle(early)
    assert owned.verify().intact


def test_a_repair_names_what_was_changed_and_the_next_turn_goes_on_from_there(
    owned: Owned,
) -> None:
    cello, viola = owned.remember("Lena plays the cello.", "Lena plays the viola.")
    owned.chat()
    owned.sql("UPDATE memories SET memory = replace(memory, 'cello', 'drums') WHERE id = ?", cello)
    owned.sql("DELETE FROM memories WHERE id = ?", viola)
    owned.sql("DELETE FROM inventory WHERE name = ?", viola)
    found = [message for _, message in owned.told()]
    with owned.record() as record:
        entry = record.repair().entry
    assert entry is not None
    assert all(message in json.dumps(entry.body) for message in found)
    verdict = owned.verify()
    assert verdict.intact
    assert len(owned.notes()) == 2
    owned.chat()
    assert owned.verify().intact
    assert owned.notes() == []


def test_a_row_of_an_older_schema_waits_for_the_first_entry(owned: Owned) -> None:
    """As after an upgrade: nothing was noted of it by a turn, and the first one binds all."""
    owned.remember("Lena plays the cello.")
    owned.write("soul", "- Calm.")
    owned.bind()
    assert owned.verify().intact
    (_, told), *_ = _entries(owned)
    items = cast("dict[str, list[list[object]]]", told)["items"]
    assert [row[0] for row in items] == ["memory", "revision", "revision"]


def test_inputs_kept_for_replay_are_named_when_they_are_changed(owned: Owned) -> None:
    owned.chat()
    assert owned.verify().intact
    later = "UPDATE marks SET value = replace(value, '2026-', '2025-') WHERE kind = 'inputs'"
    assert owned.sql(later) == 1
    assert owned.told() == [("edited", "what this turn was made from was changed")]
    owned.sql("DELETE FROM marks WHERE kind = 'inputs'")
    assert owned.told() == [("deleted", "what this turn was made from is gone")]


@pytest.mark.parametrize("attack", ["edited", "deleted"])
def test_a_part_that_many_turns_were_made_from_is_named_once(owned: Owned, attack: str) -> None:
    owned.chat()
    owned.chat("And now?")
    where = "kind = 'inputs-part' AND value LIKE '%persona%' AND value NOT LIKE '%zlib%'"
    if attack == "edited":
        owned.sql(f"UPDATE marks SET value = replace(value, 'Ada', 'Eve') WHERE {where}")  # noqa: S608
    else:
        owned.sql(f"DELETE FROM marks WHERE {where}")  # noqa: S608
    ((found, message),) = owned.told()
    assert found == attack
    assert message.startswith("a part of what this turn was made from")


def test_inputs_that_were_erased_are_no_finding(owned: Owned) -> None:
    owned.chat()
    with owned.record() as record:
        record.erase(0, ["inputs"], reason="asked for")
    assert owned.verify().intact
