from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from mentis.engines.cached import CachedEmbedder
from mentis.engines.catalogue import MINILM
from mentis.engines.embedders import open_embedder, reading
from mentis.engines.hashed import HashEmbedder
from mentis.engines.ngrams import NgramEmbedder
from mentis.engines.weights import install_weights
from mentis.errors import UsageError, WeightsMissing

pytestmark = pytest.mark.anyio


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


class Counting:
    fingerprint = "counting/8/l2"

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.calls.append(list(texts))
        return await HashEmbedder(8).embed(texts)


async def test_a_text_is_computed_once_and_the_answer_is_the_callers_own() -> None:
    inner = Counting()
    cached = CachedEmbedder(inner)
    first = await cached.embed(["a", "b", "a"])
    first[0][0] = 99.0
    second = await cached.embed(["b", "a"])
    assert inner.calls == [["a", "b"]]
    assert cached.hits == 2
    assert second[1] == first[2]
    assert cached.fingerprint == "counting/8/l2"


async def test_the_oldest_text_is_forgotten_first() -> None:
    inner = Counting()
    cached = CachedEmbedder(inner, capacity=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        await cached.embed([text])
    assert inner.calls == [["a"], ["b"], ["c"], ["b"]]


async def test_a_batch_larger_than_the_cache_is_answered_whole() -> None:
    cached = CachedEmbedder(Counting(), capacity=1)
    assert len(await cached.embed(["a", "b", "c"])) == 3


def test_a_cache_without_room_is_refused() -> None:
    with pytest.raises(UsageError):
        CachedEmbedder(Counting(), capacity=0)


async def test_letters_bring_related_spellings_close() -> None:
    embedder = NgramEmbedder(read=str, name="ngrams-1")
    near, far, nothing, word = await embedder.embed(["directories", "weather", "...", "directory"])
    assert cosine(near, word) > 0.5 > abs(cosine(far, word))
    assert not any(nothing)
    assert math.isclose(math.hypot(*near), 1)


async def test_without_weights_letters_stand_in_and_the_step_down_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENTIS_CACHE", str(tmp_path))
    embedder, degraded = open_embedder()
    assert embedder.fingerprint == f"ngrams-1+{reading()}/512/l2"
    (step,) = degraded
    assert step.part == "embedder"
    assert "mentis models install minilm-l6" in step.reason
    with pytest.raises(WeightsMissing):
        open_embedder("minilm")
    assert open_embedder("ngrams")[1] == ()


@pytest.mark.model
async def test_meaning_is_found_across_five_languages_and_vectors_stand_alone() -> None:
    install_weights(MINILM.name, lambda _done, _total: None)
    embedder, degraded = open_embedder("minilm")
    assert degraded == ()
    assert embedder.fingerprint.endswith("/640/l2")
    texts = [
        "remove a file for good",
        "lösche die Datei",
        "supprime le fichier",
        "apague o arquivo",
        "borra el archivo",
        "forecast of rain and wind",
    ]
    target, *same, other = await embedder.embed(texts)
    assert all(cosine(target, vector) > cosine(other, vector) + 0.2 for vector in same)
    assert all(math.isclose(math.hypot(*vector), 1, rel_tol=1e-5) for vector in same)
    fresh, _ = open_embedder("minilm")
    assert (await fresh.embed([texts[1]]))[0] == same[0]
