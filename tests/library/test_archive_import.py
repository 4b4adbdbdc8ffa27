"""What an import does in each mode, from our own archives and from those of the origin system."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mentis.errors import LibraryError, UsageError
from mentis.library.archive import (
    MODES,
    Archive,
    ImportPlan,
    ImportRow,
    export_set,
    plan_import,
    read_archive,
)
from mentis.library.archive.zip import pack
from mentis.library.edit import Editor
from mentis.library.layer import Layer
from mentis.library.load import load_layers, shipped_layer
from mentis.library.overlay import merge_block
from mentis.library.shelf import Shelf
from mentis.ports.clock import FixedClock
from mentis.stores.memory.revisions import RevisionsInMemory

OWN: dict[str, Any] = {
    "name": "Own",
    "description": "",
    "category": "custom",
    "type": "text",
    "target": "system_prompt",
    "position": "system_prompt",
    "order": 5000,
    "enabled": True,
    "domain_file": "own.json",
    "tags": [],
}
KEY: dict[str, Any] = {"name": "Key", "source": "static", "resolve_phase": "static", "default": "v"}


class Home:
    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True)
        self.shelf = Shelf(root)
        self.editor = Editor(self.shelf, RevisionsInMemory(), FixedClock())

    def plan(self, data: bytes | Archive, mode: Any, *, force: bool = False) -> ImportPlan:  # noqa: ANN401  # also wrong ones
        archive = data if isinstance(data, Archive) else read_archive(data)
        return plan_import(self.shelf.current(), archive, mode, force=force)

    def apply(self, plan: ImportPlan, *, force: bool = False) -> None:
        self.editor.write(plan.blocks, placeholders=plan.placeholders, words="import", force=force)

    def text(self, block_id: str, variant: str = "default") -> str:
        block = self.shelf.current().library.block(block_id)
        assert block is not None
        return block.variants[variant].content

    def ids(self) -> set[str]:
        return {block.id for block in self.shelf.current().library.blocks}

    def on(self) -> set[str]:
        return {block.id for block in self.shelf.current().library.blocks if block.enabled}

    def export(self) -> bytes:
        return export_set(self.shelf.current())


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "prompts")


@pytest.fixture
def other(tmp_path: Path) -> Home:
    return Home(tmp_path / "other/prompts")


def rows(plan: ImportPlan, *, kind: str = "block") -> list[ImportRow]:
    return [row for row in plan.rows if row.kind == kind and row.what != "same"]


def row(plan: ImportPlan, name: str) -> ImportRow:
    (found,) = (row for row in plan.rows if row.block == name)
    return found


def wording(text: str, **variants: str) -> dict[str, Any]:
    told = {name: {"content": said} for name, said in {"default": text, **variants}.items()}
    return {"variants": told, "placeholders_used": []}


def origin_export(changes: Mapping[str, object] | None = None) -> bytes:
    """What the origin system's export holds: no hashes, no user registry, `source` never stored;
    its shipped files with the owner's edits in them, and the owner's own blocks."""
    block: dict[str, Any] = {**OWN, "category": "system"}
    system = {
        "impersonation": {**block, "name": "Impersonation", "order": 100},
        "house_guard": {**block, "name": "Topic guard", "order": 500},
        "house_prefill": {
            **block,
            "target": "prefill",
            "position": "prefill",
            "category": "prefill",
        },
    }
    for block_id, entry in system.items():
        entry["domain_file"] = f"{block_id}.json"
    documents: dict[str, object] = {
        "_meta/prompt_manifest.json": {"version": "2.0", "prompts": system},
        "_meta/user_manifest.json": {
            "version": "2.0",
            "migrated_at": "2025-01-01T00:00:00",
            "prompts": {"my_rule": {**OWN, "domain_file": "my_rule.json", "mood": "calm"}},
        },
        "_meta/placeholder_registry.json": {
            "version": "1.0",
            "placeholders": {
                "char_name": {**KEY, "source": "persona_config", "source_path": "char.name"},
                "weather": {**KEY, "source": "runtime", "resolve_phase": "runtime"},
            },
        },
        "prompts/impersonation.json": {
            "impersonation": wording("You are {{char_name}}.", experimental="Be {{char_name}}.")
        },
        "prompts/house_guard.json": {"house_guard": wording("Stay on topic. {{weather}}")},
        "prompts/house_prefill.json": {"house_prefill": wording("I remember.", experimental="")},
        "prompts/my_rule.json": {"my_rule": {**wording("Be kind."), "tool_descriptions": {"a": 1}}},
        "metadata.json": {
            "export_date": "2025-01-01T00:00:00",
            "version": "2.0",
            "prompt_count": 4,
            "domain_files": ["impersonation.json", "my_rule.json", "house_guard.json"],
            "placeholder_count": 2,
        },
    }
    documents.update(changes or {})
    return pack({name: json.dumps(told, indent=2).encode() for name, told in documents.items()})


def with_block(block_id: str, meta: Mapping[str, object], text: str = "x") -> bytes:
    """An archive of one block of the owner's, named by its id."""
    own = {"version": "2.0", "prompts": {block_id: {**OWN, **meta}}}
    return origin_export(
        {
            "_meta/prompt_manifest.json": {"version": "2.0", "prompts": {}},
            "_meta/user_manifest.json": own,
            "prompts/own.json": {block_id: wording(text)},
        }
    )


@pytest.mark.parametrize("mode", MODES)
def test_an_archive_of_the_origin_system_is_taken_as_it_is(home: Home, mode: str) -> None:
    plan = home.plan(origin_export(), mode)
    assert plan.problems == ()
    home.apply(plan)
    assert {"house_guard", "house_prefill", "my_rule"} <= home.ids()
    assert home.text("house_guard") == "Stay on topic. {{weather}}"
    assert home.text("house_prefill", "experimental") == ""
    assert home.shelf.current().library.placeholders["weather"].phase == "runtime"
    rule = home.shelf.current().library.block("my_rule")
    assert rule is not None
    assert rule.extra == {"manifest": {"mood": "calm"}, "domain": {"tool_descriptions": {"a": 1}}}


def test_a_known_id_becomes_an_override_of_exactly_what_differs(home: Home) -> None:
    shipped = home.shelf.current().shipped.prompts["impersonation"]
    plan = home.plan(origin_export(), "overwrite")
    layer = plan.blocks["impersonation"]
    assert layer is not None
    archived = read_archive(origin_export()).blocks()["impersonation"][1]
    differing = {name for name, value in archived.items() if shipped.get(name) != value}
    assert layer.meta.keys() == differing
    assert "domain_file" not in layer.meta
    assert cast("dict[str, object]", layer.content["variants"]).keys() == {
        "default",
        "experimental",
    }
    home.apply(plan)
    assert home.text("impersonation") == "You are {{char_name}}."
    assert home.editor.conflicts() == ()


def test_shipped_wordings_the_archive_has_not_stay_and_are_named(home: Home) -> None:
    before = home.text("impersonation", "compact")
    plan = home.plan(origin_export(), "overwrite")
    assert "compact" in row(plan, "impersonation").note
    home.apply(plan)
    assert home.text("impersonation", "compact") == before


def test_placeholders_of_another_system_do_not_replace_ours(home: Home) -> None:
    plan = home.plan(origin_export(), "overwrite")
    assert row(plan, "char_name").what == "skipped"
    assert row(plan, "weather").what == "added"
    assert plan.placeholders.keys() == {"weather"}


def test_merge_adds_only_what_is_missing(home: Home) -> None:
    home.editor.create("my_rule", meta={"name": "Mine"}, variants={"default": "Be firm."})
    before = home.text("impersonation")
    plan = home.plan(origin_export(), "merge")
    assert {one.block: one.what for one in rows(plan)} == {
        "impersonation": "skipped",
        "house_guard": "added",
        "house_prefill": "added",
        "my_rule": "skipped",
    }
    home.apply(plan)
    assert home.text("my_rule") == "Be firm."
    assert home.text("impersonation") == before


def test_overwrite_adds_and_replaces_and_takes_nothing_away(home: Home) -> None:
    home.editor.create("my_rule", meta={"name": "Mine"}, variants={"default": "Be firm."})
    home.editor.create("other", meta={"name": "Other"}, variants={"default": "Stays."})
    plan = home.plan(origin_export(), "overwrite")
    assert row(plan, "my_rule").what == "changed"
    home.apply(plan)
    assert home.text("my_rule") == "Be kind."
    assert home.text("other") == "Stays."


def test_replace_makes_the_owners_layer_that_of_the_archive(home: Home, other: Home) -> None:
    other.editor.save("style", variants={"default": "Plain."}, meta={"order": 1301})
    other.editor.create("new", meta={"name": "New"}, variants={"default": "n"})
    home.editor.save("style", variants={"compact": "Short."}, meta={"order": 1302})
    home.editor.save("format", variants={"default": "Lists."})
    home.editor.create("old", meta={"name": "Old"}, variants={"default": "o"})
    home.editor.create_placeholder("gone")
    plan = home.plan(other.export(), "replace")
    assert {(one.block, one.what) for one in [*rows(plan), *rows(plan, kind="placeholder")]} == {
        ("style", "changed"),
        ("format", "changed"),
        ("new", "added"),
        ("old", "removed"),
        ("gone", "removed"),
    }
    assert set(row(plan, "style").fields) == {"variants.default", "variants.compact", "meta.order"}
    home.apply(plan)
    assert home.export() == other.export()


def test_a_shipped_block_the_archive_has_not_is_off_and_as_it_is_shipped(home: Home) -> None:
    home.editor.save("style", variants={"default": "Mine."})
    plan = home.plan(origin_export(), "replace")
    found = row(plan, "style")
    assert (found.what, found.note) == ("off", "the file has none")
    assert set(found.fields) == {"variants.default", "meta.enabled"}
    home.apply(plan)
    assert home.text("style") != "Mine."


def test_after_replace_exactly_the_blocks_of_the_archive_are_on(home: Home) -> None:
    home.apply(home.plan(origin_export(), "replace"))
    assert home.on() == {
        "constitution", "impersonation", "house_guard", "house_prefill", "my_rule"
    }  # fmt: skip
    assert row(home.plan(origin_export(), "replace"), "constitution").what == "skipped"
    plan = home.plan(origin_export(), "replace", force=True)
    home.apply(plan, force=True)
    assert "constitution" not in home.on()


def test_an_import_is_taken_back_in_one_step(home: Home) -> None:
    home.editor.save("style", variants={"default": "Mine."})
    home.editor.create("old", meta={"name": "Old"}, variants={"default": "o"})
    before = home.shelf.current().library.revision
    home.apply(home.plan(origin_export(), "replace"))
    assert home.shelf.current().library.revision != before
    home.editor.undo_write()
    assert home.shelf.current().library.revision == before
    with pytest.raises(LibraryError, match="no import to undo"):
        home.editor.undo_write()


def test_what_an_import_replaced_can_be_had_back(home: Home) -> None:
    home.editor.create("old", meta={"name": "Old"}, variants={"default": "o"})
    home.apply(home.plan(origin_export(), "replace"))
    assert "old" not in home.ids()
    home.editor.undo("old")
    assert home.text("old") == "o"


def test_the_plan_alone_changes_nothing(home: Home) -> None:
    before = home.shelf.current().library.revision
    assert not home.plan(origin_export(), "replace").is_empty
    assert home.shelf.current().library.revision == before


@pytest.mark.parametrize("mode", MODES)
def test_importing_twice_changes_nothing_more(home: Home, mode: str) -> None:
    home.apply(home.plan(origin_export(), mode))
    again = home.plan(origin_export(), mode)
    assert again.is_empty
    assert {one.what for one in again.rows} <= {"same", "skipped"}


def test_a_mode_that_does_not_exist_is_refused(home: Home) -> None:
    with pytest.raises(UsageError, match="no mode 'add'"):
        home.plan(origin_export(), "add")


def test_an_archive_cannot_make_itself_constitution(home: Home) -> None:
    data = with_block("sly", {"trust": "constitution"})
    plan = home.plan(data, "overwrite")
    assert [problem.code for problem in plan.problems] == ["import-constitution"]
    assert plan.problems[0].location is not None
    assert (row(plan, "sly").what, "sly" in plan.blocks) == ("skipped", False)
    forced = home.plan(data, "overwrite", force=True)
    assert forced.problems == ()
    home.apply(forced, force=True)
    assert "sly" in home.ids()


def test_an_archive_cannot_rewrite_the_constitution(home: Home, other: Home) -> None:
    other.editor.save("constitution", variants={"default": "Anything goes."}, force=True)
    plan = home.plan(other.export(), "replace")
    assert [problem.code for problem in plan.problems] == ["import-constitution"]
    assert plan.is_empty
    home.apply(home.plan(other.export(), "replace", force=True), force=True)
    assert home.text("constitution") == "Anything goes."


def test_going_back_to_the_shipped_constitution_needs_no_force(home: Home, other: Home) -> None:
    home.editor.save("constitution", variants={"default": "Anything goes."}, force=True)
    plan = home.plan(other.export(), "replace")
    assert plan.problems == ()
    home.apply(plan)
    assert home.text("constitution") != "Anything goes."


def test_an_own_constitution_is_not_taken_away_without_force(home: Home, other: Home) -> None:
    law = with_block("law", {"trust": "constitution"})
    home.apply(home.plan(law, "merge", force=True), force=True)
    plan = home.plan(other.export(), "replace")
    assert (row(plan, "law").what, plan.problems[0].code) == ("skipped", "import-constitution")


@pytest.mark.parametrize(
    ("block_id", "meta"),
    [
        ("a", {"order": "first"}),
        ("a", {"target": "nowhere"}),
        ("a", {"domain_file": "../a.json"}),
        ("a", {"domain_file": "missing.json"}),
        ("a", {"type": "multi_turn"}),
        ("placeholder:a", {}),
        ("a/../b", {}),
        ("style", {"domain_file": "missing.json"}),
    ],
)
def test_a_block_that_is_wrong_stays_out_and_the_others_come_in(
    home: Home, block_id: str, meta: dict[str, object]
) -> None:
    plan = home.plan(with_block(block_id, meta), "overwrite")
    assert [problem.code for problem in plan.problems] == ["import-invalid"]
    (problem,) = plan.problems
    assert problem.location is not None
    assert problem.location.file in read_archive(with_block(block_id, meta)).documents
    assert block_id not in plan.blocks
    assert "weather" in plan.placeholders


def test_a_placeholder_that_is_wrong_stays_out(home: Home) -> None:
    registry = {"version": "1", "placeholders": {"a b": KEY, "c": {**KEY, "source": "x"}, "d": KEY}}
    plan = home.plan(origin_export({"_meta/placeholder_registry.json": registry}), "overwrite")
    assert [problem.code for problem in plan.problems] == ["import-invalid"] * 2
    assert plan.placeholders.keys() == {"d"}


def test_members_that_are_not_read_are_told(home: Home) -> None:
    plan = home.plan(origin_export({"notes/todo.json": {}}), "merge")
    assert [(one.code, one.severity) for one in plan.problems] == [("import-ignored", "warning")]


def test_the_owners_manifest_wins_over_the_systems_as_a_whole(home: Home) -> None:
    own = {"version": "2.0", "prompts": {"house_guard": {**OWN, "name": "Mine"}}}
    changes = {
        "_meta/user_manifest.json": own,
        "prompts/own.json": {"house_guard": wording("Mine.")},
    }
    home.apply(home.plan(origin_export(changes), "merge"))
    assert home.text("house_guard") == "Mine."


def test_an_override_of_a_shipped_placeholder_travels(home: Home, other: Home) -> None:
    entry = {"default": "Nobody"}
    other.editor.write({}, placeholders={"char_name": entry}, words="")
    plan = home.plan(other.export(), "merge")
    assert row(plan, "char_name").what == "skipped"
    plan = home.plan(other.export(), "overwrite")
    assert plan.placeholders == {"char_name": entry}
    home.apply(plan)
    assert home.export() == other.export()


def documents(data: bytes) -> dict[str, object]:
    found = read_archive(data).documents
    return {name: told for name, told in found.items() if name != "metadata.json"}


def edits() -> Iterator[tuple[str, dict[str, Any]]]:
    for block_id in ("style", "format", "own_a", "own_b"):
        for text in ("One.", "Two {{user_name}}.", ""):
            yield block_id, {"default": text}
        yield block_id, {"compact": "Short."}


@settings(max_examples=20)  # each is two homes on disk
@given(
    st.lists(st.sampled_from(list(edits())), max_size=6),
    st.lists(st.sampled_from(list(edits())), max_size=6),
    st.sampled_from(MODES),
)
def test_modes_keep_their_promise_for_any_two_sets(
    tmp_path_factory: pytest.TempPathFactory, here: list[Any], there: list[Any], mode: str
) -> None:
    home, other = (Home(tmp_path_factory.mktemp("home") / "prompts") for _ in range(2))
    for one, changes in ((home, here), (other, there)):
        for block_id, variants in changes:
            if block_id in one.ids():
                one.editor.save(block_id, variants=variants)
            else:
                one.editor.create(block_id, meta={"name": "Own"}, variants=variants)
    before = {block.id: block for block in home.shelf.current().library.blocks}
    theirs = {block.id: block for block in other.shelf.current().library.blocks}
    home.apply(home.plan(other.export(), mode))
    after = {block.id: block for block in home.shelf.current().library.blocks}
    match mode:
        case "merge":
            assert after == {**theirs, **before}
        case "overwrite":
            assert after == {**before, **theirs}
        case _:
            assert after == theirs
            # Blocks that were there keep their place in the file, so not always byte for byte.
            assert documents(home.export()) == documents(other.export())


def test_a_plan_is_made_without_a_home() -> None:
    loaded = load_layers(shipped_layer(), Layer("owner"))
    plan = plan_import(loaded, read_archive(origin_export()), "overwrite")
    layer = plan.blocks["my_rule"]
    assert layer is not None
    owner = Layer(
        "owner", {"my_rule": layer.meta}, {}, {"my_rule.json": {"my_rule": layer.content}}
    )
    assert merge_block("my_rule", loaded.shipped, owner).meta["name"] == "Own"
