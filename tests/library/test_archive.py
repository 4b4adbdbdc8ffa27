"""Export, import into an empty home, export again: the same bytes."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mentis.errors import LibraryError
from mentis.library.archive import export_set, plan_import, read_archive
from mentis.library.edit import Editor
from mentis.library.layer import Layer, read_layer
from mentis.library.load import LoadedLibrary, load_layers, shipped_layer
from mentis.library.overlay import digest_of
from mentis.library.shelf import Shelf
from mentis.ports.clock import FixedClock
from mentis.stores.memory.revisions import RevisionsInMemory

ENTRY: dict[str, Any] = {
    "name": "Shipped",
    "type": "text",
    "target": "system_prompt",
    "position": "system_prompt",
    "order": 10,
    "enabled": True,
}
WORDING = {"variants": {"default": {"content": "Hello {{who}}."}}, "placeholders_used": ["who"]}
WHO = {"name": "Who", "source": "static", "resolve_phase": "static", "default": "you"}


def write(root: Path, files: Mapping[str, object]) -> Path:
    for name, data in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    return root


def small_shipped(root: Path) -> Layer:
    files = {
        "_meta/prompt_manifest.json": {
            "version": "2.0",
            "prompts": {
                "one": {**ENTRY, "domain_file": "one.json", "tags": ["a"]},
                "two": {**ENTRY, "domain_file": "shared.json", "order": 20},
                "three": {**ENTRY, "domain_file": "shared.json", "order": 20},
            },
        },
        "_meta/placeholder_registry.json": {"version": "1.0", "placeholders": {"who": WHO}},
        "_meta/words.json": {},
        "one.json": {"one": {**WORDING, "note": {"k": 1}}},
        "shared.json": {"two": WORDING, "three": WORDING},
    }
    return read_layer(write(root, files), "shipped")


@contextmanager
def home(shipped: Layer) -> Generator[tuple[Shelf, Editor]]:
    """An empty home over a shipped set."""
    with TemporaryDirectory() as folder:
        root = Path(folder) / "prompts"
        root.mkdir()
        shelf = Shelf(root, shipped=shipped)
        yield shelf, Editor(shelf, RevisionsInMemory(), FixedClock())


def imported(data: bytes, shipped: Layer) -> tuple[LoadedLibrary, bytes]:
    """What an empty home has after the import, and what it exports then."""
    with home(shipped) as (shelf, editor):
        plan = plan_import(shelf.current(), read_archive(data), "replace", force=True)
        assert plan.problems == ()
        editor.write(plan.blocks, placeholders=plan.placeholders, words="import", force=True)
        loaded = shelf.current()
        return loaded, export_set(loaded)


def members(data: bytes) -> dict[str, Any]:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        return {name: json.loads(archive.read(name)) for name in archive.namelist()}


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
values = st.recursive(
    scalars | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
texts = st.lists(
    st.sampled_from(["Hi ", "{{who}}", "{{mine}}", "\n", "ß", "\u2028", '"\\'])
    | st.text(max_size=5)
).map("".join)
variant_names = st.sampled_from(["default", "compact", "default@german", "x.y"])
wordings = st.fixed_dictionaries({"content": texts}, optional={"mood": values})
turns = st.lists(st.fixed_dictionaries({"role": st.just("user"), "content": texts}), max_size=2)
unknown = st.dictionaries(st.sampled_from(["colour", "Zone", "a.b", "source"]), values, max_size=2)
optional: dict[str, st.SearchStrategy[Any]] = {
    "name": st.text(max_size=5),
    "order": st.integers(0, 30) | st.sampled_from([10.0, 10.5, 1e300]),
    "enabled": st.booleans(),
    "description": st.text(max_size=5),
    "tags": st.lists(st.text(max_size=3), max_size=2),
    "variant_condition": st.none() | st.just("compact"),
    "requires_any": st.lists(st.sampled_from(["who", "mine"]), max_size=1),
    "stability": st.sampled_from(["stable", "turn", None]),
    "trust": st.sampled_from(["owner", "constitution"]),
    "max_tokens": st.none() | st.integers(1, 9),
    "required": st.booleans(),
    "keep_with": st.none() | st.just("one"),
    "domain_file": st.sampled_from(["one.json", "shared.json", "mine.json", "größe.json"]),
}


@st.composite
def owner_files(draw: st.DrawFn) -> dict[str, object]:
    """An owner's layer as somebody might have written it by hand: own blocks, overrides of any
    field, also with the shipped value, bases that are there, missing or stale."""
    prompts: dict[str, Any] = {}
    domains: dict[str, dict[str, Any]] = {}
    for block_id in draw(st.lists(st.sampled_from(["b", "a", "ä", "two2"]), unique=True)):
        kind = draw(st.sampled_from(["text", "multi_turn"]))
        some = draw(st.fixed_dictionaries({}, optional=optional))
        meta: dict[str, Any] = {
            **ENTRY,
            "domain_file": "own.json",
            **some,
            "type": kind,
            **draw(unknown),
        }
        each = wordings if kind == "text" else st.fixed_dictionaries({"messages": turns})
        told = draw(st.dictionaries(variant_names, each, min_size=1))
        prompts[block_id] = meta
        extra = draw(st.dictionaries(st.sampled_from(["tools", "placeholders_used_"]), values))
        domains.setdefault(meta["domain_file"], {})[block_id] = {"variants": told, **extra}
    for block_id in draw(st.lists(st.sampled_from(["one", "two", "three"]), unique=True)):
        entry: dict[str, Any] = {
            **draw(st.fixed_dictionaries({}, optional=optional)),
            **draw(unknown),
        }
        shipped_file = "one.json" if block_id == "one" else "shared.json"
        told = draw(
            st.dictionaries(variant_names, wordings | st.just({"content": "Hello {{who}}."}))
        )
        if entry:
            prompts[block_id] = entry
        if told:
            file = entry.get("domain_file", shipped_file)
            domains.setdefault(file, {})[block_id] = {"variants": told}
    order = draw(st.permutations(list(prompts)))
    placeholders = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "mine": st.just({**WHO, "colour": "red"}),
                "who": st.fixed_dictionaries(
                    {}, optional={"default": st.text(), "name": st.text()}
                ),
            },
        )
    )
    stale = {"digest": digest_of("old"), "value": "old"}
    paths = st.sampled_from(["meta.order", "variants.default", "meta.gone"])
    bases = draw(
        st.dictionaries(st.sampled_from(["one", "two"]), st.dictionaries(paths, st.just(stale)))
    )
    return {
        "_meta/user_manifest.json": {"version": "9", "prompts": {i: prompts[i] for i in order}},
        "_meta/user_placeholder_registry.json": {"version": "9", "placeholders": placeholders},
        "_meta/overrides.json": {"version": "1.0", "overrides": bases},
        **domains,
    }


@given(owner_files())
def test_export_import_export_gives_the_same_bytes(files: dict[str, object]) -> None:
    with TemporaryDirectory() as folder:
        shipped = small_shipped(Path(folder) / "shipped")
        root = write(Path(folder) / "prompts", files)
        loaded = load_layers(shipped, read_layer(root, "owner"))
    assume(not any(problem.severity == "error" for problem in loaded.problems))
    first = export_set(loaded)
    after, second = imported(first, shipped)
    assert second == first
    assert [(b.id, b.variants, b.order) for b in after.library.blocks] == [
        (b.id, b.variants, b.order) for b in loaded.library.blocks
    ]
    assert after.library.placeholders == loaded.library.placeholders


def test_the_shipped_set_makes_the_round_trip() -> None:
    first = export_set(load_layers(shipped_layer(), Layer("owner")))
    assert imported(first, shipped_layer())[1] == first


def test_an_archive_holds_the_whole_effective_set(tmp_path: Path) -> None:
    shipped = small_shipped(tmp_path / "shipped")
    with home(shipped) as (shelf, editor):
        editor.save("one", meta={"order": 5}, variants={"default": "Hey {{who}}."})
        editor.create("mine", meta={"name": "Mine", "order": 7}, variants={"default": "{{k}}"})
        editor.create_placeholder("k", default="v")
        found = members(export_set(shelf.current(), date="2026-01-02"))
    assert sorted(found) == [
        "_meta/overrides.json",
        "_meta/placeholder_registry.json",
        "_meta/prompt_manifest.json",
        "_meta/user_manifest.json",
        "_meta/user_placeholder_registry.json",
        "metadata.json",
        "prompts/mine.json",
        "prompts/one.json",
        "prompts/shared.json",
    ]
    assert found["_meta/prompt_manifest.json"]["prompts"]["one"]["order"] == 5
    assert list(found["_meta/user_manifest.json"]["prompts"]) == ["mine"]
    assert found["prompts/one.json"]["one"]["variants"]["default"]["content"] == "Hey {{who}}."
    assert found["_meta/user_placeholder_registry.json"]["placeholders"]["k"]["default"] == "v"
    assert found["_meta/overrides.json"]["overrides"]["one"].keys() == {
        "meta.order",
        "variants.default",
    }
    metadata = found["metadata.json"]
    hashes = metadata.pop("sha256")
    assert metadata == {
        "export_date": "2026-01-02",
        "version": "2.0",
        "prompt_count": 4,
        "domain_files": ["mine.json", "one.json", "shared.json"],
        "placeholder_count": 2,
    }
    assert hashes.keys() == found.keys() - {"metadata.json"}


def test_every_member_has_its_hash_a_fixed_time_and_fixed_rights(tmp_path: Path) -> None:
    data = export_set(load_layers(small_shipped(tmp_path), Layer("owner")))
    hashes = members(data)["metadata.json"]["sha256"]
    with zipfile.ZipFile(BytesIO(data)) as archive:
        assert archive.namelist() == sorted(archive.namelist())
        for info in archive.infolist():
            assert (info.date_time, info.external_attr >> 16) == ((1980, 1, 1, 0, 0, 0), 0o100644)
            if info.filename != "metadata.json":
                digest = hashlib.sha256(archive.read(info)).hexdigest()
                assert hashes[info.filename] == digest


def test_bases_of_an_older_shipped_set_survive_the_journey(tmp_path: Path) -> None:
    """What a newer Mentis changed stays a conflict at the other end."""
    shipped = small_shipped(tmp_path / "shipped")
    base = {"digest": digest_of({"content": "Old."}), "value": {"content": "Old."}}
    files = {
        "one.json": {"one": {"variants": {"default": {"content": "Mine."}}}},
        "_meta/overrides.json": {
            "version": "1.0",
            "overrides": {"one": {"variants.default": base}},
        },
    }
    loaded = load_layers(shipped, read_layer(write(tmp_path / "prompts", files), "owner"))
    after, _ = imported(export_set(loaded), shipped)
    assert after.owner.bases["one"]["variants.default"].value == {"content": "Old."}


def test_what_is_broken_is_not_left_out_in_silence(tmp_path: Path) -> None:
    shipped = small_shipped(tmp_path / "shipped")
    own = {"bad": {**ENTRY, "order": "x", "domain_file": "own.json"}, "one": {"order": "y"}}
    good = {"good": {**ENTRY, "domain_file": "own.json"}}
    files = {
        "_meta/user_manifest.json": {"version": "2.0", "prompts": {**own, **good}},
        "_meta/user_placeholder_registry.json": {
            "version": "1",
            "placeholders": {"who": {"resolve_phase": "x"}},
        },
        "own.json": {"bad": WORDING, "good": WORDING},
    }
    loaded = load_layers(shipped, read_layer(write(tmp_path / "prompts", files), "owner"))
    with pytest.raises(LibraryError) as caught:
        export_set(loaded)
    assert len(caught.value.problems) == 3
    found = members(export_set(loaded, partial=True))
    assert list(found["_meta/user_manifest.json"]["prompts"]) == ["good"]
    assert found["_meta/prompt_manifest.json"]["prompts"]["one"]["order"] == 10
    assert found["_meta/placeholder_registry.json"]["placeholders"]["who"] == WHO
    assert len(found["metadata.json"]["left_out"]) == 3
    assert str(tmp_path) not in str(found)


def test_an_entry_too_deep_to_be_read_again_is_not_exported(tmp_path: Path) -> None:
    deep: object = 1
    for _ in range(150):
        deep = [deep]
    files = {"one.json": {"one": {"note": deep}}}
    owner = read_layer(write(tmp_path / "prompts", files), "owner")
    with pytest.raises(LibraryError, match="nested too deeply"):
        export_set(load_layers(small_shipped(tmp_path / "shipped"), owner))
