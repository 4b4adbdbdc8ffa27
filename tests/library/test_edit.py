from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mentis.errors import (
    BadInput,
    LibraryError,
    MentisError,
    OutsideHome,
    StoreConflict,
    StoreError,
)
from mentis.library.edit import BlockLayer, Editor
from mentis.library.layer import make_layer
from mentis.stores.memory import RevisionsInMemory
from mentis.values.block import Message
from mentis.values.cognition import Revision
from mentis.values.trust import Trust

from .conftest import MANIFEST, OVERRIDES, REGISTRY, SHIPPED, Desk, entry, shipped_with, text_of


def refusal(do: Callable[[], object]) -> MentisError:
    with pytest.raises(MentisError) as caught:
        do()
    return caught.value


def test_saving_a_shipped_block_stores_only_what_changed(desk: Desk) -> None:
    edit = desk.editor.save("style", meta={"order": 25}, variants={"default": "Hi {{b}} {{a}}"})
    assert (edit.block, edit.number, edit.words) == ("style", 1, "save")
    assert edit.changed == ("meta.order", "variants.default", "content.placeholders_used")
    assert desk.read(MANIFEST) == {"version": "2.0", "prompts": {"style": {"order": 25}}}
    assert desk.read("style.json") == {
        "style": {
            "variants": {"default": {"content": "Hi {{b}} {{a}}"}},
            "placeholders_used": ["a", "b"],
        }
    }
    assert desk.text("style", "compact") == "Calm."
    assert desk.block("style").order == 25
    assert desk.problems() == []


def test_files_are_indented_literal_utf_8_and_end_with_a_newline(desk: Desk) -> None:
    desk.editor.save("style", variants={"default": "Größe"})
    text = (desk.root / "style.json").read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=2) + "\n"
    assert "Größe" in text


def test_an_override_equal_to_the_shipped_value_is_not_stored(desk: Desk) -> None:
    edit = desk.editor.save("style", meta={"order": 20.0}, variants={"default": "Be calm."})
    assert (edit.number, edit.changed) == (0, ())
    assert desk.files() == {}
    desk.editor.save("style", meta={"order": 21}, variants={"default": "x"})
    desk.editor.save("style", meta={"order": 20}, variants={"default": "Be calm."})
    assert desk.files() == {}
    assert len(desk.editor.history("style")) == 2


def test_an_edit_that_changes_nothing_leaves_no_revision(desk: Desk) -> None:
    desk.editor.save("style", meta={"order": 21})
    again = desk.editor.save("style", meta={"order": 21})
    assert (again.number, again.changed) == (1, ())
    assert len(desk.editor.history("style")) == 1


def test_unknown_fields_survive_every_kind_of_edit(desk: Desk) -> None:
    meta = entry("mine", 5, colour="blue")
    other = entry("other", 6, domain_file="mine.json")
    wording = {"default": {"content": "Hi", "note": [1]}}
    content: dict[str, object] = {
        "variants": wording,
        "placeholders_used": [],
        "tool_descriptions": {"a": 1},
    }
    desk.write(MANIFEST, {"kept": 1, "prompts": {"mine": meta, "other": other}, "version": "9"})
    desk.write("mine.json", {"mine": content, "other": text_of("O"), "nobody": {"x": 1}})
    city = {"name": "C", "source": "static", "resolve_phase": "static", "mark": 1}
    desk.write(REGISTRY, {"version": "9", "kept": 2, "placeholders": {"town": city}})
    desk.editor.save("mine", meta={"order": 7}, variants={"default": "Ho"})
    desk.editor.toggle("mine")
    desk.editor.create_placeholder("new_one")
    assert desk.read(MANIFEST) == {
        "kept": 1,
        "prompts": {"mine": {**meta, "order": 7, "enabled": False}, "other": other},
        "version": "9",
    }
    assert list(desk.read(MANIFEST)) == ["kept", "prompts", "version"]
    assert desk.read("mine.json") == {
        "mine": {**content, "variants": {"default": {"content": "Ho", "note": [1]}}},
        "other": text_of("O"),
        "nobody": {"x": 1},
    }
    registry = desk.read(REGISTRY)
    assert (registry["version"], registry["kept"]) == ("9", 2)
    assert registry["placeholders"]["town"] == city
    desk.editor.move("mine", "elsewhere.json")
    assert desk.read("elsewhere.json")["mine"]["tool_descriptions"] == {"a": 1}
    assert set(desk.read("mine.json")) == {"other", "nobody"}


def test_fields_of_the_content_are_saved_and_taken_away(desk: Desk) -> None:
    desk.editor.save("style", content={"tool_descriptions": {"a": 1}})
    assert desk.block("style").extra["domain"] == {"tool_descriptions": {"a": 1}}
    desk.editor.save("style", content={"tool_descriptions": None})
    assert desk.files() == {}
    for name in ("variants", "placeholders_used"):
        error = refusal(lambda name=name: desk.editor.save("style", content={name: {}}))
        assert "cannot be saved as a field" in error.message


def test_a_wording_and_a_field_are_taken_away_with_none(desk: Desk) -> None:
    desk.editor.save("style", variants={"new": "N", "compact": "C"}, meta={"group": "g"})
    desk.editor.save("style", variants={"new": None, "compact": None}, meta={"group": None})
    assert desk.files() == {}
    assert desk.text("style", "compact") == "Calm."


def test_messages_take_the_place_of_a_text_and_count_their_placeholders(desk: Desk) -> None:
    said = [{"role": "user", "content": "Hi {{name}}"}, {"role": "assistant", "content": "{{x}}"}]
    desk.editor.save(
        "style",
        meta={"type": "multi_turn"},
        variants={"default": {"messages": said}, "compact": {"messages": []}},
    )
    assert desk.block("style").variants["default"].messages[0] == Message("user", "Hi {{name}}")
    stored = desk.read("style.json")["style"]
    assert stored["variants"]["default"] == {"messages": said}
    assert stored["placeholders_used"] == ["name", "x"]


@pytest.mark.parametrize(
    ("meta", "variants", "said"),
    [
        ({"order": "soon"}, {}, "prompts.style.order: input should be a valid number"),
        ({"category": "sytem"}, {}, "prompts.style.category"),
        ({"domain_file": "../x.json"}, {}, "domain_file has a form that is not allowed"),
        ({"name": None, "target": "moon"}, {}, "prompts.style"),
        ({"type": "multi_turn"}, {}, "has no messages"),
        ({}, {"default": {"content": 5}}, "style.variants.default.content"),
        ({}, {"default": {}}, ""),
    ],
)
def test_what_would_not_load_is_refused_and_nothing_is_written(
    desk: Desk, meta: dict[str, object], variants: dict[str, dict[str, object]], said: str
) -> None:
    if not said:  # an empty wording changes nothing
        assert desk.editor.save("style", meta=meta, variants=variants).changed == ()
        return
    error = refusal(lambda: desk.editor.save("style", meta=meta, variants=variants))
    assert isinstance(error, LibraryError)
    assert said in error.message
    assert desk.files() == {}
    assert desk.editor.history("style") == ()


@pytest.mark.parametrize("text", ["\ud800", float("nan"), object(), {1: 2}])
def test_what_json_cannot_say_is_refused(desk: Desk, text: object) -> None:
    error = refusal(lambda: desk.editor.save("style", content={"x": text}))
    assert isinstance(error, BadInput)
    assert desk.files() == {}


def test_an_unknown_block_comes_with_a_suggestion(desk: Desk) -> None:
    for do in (
        lambda: desk.editor.save("styl", meta={"order": 1}),
        lambda: desk.editor.toggle("styl"),
        lambda: desk.editor.history("styl"),
        lambda: desk.editor.duplicate("styl", "new"),
        lambda: desk.editor.reset("styl"),
    ):
        error = refusal(do)
        assert error.message == "there is no block 'styl'"
        assert error.hint == "did you mean 'style'?"


def test_a_new_block_gets_a_file_of_its_own_and_sensible_settings(desk: Desk) -> None:
    desk.editor.create("mine", meta={"name": "Mine"}, variants={"default": "{{city}}"})
    block = desk.block("mine")
    assert (block.name, block.order, block.file, block.origin) == (
        "Mine",
        9999,
        "mine.json",
        "owner",
    )
    assert desk.read("mine.json")["mine"]["placeholders_used"] == ["city"]
    talk = {"default": {"messages": [{"role": "user", "content": "x"}]}}
    desk.editor.create("chat", meta={"order": 1.0}, variants=talk)
    assert desk.block("chat").type == "multi_turn"
    assert desk.read(MANIFEST)["prompts"]["chat"]["order"] == 1
    assert not (desk.root / OVERRIDES).exists()


@pytest.mark.parametrize("block_id", ["", "A", "a b", "../x", "-x", "ä", "x" * 65, "a:b"])
def test_ids_of_new_blocks_are_plain(desk: Desk, block_id: str) -> None:
    wording = {"default": "x"}
    for do in (
        lambda: desk.editor.create(block_id, meta={}, variants=wording),
        lambda: desk.editor.duplicate("style", block_id),
    ):
        assert "cannot be the id of a block" in refusal(do).message
    assert desk.files() == {}


def test_an_id_that_is_taken_is_refused(desk: Desk) -> None:
    desk.own("mine")
    for do in (
        lambda: desk.editor.create("style", meta={}, variants={"default": "x"}),
        lambda: desk.editor.duplicate("style", "mine"),
        lambda: desk.editor.rename("mine", "style"),
    ):
        assert "already" in refusal(do).message


def test_a_copy_is_whole_ten_further_on_and_in_its_own_file(desk: Desk) -> None:
    desk.editor.save("style", variants={"default": "Ours."})
    edit = desk.editor.duplicate("style", "mine")
    assert edit.words == "copy of style"
    block = desk.block("mine")
    assert (block.order, block.file, block.name) == (30, "mine.json", "Style (copy)")
    assert (desk.text("mine"), desk.text("mine", "compact")) == ("Ours.", "Calm.")
    assert block.extra == {"manifest": {"colour": "red"}}
    desk.editor.duplicate("mine", "third", name="Third")
    assert desk.block("third").name == "Third"


def test_deleting_an_own_block_removes_its_files_when_they_are_empty(desk: Desk) -> None:
    desk.own("mine")
    desk.own("other", domain_file="mine.json")
    desk.write("mine.json", {"mine": text_of("M"), "other": text_of("O")})
    (desk.root / "other.json").unlink()
    desk.editor.delete("mine")
    assert set(desk.read("mine.json")) == {"other"}
    desk.editor.delete("other")
    assert desk.files() == {}


def test_a_shipped_block_cannot_be_deleted_or_renamed(desk: Desk) -> None:
    error = refusal(lambda: desk.editor.delete("style"))
    assert "is shipped and cannot be deleted" in error.message
    assert "toggle" in error.hint
    assert "cannot be renamed" in refusal(lambda: desk.editor.rename("style", "x")).message


def test_toggling_goes_to_the_other_side_or_the_one_that_is_named(desk: Desk) -> None:
    desk.editor.toggle("style")
    assert not desk.block("style").enabled
    desk.editor.toggle("style", False)
    assert not desk.block("style").enabled
    desk.editor.toggle("style")
    assert desk.block("style").enabled
    assert desk.files() == {}


def test_reordering_is_all_or_nothing(desk: Desk) -> None:
    error = refusal(lambda: desk.editor.reorder({"style": 1, "no": 2, "nor": 3}))
    assert error.message == "there is no block 'no', 'nor'"
    assert desk.files() == {}
    edits = desk.editor.reorder({"style": 35, "mood": 5})
    assert [edit.block for edit in edits] == ["style", "mood"]
    assert desk.ids() == ["mood", "law", "style", "talk"]


def test_moving_a_shipped_block_keeps_its_texts(desk: Desk) -> None:
    desk.editor.save("style", variants={"default": "Ours."})
    desk.editor.move("style", "elsewhere.json")
    assert not (desk.root / "style.json").exists()
    assert (desk.text("style"), desk.text("style", "compact")) == ("Ours.", "Calm.")
    desk.editor.move("style", "style.json")
    assert (desk.text("style"), desk.problems()) == ("Ours.", [])


def test_moving_over_a_text_nobody_points_to_is_refused(desk: Desk) -> None:
    desk.own("mine")
    desk.write("other.json", {"mine": {"precious": 1}})
    error = refusal(lambda: desk.editor.move("mine", "other.json"))
    assert "which no entry points to" in error.message
    assert desk.read("other.json") == {"mine": {"precious": 1}}


@pytest.mark.parametrize("name", ["../x.json", "/x.json", "_meta/x.json", "x.txt", "", "a/b.json"])
def test_moving_out_of_the_folder_is_refused(desk: Desk, name: str) -> None:
    desk.own("mine")
    before = desk.files()
    assert "domain_file" in refusal(lambda: desk.editor.move("mine", name)).message
    assert desk.files() == before


def test_moving_into_a_link_that_leads_out_is_refused(desk: Desk) -> None:
    desk.own("mine")
    (desk.root / "link.json").symlink_to(desk.root.parent / "out.json")
    error = refusal(lambda: desk.editor.move("mine", "link.json"))
    assert isinstance(error, LibraryError | OutsideHome)
    assert not (desk.root.parent / "out.json").exists()


def test_renaming_moves_a_file_of_the_same_name_along(desk: Desk) -> None:
    desk.own("mine")
    edit = desk.editor.rename("mine", "yours")
    assert (edit.block, edit.words) == ("yours", "rename from mine")
    assert "mine" not in desk.ids()
    assert desk.block("yours").file == "yours.json"
    assert not (desk.root / "mine.json").exists()


def test_placeholders_are_made_and_deleted(desk: Desk) -> None:
    edit = desk.editor.create_placeholder("town", default="Bonn", name="Town")
    assert (edit.block, edit.number) == ("placeholder:town", 1)
    town = desk.shelf.current().library.placeholders["town"]
    assert (town.default, town.phase, town.category) == ("Bonn", "static", "custom")
    assert "already" in refusal(lambda: desk.editor.create_placeholder("town")).message
    assert "already" in refusal(lambda: desk.editor.create_placeholder("city")).message
    desk.editor.delete_placeholder("town")
    assert desk.files() == {}
    assert len(desk.editor.history("placeholder:town")) == 2
    assert "+default: Bonn" in desk.editor.diff("placeholder:town", 0, 1)
    desk.editor.undo("placeholder:town")
    assert desk.shelf.current().library.placeholders["town"].default == "Bonn"


@pytest.mark.parametrize("key", ["", "A", "a-b", "1a", "ä", "a b"])
def test_placeholder_keys_are_plain(desk: Desk, key: str) -> None:
    assert "cannot be the key" in refusal(lambda: desk.editor.create_placeholder(key)).message


def test_only_fixed_placeholders_of_the_owners_can_be_deleted(desk: Desk) -> None:
    computed = {"name": "C", "source": "computed", "resolve_phase": "computed"}
    desk.write(REGISTRY, {"version": "2.0", "placeholders": {"when": computed}})
    assert "takes its value from" in refusal(lambda: desk.editor.delete_placeholder("when")).message
    assert "no placeholder" in refusal(lambda: desk.editor.delete_placeholder("city")).message
    assert "did you mean 'when'" in refusal(lambda: desk.editor.delete_placeholder("whe")).hint


def test_the_constitution_is_changed_only_with_force_and_the_history_says_so(desk: Desk) -> None:
    for do in (
        lambda: desk.editor.save("law", variants={"default": "x"}),
        lambda: desk.editor.toggle("law"),
        lambda: desk.editor.reorder({"style": 1, "law": 5}),
        lambda: desk.editor.move("law", "x.json"),
        lambda: desk.editor.duplicate("law", "mine"),
        lambda: desk.editor.save("style", meta={"trust": "constitution"}),
        lambda: desk.editor.create(
            "mine", meta={"trust": "constitution"}, variants={"default": ""}
        ),
        lambda: desk.editor.write({"law": BlockLayer({"enabled": False})}, words="import"),
    ):
        error = refusal(do)
        assert "constitution" in error.message
        assert "force" in error.hint
    assert desk.files() == {}
    desk.editor.toggle("law", force=True)
    desk.editor.save("law", variants={"default": "x"}, words="trial", force=True)
    assert [r.words for r in desk.editor.history("law")] == [
        "toggle (forced)",
        "save: trial (forced)",
    ]
    desk.editor.undo("law")  # towards what is shipped: no force needed
    desk.editor.reset("law")
    assert desk.text("law") == "Be honest."
    assert "force" in refusal(lambda: desk.editor.undo("law")).hint
    desk.editor.undo("law", force=True)
    assert not desk.block("law").enabled


def test_a_constitution_block_of_the_owners_needs_force_to_go(desk: Desk) -> None:
    desk.editor.create(
        "oath", meta={"trust": "constitution"}, variants={"default": "x"}, force=True
    )
    assert desk.block("oath").trust is Trust.CONSTITUTION
    assert "force" in refusal(lambda: desk.editor.delete("oath")).hint
    assert "force" in refusal(lambda: desk.editor.save("oath", meta={"trust": "owner"})).hint
    desk.editor.delete("oath", force=True)
    assert "oath" not in desk.ids()


def test_a_revision_that_is_not_the_newest_any_more_is_a_conflict(desk: Desk) -> None:
    desk.editor.save("style", meta={"order": 1}, expected=0)
    with pytest.raises(StoreConflict, match="at revision 1, not 0"):
        desk.editor.save("style", meta={"order": 2}, expected=0)
    desk.editor.save("style", meta={"order": 2}, expected=1)
    desk.write(MANIFEST, {"prompts": {"style": {"order": 3}}})
    with pytest.raises(StoreConflict, match="at revision 3, not 2"):
        desk.editor.save("style", meta={"order": 4}, expected=2)
    assert desk.block("style").order == 3


def test_a_broken_file_is_never_written_over(desk: Desk) -> None:
    desk.write("style.json", "{oops")
    desk.write(REGISTRY, "[]")
    desk.write(MANIFEST, {"prompts": {"mood": 5}})
    before = desk.files()
    for do in (
        lambda: desk.editor.save("style", variants={"default": "x"}),
        lambda: desk.editor.create_placeholder("town"),
        lambda: desk.editor.toggle("mood"),
    ):
        error = refusal(do)
        assert "mend this first" in error.hint
    assert desk.files() == before
    desk.editor.save("style", meta={"order": 1})  # what is sound can be changed
    assert desk.read(MANIFEST)["prompts"]["mood"] == 5


def test_a_save_that_would_make_a_file_too_large_is_refused(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "prompts", max_file_bytes=1000)
    error = refusal(lambda: desk.editor.save("style", variants={"default": "x" * 1000}))
    assert "1000 is the limit" in error.message
    assert desk.files() == {}


class Failing(RevisionsInMemory):
    """A database that stops working."""

    broken = False

    def save(self, revision: Revision) -> None:
        if self.broken:
            raise StoreError("the database is gone")
        super().save(revision)


def test_without_its_revision_an_edit_did_not_happen(tmp_path: Path) -> None:
    revisions = Failing()
    desk = Desk(tmp_path / "prompts", revisions)
    desk.editor.save("style", meta={"order": 1}, variants={"default": "One"})
    before = desk.files()
    revisions.broken = True
    with pytest.raises(StoreError, match="the database is gone"):
        desk.editor.save("style", meta={"order": 2}, variants={"default": "Two"})
    assert desk.files() == before
    assert desk.text("style") == "One"


def test_many_blocks_and_placeholders_are_written_at_once_or_not_at_all(desk: Desk) -> None:
    own = BlockLayer(entry("mine", 5), text_of("M {{town}}"))
    town = {"name": "T", "source": "static", "resolve_phase": "static"}
    bad = {**town, "type": "number?"}
    blocks = {"mine": own, "style": BlockLayer({}, text_of("Ours."))}
    error = refusal(lambda: desk.editor.write(blocks, placeholders={"town": bad}, words="import"))
    assert "placeholders.town.type" in error.message
    assert desk.files() == {}
    edits = desk.editor.write(blocks, placeholders={"town": town}, words="import of x.zip")
    assert [(e.block, e.number) for e in edits] == [
        ("mine", 1),
        ("style", 1),
        ("placeholder:town", 1),
    ]
    assert edits[0].words == "write: import of x.zip"
    assert desk.read("mine.json")["mine"]["placeholders_used"] == ["town"]
    desk.editor.write({"mine": None, "style": None}, words="", placeholders={"town": None})
    assert desk.files() == {}


@pytest.mark.parametrize("block_id", ["", "placeholder:x", "a:b"])
def test_a_block_cannot_be_written_under_the_name_of_something_else(
    desk: Desk, block_id: str
) -> None:
    layer = BlockLayer(entry("x", 1), text_of("x"))
    error = refusal(lambda: desk.editor.write({block_id: layer}, words="import"))
    assert "cannot be the id" in error.message


def test_a_placeholder_json_cannot_say_is_refused(desk: Desk) -> None:
    bad = {"name": "\ud800", "source": "static", "resolve_phase": "static"}
    error = refusal(lambda: desk.editor.write({}, placeholders={"town": bad}, words="import"))
    assert isinstance(error, BadInput)
    assert desk.files() == {}


def test_every_kind_of_field_can_be_settled_for_theirs(desk: Desk) -> None:
    desk.editor.save("style", meta={"order": 25}, content={"hint": "ours"})
    newer = json.loads(json.dumps(SHIPPED))
    newer["_meta/prompt_manifest.json"]["prompts"]["style"]["order"] = 26
    newer["style.json"]["style"]["hint"] = "theirs"
    later = Desk(desk.root, desk.revisions, shipped=make_layer("shipped", newer, {}, {}))
    fields = [conflict.field for conflict in later.editor.conflicts()]
    assert fields == ["meta.order", "content.hint"]
    for field in fields:
        later.editor.settle("style", field, "theirs")
    assert later.files() == {}
    assert later.block("style").order == 26


def test_a_renamed_block_stays_in_a_file_it_shares(desk: Desk) -> None:
    desk.own("mine")
    desk.editor.move("mine", "shared.json")
    desk.editor.rename("mine", "yours")
    assert desk.block("yours").file == "shared.json"


def test_settling_takes_one_side_and_can_be_undone(desk: Desk) -> None:
    desk.editor.save("style", variants={"default": "Ours.", "compact": "O."}, meta={"order": 25})
    newer = Desk(desk.root, desk.revisions, shipped=shipped_with(style="Theirs."))
    (conflict,) = newer.editor.conflicts()
    assert newer.text("style") == "Ours."
    edit = newer.editor.settle("style", conflict.field, "ours")
    assert edit.changed == ("variants.default",)
    assert newer.editor.conflicts() == ()
    assert newer.text("style") == "Ours."
    newer.editor.undo("style")
    assert newer.editor.conflicts() == (conflict,)
    newer.editor.settle("style", conflict.field, "theirs")
    assert newer.editor.conflicts() == ()
    assert (newer.text("style"), newer.text("style", "compact")) == ("Theirs.", "O.")
    error = refusal(lambda: newer.editor.settle("style", "meta.order", "ours"))
    assert "is not in conflict" in error.message


def test_editing_a_field_in_conflict_does_not_hide_the_conflict(desk: Desk) -> None:
    desk.editor.save("style", variants={"default": "Ours."})
    newer = Desk(desk.root, desk.revisions, shipped=shipped_with(style="Theirs."))
    newer.editor.save("style", variants={"default": "Ours again."})
    (conflict,) = newer.editor.conflicts()
    assert conflict.base == {"content": "Be calm."}


def test_a_prompts_folder_that_leads_out_is_never_written(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "home/prompts").symlink_to(tmp_path / "elsewhere")
    desk = Desk(tmp_path / "home/prompts")
    with pytest.raises(OutsideHome):
        desk.editor.toggle("style")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_the_editor_is_one_door(desk: Desk) -> None:
    public = {name for name in vars(Editor) if not name.startswith("_")}
    assert {"save", "create", "duplicate", "delete", "toggle", "reorder", "move", "rename"} < public
    assert {"history", "diff", "undo", "redo", "restore", "reset", "write", "settle"} < public
