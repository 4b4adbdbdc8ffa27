from __future__ import annotations

import numpy as np
import pytest

from mentis.engines.embedders import open_embedder
from mentis.engines.weights import install_weights
from mentis.recall.phrasebook import Phrasebook, asked, phrasebook_for

MODEL = "minilm-l6-v2+gloss-00000000+ngrams-1/640/l2"


def test_what_ships_is_whole_and_says_each_thing_once() -> None:
    entries = asked()
    assert len({one.name for one in entries}) == len(entries) > 150
    assert all(one.description and len(one.phrases) > 1 for one in entries)
    assert phrasebook_for(MODEL) is not None  # the digest of the vectors is that of the texts


def test_vectors_of_another_embedder_are_not_leaned() -> None:
    for model in ("ngrams-1+gloss-00000000/512/l2", "minilm-l6-v2+gloss-00000000/384/l2", "words"):
        assert phrasebook_for(model) is None


def test_a_task_moves_towards_what_is_described_and_not_when_nothing_is_near() -> None:
    described, said, far = np.eye(3, dtype=np.float32)
    book = Phrasebook(np.array([described, said, said]), [3])
    moved = book.lean(said)
    assert moved @ described > 0.3
    assert float(np.linalg.norm(moved)) == pytest.approx(1)
    assert np.array_equal(book.lean(far), far)


@pytest.mark.model
@pytest.mark.anyio
async def test_the_vectors_that_ship_are_those_of_the_embedder() -> None:
    """They are kept in a byte for each number: close, not equal."""
    install_weights("minilm-l6", lambda _done, _total: None)
    embedder, _ = open_embedder("minilm")
    book = phrasebook_for(embedder.fingerprint)
    assert book is not None
    texts = [text for one in asked() for text in one.texts]
    chosen = range(0, len(texts), 97)
    for number, vector in zip(
        chosen, await embedder.embed([texts[number] for number in chosen]), strict=True
    ):
        assert float(book.rows[number] @ np.array(vector, dtype=np.float32)) > 0.995
