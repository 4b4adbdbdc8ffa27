from __future__ import annotations

from dataclasses import replace

from mentis.values.block import Block, Variant, pick_variant
from mentis.values.digest import digest
from mentis.values.entry import Finding, Verdict
from mentis.values.library import Library
from mentis.values.location import Location, Problem
from mentis.values.part import ReasoningPart, TextPart, ToolResultPart
from mentis.values.turn import Turn


def block_with(*names: str) -> Block:
    variants = {name: Variant(content=name) for name in names}
    return Block("b", "B", 1, "system_prompt", "system_prompt", variants)


def picked(block: Block, variant: str, language: str) -> str | None:
    found = pick_variant(block, variant, language)
    return found.content if found else None


def test_a_variant_is_looked_up_with_its_language_first_and_the_default_last() -> None:
    everything = block_with("compact@de", "compact", "default@de", "default")
    assert picked(everything, "compact", "de") == "compact@de"
    assert picked(block_with("compact", "default@de"), "compact", "de") == "compact"
    assert picked(block_with("default@de", "default"), "compact", "de") == "default@de"
    assert picked(block_with("default"), "compact", "de") == "default"
    assert picked(block_with("other"), "compact", "de") is None


def test_a_wording_of_the_owners_is_told_before_every_shipped_one() -> None:
    everything = block_with("compact@de", "compact", "default@de", "default")
    assert picked(replace(everything, owned=("default",)), "compact", "de") == "default"
    assert picked(replace(everything, owned=("default", "default@de")), "x", "de") == "default@de"
    assert picked(replace(everything, owned=("compact", "default")), "compact", "de") == "compact"
    assert picked(replace(everything, owned=("compact",)), "default", "de") == "default@de"


def test_a_block_is_found_in_the_library_by_its_id() -> None:
    block = block_with("default")
    library = Library("r", (block,), {}, {})
    assert library.block("b") is block
    assert library.block("c") is None


def test_a_problem_reads_like_a_compiler_message() -> None:
    problem = Problem("typo", "no such key", Location("mentis.toml", 3, 7))
    assert str(problem) == "mentis.toml:3:7: error: no such key [typo]"
    assert str(Problem("typo", "no such key", severity="warning")) == "warning: no such key [typo]"


def test_the_text_of_a_turn_is_what_was_said_not_what_was_thought_or_returned() -> None:
    parts = (ReasoningPart("hm"), TextPart("a"), ToolResultPart("1", "t", "x"), TextPart("b"))
    assert Turn("assistant", parts).text == "ab"


def test_a_verdict_is_intact_when_nothing_was_found() -> None:
    assert Verdict("ada", 1, "h", (), "unknown").intact
    assert not Verdict("ada", 1, "h", (Finding(0, "hash", "differs"),), "unknown").intact


def test_a_digest_names_its_algorithm() -> None:
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert digest(b"") == f"sha256:{empty}"
