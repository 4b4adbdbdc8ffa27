"""Whatever is in the owner's files: nothing raises, the rest still counts, the place is named."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from mentis.library import owner_files
from mentis.library.layer import read_layer

from .conftest import MANIFEST, OVERRIDES, REGISTRY, Desk, entry, text_of


def problem(desk: Desk) -> str:
    (only,) = desk.problems()
    return only.removeprefix(f"{desk.root}/")


BROKEN = [
    (b'{\n "style": oops', "style.json:2:11: error: not JSON: Expecting value"),
    (b"[1]", "style.json:1:1: error: the file must hold a JSON object"),
    (b'{"style": {},\n "style": {}}', "style.json:1:2: error: 'style' is given twice"),
    (b'{"x": 1, "style": {"a": 1,\n "a": 2}}', "style.json:1:20: error: 'a' is given twice"),
    (b'\xef\xbb\xbf{"style": {}}', "style.json:1:1: error: begins with a byte order mark"),
    (b'{\n "\xff": 1}', "style.json:2:3: error: not UTF-8: byte 0xff"),
    (b"", "style.json:1:1: error: not JSON"),
    (b"[" * 100_000, "style.json:1:1: error: nested too deeply"),
    (b'{"style": {"x": NaN}}', "style.json:1:17: error: NaN is not a JSON number"),
]


@pytest.mark.parametrize(("content", "said"), BROKEN)
def test_a_broken_override_leaves_the_shipped_text_in_force_and_says_so(
    desk: Desk, content: bytes, said: str
) -> None:
    desk.own("mine")
    desk.write("style.json", content)
    assert desk.text("style") == "Be calm."
    assert desk.text("mine") == "Mine."
    assert problem(desk).startswith(said)
    assert "; as shipped: style [library]" in problem(desk)
    assert desk.shelf.current().problems[0].hint
    assert (desk.root / "style.json").read_bytes() == content


def test_a_broken_file_disables_only_its_own_blocks(desk: Desk) -> None:
    desk.own("mine")
    desk.own("other")
    desk.write("mine.json", "{")
    assert desk.ids() == ["law", "style", "mood", "talk", "other"]
    assert "; left out: mine [library]" in problem(desk)


def test_a_broken_manifest_disables_own_blocks_and_keeps_texts_of_shipped_ones(desk: Desk) -> None:
    desk.own("mine")
    desk.write("style.json", {"style": text_of("Ours.")})
    desk.write(MANIFEST, '{"prompts": {')
    assert desk.ids() == ["law", "style", "mood", "talk"]
    assert desk.text("style") == "Ours."
    assert "nothing in it is in force" in problem(desk)


@pytest.mark.parametrize("value", [5, None, "x", []])
def test_an_entry_that_is_no_object_breaks_only_itself(desk: Desk, value: object) -> None:
    desk.own("mine")
    data = desk.read(MANIFEST)
    data["prompts"] |= {"style": value, "odd": value}
    desk.write(MANIFEST, data)
    assert desk.ids() == ["law", "style", "mood", "talk", "mine"]
    first, second = desk.problems()
    assert "prompts.style must be a JSON object; what is shipped stays in force" in first
    assert second.endswith("prompts.odd must be a JSON object [library]")


@pytest.mark.parametrize("name", ["prompts", "placeholders", "overrides"])
def test_a_list_in_the_place_of_the_entries_is_a_problem_of_the_file(desk: Desk, name: str) -> None:
    file = {"prompts": MANIFEST, "placeholders": REGISTRY, "overrides": OVERRIDES}[name]
    desk.write(file, {"version": "1", name: []})
    assert f"{file}:1:" in problem(desk)
    assert f"{name} must be a JSON object" in problem(desk)


def test_a_wrong_field_of_an_override_leaves_the_whole_shipped_block(desk: Desk) -> None:
    desk.write(MANIFEST, {"version": "2.0", "prompts": {"style": {"order": "soon", "enabled": 0}}})
    assert desk.block("style").order == 20
    first, second = desk.problems()
    assert "user_manifest.json:1:" in first
    assert "prompts.style.order: input should be a valid number" in first
    assert "the shipped block stays in force" in first
    assert "prompts.style.enabled" in second


def test_a_variant_of_the_wrong_kind_is_located_in_the_owners_file(desk: Desk) -> None:
    desk.write("style.json", '{\n "style": {"variants": {"default": {\n  "content": 5}}}}')
    assert desk.text("style") == "Be calm."
    assert problem(desk).startswith("style.json:3:14: error: style.variants.default.content")


@pytest.mark.parametrize("name", ["../x.json", "/x.json", "a/b.json", "_x.json", ".x.json", "x"])
def test_a_domain_file_that_leads_out_is_never_opened(desk: Desk, name: str) -> None:
    desk.own("mine", domain_file=name)
    desk.write(
        MANIFEST, {"prompts": {"style": {"domain_file": name}, **desk.read(MANIFEST)["prompts"]}}
    )
    (desk.root.parent / "x.json").write_text('{"mine": {}, "style": {}}')
    assert desk.ids() == ["law", "style", "mood", "talk"]
    assert desk.text("style") == "Be calm."
    said = desk.problems()
    assert "prompts.style.domain_file has a form that is not allowed" in said[0]
    assert "prompts.mine.domain_file has a form that is not allowed" in said[1]


def test_a_link_out_of_the_home_is_not_followed(desk: Desk) -> None:
    desk.own("mine")
    outside = desk.root.parent / "outside.json"
    outside.write_text('{"mine": {"variants": {"default": {"content": "stolen"}}}}')
    (desk.root / "mine.json").unlink()
    (desk.root / "mine.json").symlink_to(outside)
    assert "mine" not in desk.ids()
    assert "leads out of the folder" in problem(desk)


def test_a_meta_folder_that_is_a_link_out_is_not_followed(desk: Desk, tmp_path: Path) -> None:
    elsewhere = Desk(tmp_path / "elsewhere")
    elsewhere.own("mine")
    desk.root.mkdir()
    (desk.root / "_meta").symlink_to(elsewhere.root / "_meta")
    assert desk.ids() == ["law", "style", "mood", "talk"]
    assert "leads out" in problem(desk)


def test_a_prompts_folder_that_is_a_link_out_is_not_followed(tmp_path: Path) -> None:
    elsewhere = Desk(tmp_path / "elsewhere")
    elsewhere.own("mine")
    (tmp_path / "home").mkdir()
    (tmp_path / "home/prompts").symlink_to(elsewhere.root)
    desk = Desk(tmp_path / "home/prompts")
    assert desk.ids() == ["law", "style", "mood", "talk"]
    assert "leads out of the home" in desk.problems()[0]


def test_a_link_inside_the_home_is_followed_and_one_to_nothing_is_named(desk: Desk) -> None:
    desk.own("mine")
    (desk.root / "mine.json").rename(desk.root / "text.json")
    (desk.root / "mine.json").symlink_to("text.json")
    assert desk.text("mine") == "Mine."
    (desk.root / "text.json").unlink()
    assert "mine.json:1:1: error: cannot be read: No such file" in problem(desk)


def test_a_folder_a_pipe_and_an_endless_device_are_named_and_not_read(desk: Desk) -> None:
    desk.own("mine")
    (desk.root / "folder.json").mkdir()
    os.mkfifo(desk.root / "pipe.json")
    first, second = desk.problems()
    assert "folder.json:1:1: error: this is a folder" in first
    assert "pipe.json:1:1: error: this is no plain file" in second
    assert desk.text("mine") == "Mine."


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named_until_it_may(desk: Desk) -> None:
    desk.own("mine")
    (desk.root / "mine.json").chmod(0)
    assert "cannot be read: Permission denied" in problem(desk)
    (desk.root / "mine.json").chmod(0o600)
    assert desk.text("mine") == "Mine."


def test_whatever_the_system_says_about_a_file_is_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.own("mine")

    def refuse(path: Path) -> object:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(owner_files, "_read", refuse)
    assert "mine" not in desk.ids()
    assert "mine.json:1:1: error: cannot be read: Permission denied" in "".join(desk.problems())


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "prompts", max_file_bytes=2000)
    desk.own("mine")
    desk.write("style.json", {"style": text_of("x" * 2000)})
    assert desk.text("style") == "Be calm."
    assert desk.text("mine") == "Mine."
    assert "the file has 2" in problem(desk)
    assert "2000 is the limit; as shipped: style" in problem(desk)
    assert "limits.prompt_file_bytes" in desk.shelf.current().problems[0].hint


def test_a_missing_domain_file_is_reported_at_its_mention(desk: Desk) -> None:
    desk.own("mine")
    (desk.root / "mine.json").unlink()
    assert "there is no file mine.json" in problem(desk)
    assert "user_manifest.json" in problem(desk)


def test_a_text_that_no_entry_points_to_is_a_warning(desk: Desk) -> None:
    desk.write("lost.json", '{\n "lost": {"variants": {"default": {"content": "x"}}}}')
    (found,) = desk.shelf.current().problems
    assert found.severity == "warning"
    assert str(found).startswith(f"{desk.root}/lost.json:2:2: warning: no manifest entry")


def test_a_broken_placeholder_of_the_owners_leaves_the_shipped_one(desk: Desk) -> None:
    bad: dict[str, object] = {"city": {"default": {}}, "no good": {}, "town": {"name": "Town"}}
    desk.write(REGISTRY, {"version": "2.0", "placeholders": bad})
    placeholders = desk.shelf.current().library.placeholders
    assert set(placeholders) == {"city"}
    assert placeholders["city"].default == "B"
    said = desk.problems()
    assert "the shipped placeholder stays in force" in said[0]
    assert any("placeholders.no good has a form" in each for each in said)
    assert any("placeholders.town.source is missing" in each for each in said)


def test_bases_that_cannot_be_read_are_named(desk: Desk) -> None:
    bad: dict[str, object] = {"style": {"meta.order": 5}, "mood": []}
    desk.write(OVERRIDES, {"version": "1.0", "overrides": bad})
    assert "overrides.style.meta.order must hold a digest and a value" in "".join(desk.problems())
    assert "overrides.mood must be a JSON object" in "".join(desk.problems())


def test_an_override_of_a_block_that_is_no_longer_shipped_is_not_lost(desk: Desk) -> None:
    desk.write(MANIFEST, {"version": "2.0", "prompts": {"gone": {"order": 5}}})
    assert "prompts.gone.name is missing" in "".join(desk.problems())
    assert desk.read(MANIFEST)["prompts"] == {"gone": {"order": 5}}


def test_a_version_the_origin_stores_and_merged_fields_are_no_trouble(desk: Desk) -> None:
    meta = entry("mine", 5, source="user", _origin="user")
    desk.write(MANIFEST, {"version": "2.0", "migrated_at": "x", "prompts": {"mine": meta}})
    desk.write("mine.json", {"mine": text_of("Mine.")})
    assert desk.problems() == []
    assert desk.block("mine").extra == {}


def test_a_folder_of_the_owners_can_be_read_without_a_shelf(desk: Desk) -> None:
    desk.own("mine")
    desk.editor.toggle("style")
    layer = read_layer(desk.root, "owner")
    assert (layer.prompts, layer.domains) == (
        desk.shelf.current().owner.prompts,
        desk.shelf.current().owner.domains,
    )
    assert read_layer(desk.root / "none", "owner").documents == {}


def test_a_block_without_an_id_is_named(desk: Desk) -> None:
    desk.write(MANIFEST, {"version": "2.0", "prompts": {"": entry("x", 1)}})
    assert "a block has no id" in problem(desk)


def test_fields_the_merged_view_adds_to_a_placeholder_are_not_taken_for_its_own(
    desk: Desk,
) -> None:
    town = {"name": "T", "source": "static", "resolve_phase": "static", "_origin": "user"}
    desk.write(REGISTRY, {"version": "2.0", "placeholders": {"town": town}})
    assert desk.problems() == []
