from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from mentis.library.formats import BlockEntry, ContentEntry, PlaceholderEntry
from mentis.library.schemas import KINDS, FileKind, file_faults, file_schema, kind_of

SHIPPED = Path(str(files("mentis.library"))) / "shipped"
REFERENCE = Path(__file__).parents[2] / "docs/reference/schemas/prompts"
SHIPPED_FILES = [*SHIPPED.glob("*.json"), *SHIPPED.glob("_meta/*.json")]


def definitions(kind: FileKind) -> dict[str, Any]:
    found: Any = file_schema(kind)["$defs"]
    return found


@pytest.mark.parametrize("file", SHIPPED_FILES, ids=lambda file: file.name)
def test_every_shipped_file_has_the_form_of_its_kind(file: Path) -> None:
    kind = kind_of(file.relative_to(SHIPPED).as_posix(), owner=False)
    assert list(file_faults(kind, json.loads(file.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_in_the_repository_is_the_one_the_checker_uses(kind: FileKind) -> None:
    written = (REFERENCE / f"{kind}.schema.json").read_text(encoding="utf-8")
    assert json.loads(written) == file_schema(kind)


def test_no_other_schema_is_in_the_repository() -> None:
    assert {file.name for file in REFERENCE.iterdir()} == {f"{kind}.schema.json" for kind in KINDS}


@pytest.mark.parametrize(
    ("kind", "entry", "model"),
    [
        ("prompt_manifest", "BlockEntry", BlockEntry),
        ("placeholder_registry", "PlaceholderEntry", PlaceholderEntry),
        ("domain", "ContentEntry", ContentEntry),
    ],
)
def test_shipped_entries_are_whole_and_the_owners_may_be_partial(
    kind: FileKind, entry: str, model: type[Any]
) -> None:
    own = kind_of(f"_meta/user_{kind.removeprefix('prompt_')}.json", owner=True)
    whole, partial = definitions(kind)[entry], definitions(own)[entry]
    assert whole["required"] == [n for n, f in model.model_fields.items() if f.is_required()]
    assert "required" not in partial
    assert whole["properties"].keys() == partial["properties"].keys()


@pytest.mark.parametrize("kind", KINDS)
def test_fields_nobody_knows_are_allowed_everywhere(kind: FileKind) -> None:
    for name, definition in file_schema(kind).get("$defs", {}).items():  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType]  # JSON
        if "properties" in definition:
            assert definition["additionalProperties"] is True, name


def test_files_are_told_apart_by_their_names() -> None:
    assert kind_of("_meta/user_manifest.json", owner=True) == "user_manifest"
    assert kind_of("_meta/overrides.json", owner=True) == "overrides"
    assert kind_of("style.json", owner=True) == "user_domain"
    assert kind_of("style.json", owner=False) == "domain"


def test_a_partial_entry_is_a_fault_unless_the_block_is_shipped() -> None:
    manifest = {"version": "2.0", "prompts": {"style": {"order": 1}}}
    assert list(file_faults("user_manifest", manifest, partial={"style"})) == []
    missing = {fault.path[-1] for fault in file_faults("user_manifest", manifest)}
    assert missing == {"name", "type", "target", "position", "enabled", "domain_file"}


def test_a_wrong_value_in_a_partial_entry_is_still_a_fault() -> None:
    manifest = {"version": "2.0", "prompts": {"style": {"order": "first"}}}
    (fault,) = file_faults("user_manifest", manifest, partial={"style"})
    assert (fault.path, fault.kind) == (("prompts", "style", "order"), "float_type")


@pytest.mark.parametrize("value", [{}, [1], True])
def test_a_value_that_fits_no_member_of_a_union_is_one_fault(value: object) -> None:
    entry = {"name": "x", "source": "static", "resolve_phase": "static", "default": value}
    registry = {"version": "1", "placeholders": {"x": entry}}
    paths = [fault.path for fault in file_faults("placeholder_registry", registry)]
    assert paths == [("placeholders", "x", "default")]


def test_the_record_of_overrides_holds_digest_and_value() -> None:
    base = {"digest": f"sha256:{'0' * 64}", "value": None}
    good = {"version": "1.0", "overrides": {"style": {"meta.order": base}}}
    assert list(file_faults("overrides", good)) == []
    bad = {"version": "1.0", "overrides": {"style": {"meta.order": {"digest": "abc"}}}}
    assert {fault.path[-1] for fault in file_faults("overrides", bad)} == {"digest", "value"}


def test_inside_the_fields_of_a_partial_entry_nothing_may_be_left_out() -> None:
    wording = {"messages": [{"content": "x"}]}
    domain = {"style": {"variants": {"default": wording}}}
    (fault,) = file_faults("user_domain", domain, partial={"style"})
    assert fault.path == ("style", "variants", "default", "messages", 0, "role")
    assert list(file_faults("user_domain", {"style": {}}, partial={"style"})) == []
