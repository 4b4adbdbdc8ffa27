"""Every setting stands in a guide or a concept page, where somebody says when to turn it."""

from __future__ import annotations

import re
from pathlib import Path

from mentis.settings.settings import constants, describe

ROOT = Path(__file__).parents[2]
PAGES = [*(ROOT / "docs/guides").glob("*.md"), *(ROOT / "docs/concepts").glob("*.md")]
_NAMED = re.compile(r"[a-z_]+(?:\.[a-zA-Z_0-9]+)+|`[a-z]+`")


TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def test_every_setting_stands_in_a_guide_or_a_concept_page() -> None:
    named = {key.strip("`") for key in _NAMED.findall(TEXT)}
    assert [one.key for one in describe() if one.key not in named] == []


def test_no_page_sends_anybody_to_a_key_that_is_none_any_more() -> None:
    assert [key for key in map(".".join, constants()) if f"`{key}`" in TEXT] == []
