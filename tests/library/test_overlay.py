from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mentis.library.layer import Layer, make_layer
from mentis.library.load import load_layers
from mentis.library.overlay import find_conflicts, merge_block, owner_fields, shipped_fields

from .conftest import MANIFEST, OVERRIDES, Desk, shipped_with, text_of

NAMES = st.sampled_from(["order", "enabled", "name", "colour", "tags", "x", "y.z"])
PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
FIELDS = st.dictionaries(NAMES, PLAIN, max_size=4)
VARIANTS = st.dictionaries(
    st.sampled_from(["default", "compact", "new", "default@german"]),
    st.dictionaries(st.sampled_from(["content", "note"]), PLAIN, max_size=2),
    max_size=3,
)
EXTRA = st.dictionaries(st.sampled_from(["tool_descriptions", "seen"]), PLAIN, max_size=2)


def owner_layer(meta: object, content: object) -> Layer:
    documents = {
        MANIFEST: {"version": "2.0", "prompts": {"style": meta}},
        "style.json": {"style": content},
    }
    return make_layer("owner", documents, {}, {})


@given(FIELDS, VARIANTS, EXTRA)
def test_the_owners_fields_win_and_every_other_field_is_the_shipped_one(
    meta: dict[str, object], variants: dict[str, object], extra: dict[str, object]
) -> None:
    shipped = shipped_with()
    content = {"variants": variants, **extra}
    merged = merge_block("style", shipped, owner_layer(meta, content))
    below, above = shipped_fields("style", shipped), owner_fields(meta, content)
    assert owner_fields(merged.meta, merged.content) == {**below, **above}
    assert set(merged.overridden) == set(above)


@given(FIELDS, VARIANTS, EXTRA)
def test_whatever_the_owner_writes_a_shipped_block_is_never_missing(
    meta: dict[str, object], variants: dict[str, object], extra: dict[str, object]
) -> None:
    loaded = load_layers(shipped_with(), owner_layer(meta, {"variants": variants, **extra}))
    style = loaded.library.block("style")
    assert style is not None
    if any(problem.severity == "error" for problem in loaded.problems):
        assert style.name == "Style"


def test_a_field_only_one_side_changed_is_no_conflict_and_both_is(desk: Desk) -> None:
    desk.editor.save("style", variants={"default": "Ours."}, meta={"order": 25})
    desk.editor.save("mood", variants={"default": "Ours."})
    owner = desk.shelf.current().owner
    assert find_conflicts(shipped_with(), owner) == ()
    assert find_conflicts(shipped_with(law="New.", talk=""), owner) == ()
    (found,) = find_conflicts(shipped_with(style="Theirs."), owner)
    assert (found.block, found.field) == ("style", "variants.default")
    assert (found.base, found.ours, found.theirs) == (
        {"content": "Be calm."},
        {"content": "Ours."},
        {"content": "Theirs."},
    )


def test_both_sides_making_the_same_change_is_no_conflict(desk: Desk) -> None:
    desk.editor.save("style", variants={"default": "Same."})
    assert find_conflicts(shipped_with(style="Same."), desk.shelf.current().owner) == ()


def test_each_override_keeps_the_digest_and_the_text_it_replaced(desk: Desk) -> None:
    desk.editor.save("style", variants={"default": "Ours."})
    base = desk.read(OVERRIDES)["overrides"]["style"]["variants.default"]
    assert base["value"] == {"content": "Be calm."}
    assert base["digest"].startswith("sha256:")


def test_an_override_by_hand_works_without_a_base(desk: Desk) -> None:
    desk.write("style.json", {"style": text_of("By hand.")})
    assert desk.text("style") == "By hand."
    assert desk.text("style", "compact") == "Calm."
    assert desk.problems() == []
    desk.editor.save("style", meta={"order": 21})
    assert set(desk.read(OVERRIDES)["overrides"]["style"]) == {"meta.order", "variants.default"}
