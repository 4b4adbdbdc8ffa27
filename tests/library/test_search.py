from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.errors import UsageError
from mentis.library.load import load_shipped
from mentis.library.search import Match, Usages, search, usages
from mentis.values.block import Block, Message, Variant
from mentis.values.library import Library
from mentis.values.placeholder import Placeholder
from mentis.values.stability import Stability


def block(block_id: str, text: str = "", **fields: Any) -> Block:  # noqa: ANN401  # any field
    fields = {"name": block_id.title(), "variants": {"default": Variant(text)}, **fields}
    return Block(block_id, order=1, target="system_prompt", position="system_prompt", **fields)


def library(*blocks: Block, keys: tuple[str, ...] = ()) -> Library:
    registered = {key: Placeholder(key, "static", "static", Stability.STABLE) for key in keys}
    return Library("sha256:0", blocks, registered, {})


def test_a_block_is_found_by_id_then_name_then_description_then_content() -> None:
    blocks = library(
        block("tone"),
        block("a", name="The Tone"),
        block("b", description="sets a tone"),
        block("c", "Mind your tone."),
        block("d", "Nothing here."),
    )
    assert [(match.block, match.where) for match in search(blocks, "TONE")] == [
        ("tone", "id"),
        ("a", "name"),
        ("b", "description"),
        ("c", "content"),
    ]


def test_messages_and_all_variants_are_searched() -> None:
    turns = Variant(messages=(Message("user", "one"), Message("assistant", "two needles")))
    blocks = library(
        block("a", variants={"default": turns}),
        block("b", variants={"default": Variant("x"), "compact@german": Variant("needle")}),
    )
    assert [match.block for match in search(blocks, "needle")] == ["a", "b"]


def test_the_excerpt_is_one_line_around_the_words() -> None:
    text = "a" * 50 + "\n\nthe needle\n" + "b" * 50
    (match,) = search(library(block("x", text)), "needle")
    assert match == Match("x", "content", f"…{'a' * 34} the needle {'b' * 39}…")


@pytest.mark.parametrize(
    ("text", "wanted"), [("Große Straße", "STRASSE"), ("İstanbul", "i"), ("ﬁne", "fi")]
)
def test_case_is_folded_also_where_that_changes_the_length(text: str, wanted: str) -> None:
    assert search(library(block("x", text)), wanted)


@pytest.mark.parametrize("nothing", ["", "  \n"])
def test_searching_for_nothing_is_refused(nothing: str) -> None:
    with pytest.raises(UsageError):
        search(library(), nothing)


@given(st.text(min_size=1), st.text(), st.text())
def test_what_is_in_a_text_is_found_in_it(wanted: str, before: str, after: str) -> None:
    found = (
        search(library(block("0", before + wanted + after, name="")), wanted)
        if (wanted.strip())
        else ()
    )
    assert [match.block for match in found] == (["0"] if wanted.strip() else [])


def test_usages_name_the_blocks_the_orphans_and_the_unused() -> None:
    turns = Variant(messages=(Message("user", "{{in_message}}"),))
    blocks = library(
        block("a", "{{name}} {{name}} {{ghost}} {{ spaced }}"),
        block("b", variants={"default": turns}, requires_any=("asked",)),
        block("c", variants={"default": Variant("{{name}}"), "x": Variant("{{other}}")}),
        keys=("name", "asked", "in_message", "other", "idle"),
    )
    assert usages(blocks) == Usages(
        by_key={
            "asked": ("b",),
            "ghost": ("a",),
            "in_message": ("b",),
            "name": ("a", "c"),
            "other": ("c",),
        },
        orphaned=("ghost",),
        unused=("idle",),
    )


def test_nothing_shipped_is_orphaned() -> None:
    assert usages(load_shipped()).orphaned == ()
