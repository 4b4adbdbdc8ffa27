from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import pytest

from mentis.errors import LibraryError
from mentis.library.load import load_library, load_shipped
from mentis.values.block import Message
from mentis.values.stability import Stability
from mentis.values.trust import Trust

SHIPPED = Path(str(files("mentis.library"))) / "shipped"
MANIFEST = "_meta/prompt_manifest.json"
REGISTRY = "_meta/placeholder_registry.json"


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    """A copy of the shipped set that a test may break."""
    copy = tmp_path / "prompts"
    shutil.copytree(SHIPPED, copy)
    return copy


def edit(root: Path, name: str, change: Callable[[Any], object]) -> None:
    file = root / name
    data = json.loads(file.read_text(encoding="utf-8"))
    change(data)
    file.write_text(json.dumps(data, ensure_ascii=False, indent=2), encoding="utf-8")


def backwards(value: Any) -> Any:  # noqa: ANN401  # any JSON
    if not isinstance(value, dict):
        return value
    members = reversed(cast("dict[str, Any]", value).items())
    return {key: backwards(member) for key, member in members}


def failure(root: Path) -> LibraryError:
    with pytest.raises(LibraryError) as caught:
        load_library(root)
    return caught.value


def test_blocks_carry_what_the_files_say(prompts: Path) -> None:
    constitution = load_library(prompts).block("constitution")
    assert constitution is not None
    assert constitution.trust is Trust.CONSTITUTION
    assert constitution.stability is Stability.STABLE
    assert constitution.file == "constitution.json"
    assert constitution.category == "system"
    assert constitution.extra == {}


def test_a_default_that_is_a_list_becomes_a_tuple() -> None:
    placeholders = load_shipped().placeholders
    assert placeholders["user_interested_in"].default == ()
    assert placeholders["char_age"].default == 18


def test_loading_twice_and_from_a_copy_gives_the_same_revision(prompts: Path) -> None:
    assert load_library(prompts) == load_library(prompts)
    assert load_library(prompts).revision == load_shipped().revision
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", load_shipped().revision)


def test_the_order_of_keys_in_the_files_does_not_matter(prompts: Path) -> None:
    for file in [*prompts.glob("*.json"), *prompts.glob("_meta/*.json")]:
        data = json.loads(file.read_text(encoding="utf-8"))
        shuffled = backwards(data)
        if file.name == "prompt_manifest.json":  # there the order decides between equal places
            shuffled["prompts"] = {key: backwards(data["prompts"][key]) for key in data["prompts"]}
        file.write_text(json.dumps(shuffled), encoding="utf-8")
    assert load_library(prompts) == load_shipped()


def test_any_change_of_content_changes_the_revision(prompts: Path) -> None:
    edit(prompts, "style.json", lambda d: d["style"]["variants"]["default"].update(content="!"))
    assert load_library(prompts).revision != load_shipped().revision


def test_blocks_of_equal_order_keep_the_manifests_order(prompts: Path) -> None:
    edit(prompts, MANIFEST, lambda data: [m.update(order=1) for m in data["prompts"].values()])
    raw = json.loads((prompts / MANIFEST).read_text(encoding="utf-8"))
    assert [block.id for block in load_library(prompts).blocks] == list(raw["prompts"])


def test_unknown_fields_are_kept_apart_by_file(prompts: Path) -> None:
    edit(prompts, MANIFEST, lambda data: data["prompts"]["style"].update(colour="red"))
    edit(prompts, "style.json", lambda data: data["style"].update(tool_descriptions={"a": 1}))
    style = load_library(prompts).block("style")
    assert style is not None
    assert style.extra == {"manifest": {"colour": "red"}, "domain": {"tool_descriptions": {"a": 1}}}


def test_one_domain_file_may_hold_several_blocks(prompts: Path) -> None:
    moved = json.loads((prompts / "style.json").read_text(encoding="utf-8"))
    edit(prompts, "format.json", lambda data: data.update(moved))
    edit(prompts, MANIFEST, lambda d: d["prompts"]["style"].update(domain_file="format.json"))
    style = load_library(prompts).block("style")
    assert style is not None
    assert style.file == "format.json"


def test_a_multi_turn_block_holds_messages(prompts: Path) -> None:
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    variants = {"default": {"messages": said}}
    edit(prompts, "style.json", lambda data: data["style"].update(variants=variants))
    edit(prompts, MANIFEST, lambda data: data["prompts"]["style"].update(type="multi_turn"))
    style = load_library(prompts).block("style")
    assert style is not None
    assert style.variants["default"].messages == (
        Message("user", "Hi"),
        Message("assistant", "Hello"),
    )


def test_broken_json_is_reported_with_line_and_column(prompts: Path) -> None:
    (prompts / "style.json").write_text('{\n  "style": {\n    oops\n', encoding="utf-8")
    error = failure(prompts)
    assert error.message.startswith("prompts/style.json:3:5: not JSON")
    assert (error.facts["file"], error.facts["line"], error.facts["column"]) == (
        "prompts/style.json",
        3,
        5,
    )


def test_a_wrong_type_is_reported_where_it_stands(prompts: Path) -> None:
    edit(prompts, MANIFEST, lambda data: data["prompts"]["style"].update(order="soon"))
    error = failure(prompts)
    lines = (prompts / MANIFEST).read_text(encoding="utf-8").splitlines()
    assert '"order": "soon"' in lines[int(str(error.facts["line"])) - 1]
    assert "prompts.style.order" in error.message


@pytest.mark.parametrize("value", [True, "1", None, [1]])
def test_order_is_a_number_and_nothing_that_looks_like_one(prompts: Path, value: object) -> None:
    edit(prompts, MANIFEST, lambda data: data["prompts"]["style"].update(order=value))
    assert "prompts.style.order" in failure(prompts).message


def test_numbers_json_does_not_have_are_refused(prompts: Path) -> None:
    edit(prompts, MANIFEST, lambda data: data["prompts"]["style"].update(order=float("nan")))
    assert "NaN is not a JSON number" in failure(prompts).message


@pytest.mark.parametrize("number", ["1e999", "-Infinity", "NaN"])
def test_a_number_that_cannot_be_kept_is_refused_where_it_stands(
    prompts: Path, number: str
) -> None:
    text = f'{{\n  "style": {{"note": "{number}",\n    "x": {number}}}}}'
    (prompts / "style.json").write_text(text, encoding="utf-8")
    message = f"prompts/style.json:3:10: {number} is not a JSON number"
    assert failure(prompts).message == message


def test_a_number_of_thousands_of_digits_is_refused(prompts: Path) -> None:
    (prompts / "style.json").write_text(f'{{"style": {"9" * 5000}}}', encoding="utf-8")
    assert "prompts/style.json:1:1: not JSON" in failure(prompts).message


@pytest.mark.parametrize("text", [r"\ud83d", r"x\uDE00", r"\ud83dA"])
def test_half_a_surrogate_pair_is_refused_where_it_stands(prompts: Path, text: str) -> None:
    (prompts / "style.json").write_text(f'{{\n "x": "{text}"}}', encoding="utf-8")
    error = failure(prompts)
    assert error.message.startswith("prompts/style.json:2:")
    assert "half of a surrogate pair" in error.message


def test_a_whole_surrogate_pair_and_an_escaped_backslash_are_fine(prompts: Path) -> None:
    content = {"content": "!!"}
    edit(prompts, "style.json", lambda data: data["style"]["variants"].update(default=content))
    file = prompts / "style.json"
    text = file.read_text(encoding="utf-8").replace("!!", r"\ud83d\ude00 \\ud83d")
    file.write_text(text, encoding="utf-8")
    style = load_library(prompts).block("style")
    assert style is not None
    assert style.variants["default"].content == "\N{GRINNING FACE} \\ud83d"


def test_a_key_given_twice_is_refused_and_named(prompts: Path) -> None:
    text = '{\n  "style": {"variants": {"default": {"content": "a"}}},\n  "style": {}\n}'
    (prompts / "style.json").write_text(text, encoding="utf-8")
    error = failure(prompts)
    assert error.message == "prompts/style.json:2:3: 'style' is given twice"


def test_a_key_given_twice_deep_inside_is_found_there(prompts: Path) -> None:
    text = '{"style": {"variants": {"x": {"messages": [1,\n{"role": 1,\n "role": 2}]}}}}'
    (prompts / "style.json").write_text(text, encoding="utf-8")
    error = failure(prompts)
    assert error.message == "prompts/style.json:2:2: 'role' is given twice"


def test_a_missing_manifest_is_named(prompts: Path) -> None:
    (prompts / MANIFEST).unlink()
    error = failure(prompts)
    assert f"prompts/{MANIFEST}:1:1: the file is missing" in error.message
    assert error.hint == "put the file back"


@pytest.mark.parametrize("name", [REGISTRY, "_meta/words.json"])
def test_the_other_files_of_a_shipped_set_are_missed_too(prompts: Path, name: str) -> None:
    (prompts / name).unlink()
    assert f"prompts/{name}:1:1: the file is missing" in failure(prompts).message


def test_a_folder_in_the_place_of_a_file_is_an_error(prompts: Path) -> None:
    (prompts / MANIFEST).unlink()
    (prompts / MANIFEST).mkdir()
    assert "cannot be read" in failure(prompts).message


def test_a_missing_domain_file_is_reported_at_its_mention(prompts: Path) -> None:
    (prompts / "style.json").unlink()
    error = failure(prompts)
    assert "there is no file style.json" in error.message
    assert error.facts["file"] == f"prompts/{MANIFEST}"


def test_a_block_missing_from_its_domain_file_is_reported(prompts: Path) -> None:
    edit(prompts, MANIFEST, lambda d: d["prompts"]["style"].update(domain_file="format.json"))
    error = failure(prompts)
    assert "format.json holds no block 'style'" in error.message
    assert "'style'" in error.hint


def test_a_value_outside_its_set_comes_with_a_suggestion(prompts: Path) -> None:
    edit(prompts, MANIFEST, lambda data: data["prompts"]["style"].update(category="sytem"))
    error = failure(prompts)
    assert "prompts.style.category" in error.message
    assert error.hint == "did you mean 'system'?"


def test_a_bad_stability_comes_with_a_suggestion(prompts: Path) -> None:
    edit(prompts, REGISTRY, lambda data: data["placeholders"]["input"].update(stability="turns"))
    assert failure(prompts).hint == "did you mean 'turn'?"


def test_a_bad_default_is_reported_at_the_default(prompts: Path) -> None:
    edit(prompts, REGISTRY, lambda data: data["placeholders"]["input"].update(default={"a": 1}))
    assert "placeholders.input.default:" in failure(prompts).message


def test_a_placeholder_key_is_made_of_word_characters(prompts: Path) -> None:
    edit(prompts, REGISTRY, lambda data: data["placeholders"].update({"no good": {}}))
    assert "placeholders.no good has a form that is not allowed" in failure(prompts).message


def test_all_problems_are_listed_beside_the_first(prompts: Path) -> None:
    edit(prompts, MANIFEST, lambda data: data["prompts"]["style"].update(order="x", enabled=3))
    error = failure(prompts)
    assert "(and 1 more)" in error.message
    assert len(error.problems) == 2


def test_a_byte_order_mark_is_refused(prompts: Path) -> None:
    file = prompts / "style.json"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    error = failure(prompts)
    assert error.message == "prompts/style.json:1:1: begins with a byte order mark"


def test_bytes_that_are_not_utf_8_are_located(prompts: Path) -> None:
    (prompts / "style.json").write_bytes('{\n "sät": "'.encode() + b'\xff"}')
    assert failure(prompts).message == "prompts/style.json:2:10: not UTF-8: byte 0xff"


def test_a_file_nested_too_deeply_is_refused(prompts: Path) -> None:
    (prompts / "style.json").write_text("[" * 100_000, encoding="utf-8")
    assert "nested too deeply" in failure(prompts).message


@pytest.mark.parametrize(
    "name",
    [
        "../x.json",
        "/etc/x.json",
        "a/b.json",
        "a\\b.json",
        "C:x.json",
        ".x.json",
        "_meta.json",
        "x",
        "..",
        "x.toml",
    ],
)
def test_a_domain_file_is_a_plain_file_name(prompts: Path, name: str) -> None:
    edit(prompts, MANIFEST, lambda data: data["prompts"]["style"].update(domain_file=name))
    error = failure(prompts)
    assert "prompts.style.domain_file has a form that is not allowed" in error.message
    assert "plain name" in error.hint


@pytest.mark.parametrize("name", ["", "x.json\n", "x.json\0", " x.json"])
def test_blanks_and_control_characters_have_no_place_in_it(prompts: Path, name: str) -> None:
    edit(prompts, MANIFEST, lambda data: data["prompts"]["style"].update(domain_file=name))
    assert "prompts.style.domain_file has a form" in failure(prompts).message


@pytest.mark.parametrize(
    "field", ["name", "type", "target", "position", "order", "enabled", "domain_file"]
)
def test_a_required_field_is_missed(prompts: Path, field: str) -> None:
    edit(prompts, MANIFEST, lambda data: data["prompts"]["style"].pop(field))
    assert f"prompts.style.{field} is missing" in failure(prompts).message


def test_a_manifest_without_prompts_is_refused(prompts: Path) -> None:
    edit(prompts, MANIFEST, lambda data: data.update(prompts={}))
    assert "prompts:" in failure(prompts).message


def test_a_manifest_that_is_no_object_is_refused(prompts: Path) -> None:
    (prompts / MANIFEST).write_text("[]", encoding="utf-8")
    assert f"prompts/{MANIFEST}:1:1: the file must hold" in failure(prompts).message


def test_entries_that_are_no_objects_are_each_reported(prompts: Path) -> None:
    edit(prompts, MANIFEST, lambda data: data["prompts"].update(style=5))
    edit(prompts, REGISTRY, lambda data: data["placeholders"].update(input=[]))
    error = failure(prompts)
    assert "prompts.style must be a JSON object" in error.message
    assert "placeholders.input must be a JSON object" in error.problems[1]


def test_words_that_are_no_lists_are_reported(prompts: Path) -> None:
    edit(prompts, "_meta/words.json", lambda data: data["english"].update(weekdays=7))
    assert "english.weekdays" in failure(prompts).message


def test_a_block_without_variants_is_refused(prompts: Path) -> None:
    edit(prompts, "style.json", lambda data: data["style"].update(variants={}))
    assert "style.variants:" in failure(prompts).message


def test_a_text_variant_needs_content(prompts: Path) -> None:
    edit(prompts, "style.json", lambda data: data["style"]["variants"]["compact"].clear())
    error = failure(prompts)
    assert "variant 'compact' of text block 'style' has no content" in error.message
    assert "an empty one blanks the block" in error.hint
