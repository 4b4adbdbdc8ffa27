from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from mentis.engines.cached import CachedEmbedder
from mentis.engines.hashed import HashEmbedder
from mentis.errors import BadInput, EngineFailed
from mentis.recall.catalogue import as_known, missing_vectors, words_manifest
from mentis.recall.embedding import LONGEST, embed_once
from mentis.recall.manifest import WordReader, build_manifest
from mentis.recall.ranking import Ranking
from mentis.recall.recall import RecallAim, recall
from mentis.values.cognition import Memory, Screening
from mentis.values.memories import FoundMemories, ScoredMemory
from mentis.values.memory_kind import MemoryKind
from mentis.values.recalled import EmbeddedText, Stimulus
from mentis.values.selection import Capability, SelectionLimits
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

pytestmark = pytest.mark.anyio
READER = WordReader("as-it-is", lambda text: text)
CALL = Capability("make_call", "tool", "Dial a telephone number.")
READ = Capability("read_file", "tool", "Open a file and show it.")
POEMS = Capability("poetry", "skill", "Write a poem that rhymes.")
TOOLS = {name: ToolDeclaration(name, "") for name in ("make_call", "read_file", "memory")}
RANKING = Ranking(words_manifest((CALL, READ, POEMS), READER))


class Broken:
    fingerprint = "broken/2/l2"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        raise EngineFailed("it broke")


def wordy(text: str) -> EmbeddedText:
    return EmbeddedText(text, text)


def row(
    name: str, kind: MemoryKind = "fact", *, chosen: bool = True, dropped: bool = False
) -> ScoredMemory:
    screening = Screening("dropped") if dropped else None
    memory = Memory(name, f"number {name}", kind=kind, trust=Trust.OWNER, screening=screening)
    return ScoredMemory(memory, 1.0, chosen, "lexical place 1", lexical_rank=1)


async def test_a_text_is_embedded_once_and_a_cache_says_that_it_knew() -> None:
    embedder = CachedEmbedder(HashEmbedder(4))
    first = await embed_once("dial", embedder, reader=READER)
    again = await embed_once("dial", embedder, reader=READER)
    assert (first.calls, first.cache_hits, first.model) == (1, 0, "hash-sha256/4/l2")
    assert again == replace(first, cache_hits=1)


async def test_a_cache_forgets_what_was_not_asked_for_longest() -> None:
    embedder = CachedEmbedder(HashEmbedder(4), capacity=2)
    for text in ("a", "b", "a", "c"):
        await embed_once(text, embedder, reader=READER)
    assert [embedder.knows(text) for text in "abc"] == [True, False, True]


@pytest.mark.parametrize(("embedder", "calls"), [(None, 0), (Broken(), 1)])
async def test_without_a_vector_there_are_words_and_the_reason(
    embedder: Broken | None, calls: int
) -> None:
    made = await embed_once("dial", embedder, reader=READER)
    assert (made.vector, made.reading, made.calls) == (None, "dial", calls)
    assert [step.part for step in made.degraded] == ["embedder"]


async def test_only_the_beginning_of_a_huge_text_is_compared() -> None:
    made = await embed_once("x" * 1_000_000, HashEmbedder(4), reader=READER)
    assert len(made.text) == LONGEST
    assert made.degraded[0].reason == "read up to 8000 of 1000000 characters"


def test_tools_skills_and_memories_come_from_one_text() -> None:
    asked: list[EmbeddedText] = []

    def search(embedded: EmbeddedText) -> FoundMemories:
        asked.append(embedded)
        return FoundMemories(
            embedded.text, "lexical", hits=(row("a"), row("b"), row("c"), row("d"))
        )

    embedded = wordy("dial a number and write a poem")
    found = recall(
        Stimulus(embedded.text),
        embedded=embedded,
        tools=TOOLS,
        ranking=RANKING,
        search=search,
        aim=RecallAim(base=("memory", "unknown")),
    )
    assert asked == [embedded]
    assert [tool.name for tool in found.tools] == ["memory", "make_call"]
    assert [skill.name for skill in found.skills] == ["poetry"]
    assert [span.text for span in found.memories] == ["number a", "number b", "number c"]
    assert {one.name: one.chosen for one in found.candidates}["read_file"] is False
    missed = [(one.name, one.reason) for one in found.candidates if one.kind == "memory"]
    assert missed == [("d", "lexical place 1; there is no more room")]


def test_what_may_not_be_told_is_counted_wherever_it_was_kept_out() -> None:
    def search(embedded: EmbeddedText) -> FoundMemories:
        near = (row("b", "system", chosen=False), row("c", chosen=False, dropped=True))
        return FoundMemories(
            embedded.text, "lexical", hits=(row("a", "override"),), near=near, filtered=2
        )

    found = recall(Stimulus("x"), embedded=wordy("x"), tools={}, search=search)
    assert (found.memories, found.filtered) == ((), 5)
    assert [one.name for one in found.candidates] == ["a", "b", "c"]


def test_without_room_for_memories_none_are_searched() -> None:
    def search(embedded: EmbeddedText) -> FoundMemories:
        raise AssertionError(embedded)

    limits = SelectionLimits(max_memories=0)
    found = recall(
        Stimulus("x"), embedded=wordy("x"), tools={}, search=search, aim=RecallAim(limits=limits)
    )
    assert found.found is None


async def test_a_tool_that_is_gone_is_not_selected_and_a_changed_one_is_unknown() -> None:
    manifest, _ = await build_manifest(
        [replace(CALL, examples=("ring them",)), READ], HashEmbedder(4), READER
    )
    there = as_known((POEMS, CALL, replace(READ, description="Reads.")), manifest)
    assert [one.name for one in there] == ["poetry", "make_call", "read_file"]
    assert there[1].examples == ("ring them",)
    missing = missing_vectors(there, manifest, model="hash-sha256/4/l2", reading="as-it-is")
    assert [one.name for one in missing] == ["poetry", "read_file"]


async def test_vectors_of_two_widths_are_never_mixed() -> None:
    class Lying:
        fingerprint = "hash-sha256/4/l2"

        async def embed(self, texts: Sequence[str]) -> list[list[float]]:
            return [[1.0] * 8 for _ in texts]

    manifest, _ = await build_manifest([CALL], HashEmbedder(4), READER)
    with pytest.raises(BadInput, match="vectors of 4 and 8 dimensions"):
        await build_manifest([CALL, READ], Lying(), READER, previous=manifest)


@pytest.mark.slow
def test_a_hundred_thousand_tools_are_ranked_like_ten() -> None:
    many = [Capability(f"tool_{number:06}", "tool", f"does {number}") for number in range(100_000)]
    ranking = Ranking(words_manifest((*many, CALL), READER))
    found = recall(
        Stimulus("dial"), embedded=wordy("dial a telephone"), tools=TOOLS, ranking=ranking
    )
    assert [tool.name for tool in found.tools] == ["make_call"]
    assert len(found.candidates) < 10
