"""Other words in one block, checked like an edit; the library itself stays as it is."""

from __future__ import annotations

import pytest

from mentis.errors import LibraryError
from mentis.library.forking import reword_block
from mentis.values.block import Block, Message, Variant
from mentis.values.library import Library
from mentis.values.placeholder import Placeholder
from mentis.values.stability import Stability

STYLE = Block(
    "style",
    "Style",
    1,
    "system_prompt",
    "system_prompt",
    {"default": Variant("As it was."), "compact": Variant("Short.")},
    stability=Stability.STABLE,
)
DIALOGUE = Block(
    "dialogue",
    "Dialogue",
    2,
    "message",
    "history",
    {"default": Variant(messages=(Message("user", "Hi."),))},
    type="multi_turn",
)
NAMED = Block("named", "Named", 3, "system_prompt", "system_prompt", {"small": Variant("x")})
CLOCK = Placeholder("clock", "computed", "computed", Stability.TURN)
LIBRARY = Library("sha256:0", (STYLE, DIALOGUE, NAMED), {"clock": CLOCK}, {})


def changed(block: str, text: str, variant: str = "default") -> Library:
    return reword_block(LIBRARY, block, text, variant=variant, language="english")


def test_only_the_wording_that_serves_is_changed_and_the_revision_is_new() -> None:
    for variant, served in (("default", "default"), ("compact", "compact"), ("other", "default")):
        library = changed("style", "Other words.", variant)
        block = library.block("style")
        assert block is not None
        assert block.variants == {**STYLE.variants, served: Variant("Other words.")}
        assert library.blocks[1:] == LIBRARY.blocks[1:]
        assert library.revision != LIBRARY.revision
        assert library == changed("style", "Other words.", variant)
    assert changed("style", "a").revision != changed("style", "b").revision


@pytest.mark.parametrize(
    ("block", "text", "words"),
    [
        ("styel", "x", "had no block 'styel'"),
        ("dialogue", "x", "holds messages"),
        ("named", "x", "no wording for default@english"),
        ("style", "It is {{clock}}.", "declared stable"),
    ],
)
def test_what_an_edit_would_refuse_is_refused(block: str, text: str, words: str) -> None:
    with pytest.raises(LibraryError, match=words) as refused:
        changed(block, text)
    assert refused.value.hint
