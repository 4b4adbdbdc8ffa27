from __future__ import annotations

import errno
import os

import pytest

from mentis.errors import LibraryError, StoreFull

from .conftest import MANIFEST, REGISTRY, Desk, text_of


@pytest.fixture
def edited(desk: Desk) -> Desk:
    """Overrides, an own block, an own placeholder and an override of a shipped one."""
    desk.own("mine")
    desk.editor.save("style", variants={"default": "Ours."}, meta={"order": 25})
    desk.editor.toggle("law", force=True)
    desk.editor.create_placeholder("town", default="Bonn")
    registry = desk.read(REGISTRY)
    registry["placeholders"]["city"] = {"default": "Ours"}
    desk.write(REGISTRY, registry)
    return desk


def test_a_shipped_block_is_reset_and_that_can_be_undone(desk: Desk) -> None:
    desk.editor.save("style", variants={"default": "Ours."})
    edit = desk.editor.reset("style")
    assert (edit.number, edit.words) == (2, "reset")
    assert (desk.text("style"), desk.files()) == ("Be calm.", {})
    desk.editor.undo("style")
    assert desk.text("style") == "Ours."


def test_an_own_block_has_no_default_to_go_back_to(desk: Desk) -> None:
    desk.own("mine")
    with pytest.raises(LibraryError, match="has no shipped form") as caught:
        desk.editor.reset("mine")
    assert "delete" in caught.value.hint


def test_a_system_reset_keeps_what_the_owner_made(edited: Desk) -> None:
    before = edited.files()
    edits = edited.editor.factory_reset("system")
    assert {edit.block for edit in edits} == {"style", "law", "placeholder:city"}
    assert edited.ids() == ["law", "style", "mood", "talk", "mine"]
    assert (edited.text("style"), edited.block("style").order) == ("Be calm.", 20)
    placeholders = edited.shelf.current().library.placeholders
    assert (placeholders["city"].default, placeholders["town"].default) == ("B", "Bonn")
    assert [r.words for r in edited.editor.history("style")] == ["save", "reset system"]
    edited.editor.undo_reset()
    assert edited.files() == before


def test_a_full_reset_drops_everything_and_comes_back_byte_for_byte(edited: Desk) -> None:
    edited.write("style.json", '{ "style":{"variants" :{"default":{"content":"x"}}}}\n\n')
    edited.write("lost.json", {"lost": {"x": 1}})
    before = edited.files()
    edited.editor.factory_reset("full")
    assert edited.files() == {}
    assert edited.ids() == ["law", "style", "mood", "talk"]
    edits = edited.editor.undo_reset()
    assert {"mine", "style", "law"} <= {edit.block for edit in edits}
    assert edited.files() == before
    assert [r.words for r in edited.editor.history("mine")][-1] == "undo reset"


def test_a_full_reset_keeps_broken_files_aside_and_puts_them_back(edited: Desk) -> None:
    edited.write("style.json", b"\xff broken")
    edited.write(MANIFEST, "{")
    before = edited.files()
    edited.editor.factory_reset("full")
    assert edited.files() == {}
    assert edited.problems() == []
    aside = sorted(path.name[:-9] for path in (edited.root / "_meta/aside").iterdir())
    assert aside == ["style.json", "user_manifest.json"]
    edited.editor.undo_reset()
    assert edited.files() == before


def test_a_system_reset_with_a_broken_manifest_changes_nothing(edited: Desk) -> None:
    edited.write("style.json", {"style": text_of("Ours.")})
    edited.write(MANIFEST, "{")
    before = edited.files()
    edited.editor.save("mood", variants={"default": "x"})
    edited.editor.undo("mood")
    with pytest.raises(LibraryError, match="no factory reset to undo"):
        edited.editor.undo_reset()
    edited.editor.factory_reset("system")
    assert edited.text("style") == "Be calm."
    assert edited.files()[MANIFEST] == before[MANIFEST]
    edited.editor.undo_reset()
    assert edited.files() == before


def test_resets_are_undone_one_by_one(edited: Desk) -> None:
    before = edited.files()
    edited.editor.factory_reset("system")
    after = edited.files()
    edited.editor.factory_reset("full")
    edited.editor.undo_reset()
    assert edited.files() == after
    edited.editor.undo_reset()
    assert edited.files() == before
    with pytest.raises(LibraryError, match="no factory reset to undo"):
        edited.editor.undo_reset()


def test_edits_made_after_a_reset_stay_in_the_history_when_it_is_undone(edited: Desk) -> None:
    edited.editor.factory_reset("full")
    edited.editor.save("mood", variants={"default": "Later."})
    edited.editor.undo_reset()
    assert edited.text("mood") == "Be glad."
    assert edited.text("style") == "Ours."
    edited.editor.undo("mood")
    assert edited.text("mood") == "Later."


def test_a_reset_of_nothing_leaves_no_trace(desk: Desk) -> None:
    assert desk.editor.factory_reset("system") == ()
    assert desk.editor.factory_reset("full") == ()
    desk.own("mine")
    assert desk.editor.factory_reset("system") == ()
    with pytest.raises(LibraryError):
        desk.editor.undo_reset()


def test_what_a_reset_dropped_can_also_be_undone_block_by_block(edited: Desk) -> None:
    edited.editor.factory_reset("full")
    edited.editor.undo("mine")
    assert edited.text("mine") == "Mine."
    edited.editor.undo("style")
    assert edited.text("style") == "Ours."


def test_a_reset_that_fails_is_no_reset(edited: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    before = edited.files()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreFull):
            edited.editor.factory_reset("system")
    assert edited.files() == before
    with pytest.raises(LibraryError, match="no factory reset to undo"):
        edited.editor.undo_reset()


def test_a_copy_aside_that_is_gone_is_named_and_nothing_is_written(desk: Desk) -> None:
    desk.write("style.json", "{")
    desk.editor.factory_reset("full")
    (kept,) = (desk.root / "_meta/aside").iterdir()
    kept.unlink()
    with pytest.raises(LibraryError, match="cannot be read"):
        desk.editor.undo_reset()
    assert desk.files() == {}
