from __future__ import annotations

import numpy as np
import pytest

from mentis.engines.embedders import open_embedder
from mentis.engines.weights import install_weights
from mentis.recall.phrasebook import CHATTER, Phrasebook, load_phrases, phrasebook_for, small_talk

MODEL = "minilm-l6-v2+gloss-00000000+ngrams-1/640/l2"


def test_what_ships_is_whole_and_says_each_thing_once() -> None:
    entries = load_phrases()
    assert len({one.name for one in entries}) == len(entries) > 150
    assert all(one.description and len(one.phrases) > 1 for one in entries)
    assert len(set(small_talk())) == len(small_talk()) > 100
    assert phrasebook_for(MODEL) is not None  # the digest of the vectors is that of the texts


def test_vectors_of_another_embedder_are_not_leaned() -> None:
    for model in ("ngrams-1+gloss-00000000/512/l2", "minilm-l6-v2+gloss-00000000/384/l2", "words"):
        assert phrasebook_for(model) is None


def book(said: list[list[float]], counts: list[int]) -> Phrasebook:
    """Three directions, kept as they are; the first row of each entry is its description."""
    rows = np.array(said, dtype=np.float32)
    sizes = np.array(counts, dtype=np.int64)
    described = rows[np.cumsum(sizes) - sizes]
    return Phrasebook(rows, np.eye(3, dtype=np.float32), described, counts)


def test_a_task_moves_towards_what_is_described_and_not_when_nothing_is_near() -> None:
    described, said, far = np.eye(3, dtype=np.float32)
    phrases = book([described.tolist(), said.tolist(), said.tolist()], [3])
    moved, chatter = phrases.lean(said)
    assert moved @ described > 0.3
    assert float(np.linalg.norm(moved)) == pytest.approx(1)
    assert chatter == -1  # there is no small talk to compare it with
    assert np.array_equal(phrases.lean(far).vector, far)


def test_small_talk_is_what_it_resembles_twice() -> None:
    asked_for, talk = [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]
    phrases = book([asked_for, asked_for, talk, talk], [2])
    assert phrases.lean(np.array(talk, dtype=np.float32)).chatter == 1
    assert phrases.lean(np.array(asked_for, dtype=np.float32)).chatter == 0


@pytest.mark.model
@pytest.mark.anyio
async def test_the_vectors_that_ship_are_those_of_the_embedder() -> None:
    """They are kept in a byte for each number: close, not equal."""
    install_weights("minilm-l6", lambda _done, _total: None)
    embedder, _ = open_embedder("minilm")
    phrases = phrasebook_for(embedder.fingerprint)
    assert phrases is not None
    texts = [*(text for one in load_phrases() for text in one.texts), *small_talk()]
    chosen = range(0, len(texts), 97)
    for number, vector in zip(
        chosen, await embedder.embed([texts[number] for number in chosen]), strict=True
    ):
        said = phrases.said[number]
        seen = phrases.directions @ np.array(vector, dtype=np.float32)
        assert said @ seen / np.linalg.norm(said) / np.linalg.norm(seen) > 0.995


@pytest.mark.model
@pytest.mark.anyio
@pytest.mark.parametrize(
    "text", ["thanks, you made my day", "na du, alles fit?", "tu es un amour", "que risa, jajaja"]
)
async def test_talk_that_asks_for_nothing_is_told_from_a_task(text: str) -> None:
    install_weights("minilm-l6", lambda _done, _total: None)
    embedder, _ = open_embedder("minilm")
    phrases = phrasebook_for(embedder.fingerprint)
    assert phrases is not None
    talk, task = await embedder.embed([text, "turn the heating up in the kitchen"])
    said = phrases.lean(np.array(talk, dtype=np.float32)).chatter
    assert said > CHATTER + phrases.lean(np.array(task, dtype=np.float32)).chatter
