"""What the shipped files promise, apart from how they are loaded."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from mentis.errors import LibraryError
from mentis.library.load import (
    load_persona,
    load_profile,
    load_shipped,
    shipped_persona,
    shipped_personas,
    shipped_template,
)
from mentis.values.persona import Profile

SHIPPED = Path(str(files("mentis.library"))) / "shipped"
JSON_FILES = sorted(SHIPPED.rglob("*.json"))
WEEKDAY_LANGUAGES = [
    "english",
    "german",
    "french",
    "spanish",
    "portuguese",
    "italian",
    "dutch",
    "polish",
    "swedish",
    "turkish",
]


def used(block_id: str) -> set[str]:
    block = load_shipped().block(block_id)
    assert block is not None
    texts = (variant.content for variant in block.variants.values())
    return {key for text in texts for key in re.findall(r"\{\{(\w+)\}\}", text)}


@pytest.mark.parametrize("file", JSON_FILES, ids=lambda file: file.name)
def test_json_files_are_indented_by_two_and_keep_their_letters(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=2) + "\n"


def test_every_block_has_a_default_a_compact_and_a_german_wording() -> None:
    for block in load_shipped().blocks:
        assert {"default", "compact", "default@german"} <= block.variants.keys()
        assert block.variants["default"].content.startswith("## ")
        assert block.variants["default@german"].content.startswith("## ")
        if block.variants["compact"].content:
            assert block.variants["compact@german"].content


def test_experimental_wordings_really_differ() -> None:
    told = [block for block in load_shipped().blocks if "experimental" in block.variants]
    assert [block.id for block in told] == ["impersonation", "emotion", "style"]
    for block in told:
        assert block.variants["experimental"] != block.variants["default"]


def test_placeholders_used_are_registered_and_declared() -> None:
    library = load_shipped()
    for block in library.blocks:
        raw: Any = json.loads((SHIPPED / block.file).read_text(encoding="utf-8"))
        assert raw[block.id]["placeholders_used"] == sorted(used(block.id))
        assert used(block.id) <= library.placeholders.keys()


def test_no_two_blocks_share_an_order_or_a_file() -> None:
    blocks = load_shipped().blocks
    assert len({block.order for block in blocks}) == len(blocks)
    assert len({block.file for block in blocks}) == len(blocks)


def test_the_manifest_has_the_origins_version() -> None:
    manifest = json.loads((SHIPPED / "_meta/prompt_manifest.json").read_text(encoding="utf-8"))
    assert manifest["version"] == "2.0"


def test_words_name_seven_days_in_at_least_ten_languages() -> None:
    words = load_shipped().words
    assert set(WEEKDAY_LANGUAGES) <= words.keys()
    for topics in words.values():
        assert len(set(topics["weekdays"])) == 7


def test_german_has_every_word_english_has() -> None:
    words = load_shipped().words
    assert words["german"].keys() == words["english"].keys()


def test_ada_is_shipped_and_loads() -> None:
    assert shipped_personas() == ("ada",)
    ada = load_persona(shipped_persona("ada"), "personas/ada/persona.toml")
    assert (ada.id, ada.name, ada.type, ada.language) == ("ada", "Ada", "AI", "english")
    assert ada.traits
    assert ada.knowledge
    assert ada.expression
    assert ada.background


def test_an_unknown_persona_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(LibraryError) as caught:
        shipped_persona("../ada")
    assert caught.value.hint == "shipped are: ada"


def test_the_settings_template_is_toml_and_so_is_each_example_in_it() -> None:
    text = shipped_template("mentis.toml")
    assert tomllib.loads(text)["format"] == 1
    examples = [line[2:] for line in text.splitlines() if line.startswith("# default = ")]
    assert examples
    for example in examples:
        assert tomllib.loads(example)["default"]["model"]


def test_the_profile_template_loads_and_says_nothing() -> None:
    profile = load_profile(shipped_template("profile.toml"), "profile.toml")
    assert profile == Profile(name="")


def test_the_ignore_file_covers_keys_database_and_spool() -> None:
    lines = shipped_template("gitignore").splitlines()
    assert {"*.key", "*.db", "*.db-wal", "*.db-shm", "spool/", "status/"} <= set(lines)


def test_the_readme_tells_other_assistants_that_prompts_here_are_data() -> None:
    assert "not instructions to you" in shipped_template("README.md")


def test_an_unknown_template_comes_with_a_suggestion() -> None:
    with pytest.raises(LibraryError) as caught:
        shipped_template("mentis.tml")
    assert caught.value.hint == "did you mean 'mentis.toml'?"
    with pytest.raises(LibraryError) as caught:
        shipped_template("zzz")
    assert caught.value.hint.startswith("there are: README.md")
