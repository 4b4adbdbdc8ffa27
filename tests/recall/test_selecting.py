from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest

from mentis.engines.embedders import open_embedder
from mentis.engines.gloss import gloss
from mentis.engines.hashed import HashEmbedder
from mentis.engines.ngrams import NgramEmbedder
from mentis.engines.weights import install_weights
from mentis.errors import EngineFailed
from mentis.ports.embedder import Embedder
from mentis.recall.cuts import SelectionCut
from mentis.recall.manifest import WordReader, build_manifest
from mentis.recall.ranking import Ranking
from mentis.recall.selecting import select
from mentis.values.selection import Capability, Selection, SelectionLimits

READER = WordReader("gloss", gloss)
LETTERS = NgramEmbedder(read=gloss, name="ngrams-1")
CAPABILITIES = (
    Capability("read_file", "tool", "Open a file and return its contents."),
    Capability("get_weather", "tool", "Forecast rain and temperature.", stances=("act",)),
    Capability("make_call", "tool", "Dial a phone number."),
    Capability("poetry", "skill", "Write poems in rhyme."),
)

pytestmark = pytest.mark.anyio


class Failing:
    """An embedder that does what it is told to do wrong."""

    def __init__(self, answer: Sequence[float] | Exception) -> None:
        self._answer = answer

    fingerprint = LETTERS.fingerprint

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if isinstance(self._answer, Exception):
            raise self._answer
        return [list(self._answer) for _ in texts]


class Slow:
    fingerprint = LETTERS.fingerprint

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        await anyio.sleep_forever()
        return []


async def ranking_of(*capabilities: Capability) -> Ranking:
    return Ranking((await build_manifest(capabilities, LETTERS, READER))[0])


async def selected(
    task: str,
    embedder: Embedder | None = LETTERS,
    *,
    base: Sequence[str] = (),
    stance: str = "",
    limits: SelectionLimits | None = None,
) -> Selection:
    return await select(
        task,
        ranking=await ranking_of(*CAPABILITIES),
        embedder=embedder,
        reader=READER,
        base=base,
        stance=stance,
        limits=limits or SelectionLimits(),
    )


async def test_the_fitting_tool_comes_first_with_scores_and_reasons() -> None:
    found = await selected("open the file contents")
    assert found.step == "hybrid"
    assert found.tools[0] == "read_file"
    assert found.embedding_calls == 1
    assert found.degraded == ()
    best = found.candidates[0]
    assert (best.name, best.rank, best.chosen, best.reason) == ("read_file", 1, True, "the best")
    assert best.dense is not None
    assert all(one.reason for one in found.candidates)
    assert any(not one.chosen for one in found.candidates)


async def test_another_language_finds_the_same_tool() -> None:
    for task in ("öffne die Datei", "ouvre le fichier", "abra o arquivo", "abre el archivo"):
        assert (await selected(task)).tools[0] == "read_file"


async def test_the_same_task_gives_the_same_selection() -> None:
    assert await selected("dial a number") == await selected("dial a number")


async def test_the_base_set_comes_first_and_stays_within_the_cap() -> None:
    base = ("memory", "read_file")
    found = await selected("dial a number", base=base)
    assert found.tools == ("memory", "read_file", "make_call")
    few = await selected("dial a number", base=base, limits=SelectionLimits(max_tools=2))
    assert few.tools == base
    assert "there is no more room" in [one.reason for one in few.candidates]


async def test_a_tool_for_another_stance_is_not_considered() -> None:
    assert "get_weather" in (await selected("rain forecast", stance="act")).tools
    assert "get_weather" not in (await selected("rain forecast", stance="plan")).tools


@pytest.mark.parametrize(
    ("embedder", "part", "said"),
    [
        (None, "embedder", "there is none"),
        (HashEmbedder(512), "manifest", "was made by ngrams-1"),
        (Failing(EngineFailed("it broke")), "embedder", "failed (it broke)"),
        (Failing([1.0, 2.0]), "embedder", "gave 2 dimensions"),
        (Failing([float("nan")] * 512), "embedder", "not a number"),
        (Slow(), "embedder", "took more than 0 s"),
    ],
)
async def test_without_a_fitting_vector_words_decide_and_the_step_is_recorded(
    embedder: Embedder | None, part: str, said: str
) -> None:
    found = await selected("dial a number", embedder, limits=SelectionLimits(embed_seconds=0))
    assert found.step == "lexical"
    assert found.tools == ("make_call",)
    assert all(one.dense is None for one in found.candidates)
    assert [step.part for step in found.degraded] == [part]
    assert said in found.degraded[0].reason


async def test_with_nothing_to_rank_the_base_set_is_left() -> None:
    for ranking in (None, await ranking_of()):
        found = await select("x", ranking=ranking, embedder=LETTERS, reader=READER, base=("a",))
        assert (found.tools, found.step) == (("a",), "base")
        assert [step.part for step in found.degraded] == ["manifest"]


async def test_an_empty_task_embeds_nothing() -> None:
    found = await selected(" \n", base=("a",))
    assert (found.tools, found.step, found.embedding_calls) == (("a",), "base", 0)
    assert [step.part for step in found.degraded] == ["task"]


async def test_a_huge_task_is_read_in_part_and_that_is_recorded() -> None:
    found = await selected("dial a number " * 80_000)
    assert found.tools[0] == "make_call"
    assert [step.reason for step in found.degraded] == ["read up to 8000 of 1120000 characters"]


@pytest.mark.parametrize(
    "task", ["😀😀", "\ud83d half", "# TASK\n</tools>", "\x00\u202e", "日本語"]
)
async def test_odd_tasks_are_selected_for_like_any_other(task: str) -> None:
    assert (await selected(task)).embedding_calls == 1


async def test_equal_scores_stand_by_name() -> None:
    twins = [Capability(name, "tool", "same words") for name in ("zz", "aa")]
    ranking = await ranking_of(*twins)
    ranked = ranking.by_words("same words")
    assert [one.name for one in ranked] == ["aa", "zz"]


async def test_an_embedder_nobody_measured_is_cut_as_planned_and_that_is_recorded() -> None:
    unheard = NgramEmbedder(read=gloss, name="unheard-of")
    manifest, _ = await build_manifest(CAPABILITIES, unheard, READER)
    found = await select(
        "dial a phone number", ranking=Ranking(manifest), embedder=unheard, reader=READER
    )
    assert found.tools == ("make_call",)
    assert [step.part for step in found.degraded] == ["cut"]
    assert "0.58" in found.degraded[0].reason
    own = Ranking(manifest, {"unheard-of": SelectionCut(0.0, 2.0)})
    found = await select("dial a phone number", ranking=own, embedder=unheard, reader=READER)
    assert len(found.tools) > 1
    assert found.degraded == ()


async def test_a_skill_has_a_floor_of_its_own() -> None:
    manifest = (await ranking_of(*CAPABILITIES)).manifest
    task = "write poems in rhyme about rain and temperature"
    for floor, skills in ((0.01, ("poetry",)), (0.99, ())):
        ranking = Ranking(manifest, {"ngrams-1": SelectionCut(0.01, 2.0, floor)})
        found = await select(task, ranking=ranking, embedder=LETTERS, reader=READER)
        assert found.skills == skills
        assert "get_weather" in found.tools


@pytest.mark.model
@pytest.mark.parametrize("talk", ["you really made me laugh, thanks", "na du, alles gut bei dir?"])
async def test_small_talk_brings_up_nothing_but_the_base_set(talk: str) -> None:
    install_weights("minilm-l6", lambda _done, _total: None)
    embedder, _ = open_embedder("minilm")
    ranking = Ranking((await build_manifest(CAPABILITIES, embedder, READER))[0])
    for task in (talk, "dial 555 0100", "I'm so tired, what does the file notes.txt say?"):
        found = await select(
            task, ranking=ranking, embedder=embedder, reader=READER, base=("make_call",)
        )
        assert found.tools[0] == "make_call"
        chatted = {one.reason for one in found.candidates if not one.chosen}
        assert ("the task is nearer to small talk" in chatted) == (task == talk)
