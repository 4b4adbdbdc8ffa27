"""No state is ever lost from the history, and every edit can be taken back."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mentis.errors import LibraryError
from mentis.library.edit import Editor
from mentis.library.history import RevisionHistory, redo_target, undo_target
from mentis.ports.clock import FixedClock
from mentis.stores.memory import RevisionsInMemory
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.revisions import SqliteRevisions

from .conftest import MANIFEST, Desk, entry, text_of


def words(desk: Desk, block_id: str) -> list[str]:
    return [revision.words for revision in desk.editor.history(block_id)]


def test_every_edit_is_a_revision_with_its_words_and_time(desk: Desk) -> None:
    desk.editor.save("style", meta={"order": 1}, words="first")
    desk.editor.save("style", meta={"order": 2})
    first, second = desk.editor.history("style")
    assert (first.key, first.number, first.words) == ("prompt:style", 1, "save: first")
    assert json.loads(first.content)["meta"] == {"order": 1}
    assert first.time < second.time
    assert first.time.endswith("Z")


def test_undo_and_redo_walk_back_and_forth(desk: Desk) -> None:
    for text in ("One", "Two", "Three"):
        desk.editor.save("style", variants={"default": text})
    seen: list[str] = []
    for _ in range(3):
        desk.editor.undo("style")
        seen.append(desk.text("style"))
    assert seen == ["Two", "One", "Be calm."]
    with pytest.raises(LibraryError, match="nothing to undo"):
        desk.editor.undo("style")
    for text in ("One", "Two", "Three"):
        desk.editor.redo("style")
        assert desk.text("style") == text
    with pytest.raises(LibraryError, match="nothing to redo"):
        desk.editor.redo("style")
    desk.editor.undo("style")
    assert desk.text("style") == "Two"
    assert words(desk, "style") == [
        *("save", "save", "save", "undo 3", "undo 2", "undo 1"),
        *("redo 6", "redo 5", "redo 4", "undo 3"),
    ]


def test_an_edit_after_an_undo_is_undone_first(desk: Desk) -> None:
    desk.editor.save("style", variants={"default": "One"})
    desk.editor.undo("style")
    desk.editor.save("style", variants={"default": "Two"})
    with pytest.raises(LibraryError, match="nothing to redo"):
        desk.editor.redo("style")
    desk.editor.undo("style")
    assert desk.text("style") == "Be calm."
    with pytest.raises(LibraryError, match="nothing to undo"):
        desk.editor.undo("style")


def test_words_that_look_like_an_undo_are_only_words(desk: Desk) -> None:
    desk.editor.save("style", variants={"default": "One"}, words="undo 1")
    desk.editor.write({}, words="undo 1")
    desk.editor.undo("style")
    assert desk.text("style") == "Be calm."


def test_any_revision_can_be_restored_and_that_can_be_undone(desk: Desk) -> None:
    for text in ("One", "Two", "Three"):
        desk.editor.save("style", variants={"default": text})
    desk.editor.restore("style", 1)
    assert desk.text("style") == "One"
    desk.editor.restore("style", 0)
    assert desk.text("style") == "Be calm."
    desk.editor.undo("style")
    desk.editor.undo("style")
    assert desk.text("style") == "Three"
    with pytest.raises(LibraryError, match="no revision 99") as caught:
        desk.editor.restore("style", 99)
    assert "there are 7" in caught.value.hint


def test_a_rename_is_taken_back_whole_under_either_id(desk: Desk) -> None:
    desk.own("mine")
    for name in ("yours", "mine"):
        desk.editor.rename("mine", "yours")
        desk.editor.undo(name)
        assert desk.text("mine") == "Mine."
        assert "yours" not in desk.ids()
        desk.editor.redo(name)
        assert "mine" not in desk.ids()
        desk.editor.undo("yours")
    assert desk.problems() == []


def test_a_deleted_block_comes_back_whole(desk: Desk) -> None:
    desk.own("mine", "Text", colour="blue")
    before = desk.block("mine")
    desk.editor.delete("mine")
    desk.editor.undo("mine")
    assert desk.block("mine") == before


def test_a_change_outside_becomes_a_revision_at_the_next_look_or_edit(desk: Desk) -> None:
    desk.editor.save("style", variants={"default": "One"})
    desk.write("style.json", {"style": text_of("By hand")})
    assert words(desk, "style") == ["save", "changed outside"]
    desk.write("style.json", {"style": text_of("By hand again")})
    desk.editor.toggle("style")
    assert words(desk, "style") == ["save", "changed outside", "changed outside", "toggle"]
    desk.editor.undo("style")
    assert desk.text("style") == "By hand again"
    desk.editor.undo("style")
    assert desk.text("style") == "By hand"
    desk.editor.undo("style")
    assert desk.text("style") == "One"
    (desk.root / "style.json").unlink()
    (desk.root / "_meta/overrides.json").unlink()
    assert words(desk, "style")[-1] == "changed outside"
    desk.editor.undo("style")
    assert desk.text("style") == "One"


def test_another_order_of_keys_is_no_change(desk: Desk) -> None:
    desk.own("mine")
    count = len(desk.editor.history("mine"))
    data = desk.read(MANIFEST)
    data["prompts"]["mine"] = dict(reversed(data["prompts"]["mine"].items()))
    desk.write(MANIFEST, data)
    assert len(desk.editor.history("mine")) == count == 1


def test_undo_restores_even_a_state_that_was_wrong_and_load_says_so(desk: Desk) -> None:
    desk.write(MANIFEST, {"version": "2.0", "prompts": {"style": {"order": "soon"}}})
    desk.editor.save("style", meta={"order": 5})
    desk.editor.undo("style")
    assert desk.read(MANIFEST)["prompts"]["style"] == {"order": "soon"}
    assert "prompts.style.order" in desk.problems()[0]
    desk.editor.undo("style")
    assert desk.problems() == []


def test_a_diff_shows_settings_and_texts_with_their_own_lines(desk: Desk) -> None:
    desk.editor.save("style", variants={"default": "Be calm.\nBe kind."})
    desk.editor.save("style", meta={"order": 25})
    assert desk.editor.diff("style", 0, 1) == (
        "--- style 0\n+++ style 1\n@@ -13,3 +13,4 @@\n \n [default]\n Be calm.\n+Be kind.\n"
    )
    assert "-order: 20\n+order: 25\n" in desk.editor.diff("style", 1)
    assert "+Be kind.\n" in desk.editor.diff("style")
    assert desk.editor.diff("style", 2, 2) == ""
    talk = {"default": {"messages": [{"role": "user", "content": "Ho\nHo"}]}}
    desk.editor.save("talk", variants=talk)
    assert " <user>\n-Hi\n+Ho\n+Ho\n" in desk.editor.diff("talk")
    desk.editor.save("style", content={"extra": {"ä": 1}})
    assert '+extra: {"ä": 1}' in desk.editor.diff("style")


def test_history_survives_in_a_real_database(tmp_path: Path) -> None:
    with Database(tmp_path / "mentis.db") as database:
        desk = Desk(tmp_path / "prompts", SqliteRevisions(database))
        desk.editor.save("style", variants={"default": "Größe"}, words="ü")
        desk.editor.undo("style")
    with Database(tmp_path / "mentis.db") as database:
        again = Desk(tmp_path / "prompts", SqliteRevisions(database))
        assert words(again, "style") == ["save: ü", "undo 1"]
        again.editor.redo("style")
        assert again.text("style") == "Größe"
        again.editor.factory_reset("full")
        again.editor.undo_reset()
        assert again.text("style") == "Größe"


def test_revisions_of_other_makers_do_not_confuse_going_back() -> None:
    revisions = RevisionsInMemory()
    history = RevisionHistory(revisions, FixedClock())
    for said in ("undo 7", "redo 9", "undo 1", "redo 1", "undo 3"):
        history.append("prompt:x", "null", said)
    known = history.of("prompt:x")
    assert (undo := undo_target(known)) is not None
    assert undo.number in range(1, 10)
    assert redo_target(known) is not None


_TEXTS = st.sampled_from(["A", "B {{x}}", "Be calm.", "", "Größe\n\n\nz"])
_IDS = st.sampled_from(["style", "mood", "mine", "other"])
_OWN = st.sampled_from(["mine", "other"])
Action = tuple[str, str, str]
_ACTIONS: st.SearchStrategy[Action] = st.one_of(
    st.tuples(st.sampled_from(["save", "save compact"]), _IDS, _TEXTS),
    st.tuples(st.just("toggle"), _IDS, st.just("")),
    st.tuples(st.just("reorder"), _IDS, st.sampled_from(["1", "20", "30"])),
    st.tuples(st.just("move"), _IDS, st.sampled_from(["x.json", "y.json", "style.json"])),
    st.tuples(st.just("create"), _OWN, _TEXTS),
    st.tuples(st.just("delete"), _OWN, st.just("")),
    st.tuples(st.just("reset"), st.sampled_from(["style", "mood"]), st.just("")),
    st.tuples(st.just("duplicate"), st.just("other"), _IDS),
)


def perform(editor: Editor, action: Action) -> None:
    match action:
        case ("save", block_id, text):
            editor.save(block_id, variants={"default": text})
        case ("save compact", block_id, text):
            editor.save(block_id, variants={"compact": text})
        case ("toggle", block_id, _):
            editor.toggle(block_id)
        case ("reorder", block_id, number):
            editor.reorder({block_id: float(number)})
        case ("move", block_id, file):
            editor.move(block_id, file)
        case ("create", block_id, text):
            editor.create(block_id, meta={}, variants={"default": text})
        case ("delete", block_id, _):
            editor.delete(block_id)
        case ("reset", block_id, _):
            editor.reset(block_id)
        case ("duplicate", block_id, source):
            editor.duplicate(source, block_id)
        case _:
            raise AssertionError(action)


def meaning(desk: Desk) -> dict[str, object]:
    return {name: json.loads(content) for name, content in desk.files().items()}


@settings(max_examples=40)
@given(st.lists(_ACTIONS, max_size=8))
def test_as_many_undos_as_edits_restore_what_the_files_say(
    actions: list[Action],
) -> None:
    with TemporaryDirectory() as folder:
        desk = Desk(Path(folder) / "prompts")
        desk.write(MANIFEST, {"version": "2.0", "prompts": {"mine": entry("mine", 5, unknown=[1])}})
        desk.write("mine.json", {"mine": {**text_of("M"), "deep": {"a": 1}}})
        desk.editor.history("mine")  # so that the state by hand has its revision
        before, library = meaning(desk), desk.shelf.current().library
        done: list[str] = []
        for action in actions:
            block_id = action[1]
            numbers = len(desk.revisions.history(f"prompt:{block_id}"))
            try:
                perform(desk.editor, action)
            except LibraryError:
                continue  # a block that is there already, or gone: nothing happened
            if len(desk.revisions.history(f"prompt:{block_id}")) > numbers:
                done.append(block_id)
            assert desk.problems() == []
        for block_id in reversed(done):
            desk.editor.undo(block_id)
        assert meaning(desk) == before
        assert desk.shelf.current().library == library


@settings(max_examples=40)
@given(
    st.dictionaries(st.sampled_from(["a", "b", "order2"]), st.integers() | st.text(), max_size=3),
    st.lists(_ACTIONS, max_size=5),
)
def test_unknown_fields_come_through_any_edits(
    unknown: dict[str, object], actions: list[Action]
) -> None:
    with TemporaryDirectory() as folder:
        desk = Desk(Path(folder) / "prompts")
        wording = {"default": {**unknown, "content": "K"}}
        desk.write(
            MANIFEST,
            {**unknown, "version": "2.0", "prompts": {"keep": entry("keep", 5, **unknown)}},
        )
        desk.write("keep.json", {"keep": {**unknown, "variants": wording}})
        desk.editor.save("keep", variants={"default": "L"}, meta={"order": 6})
        for action in actions:
            with suppress(LibraryError):
                perform(desk.editor, action)
        manifest, content = desk.read(MANIFEST), desk.read("keep.json")["keep"]
        assert unknown.items() <= manifest.items()
        assert manifest["prompts"]["keep"] == {**entry("keep", 6), **unknown}
        assert unknown.items() <= content.items()
        assert content["variants"] == {"default": {**unknown, "content": "L"}}
