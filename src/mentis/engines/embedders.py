"""The embedder of this machine: by meaning where its weights are installed, else by letters.

Both read German, French, Portuguese and Spanish through the gloss into English.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from anyio import to_thread

from mentis.errors import EngineMissing, WeightsMissing
from mentis.ports.embedder import Embedder
from mentis.values.trace import Degradation

from .cached import CachedEmbedder
from .catalogue import MINILM
from .gloss import gloss, load_glossary
from .minilm import DIMENSION, MiniLm
from .ngrams import NgramEmbedder, ngram_vector
from .shared_lock import SharedLock
from .weights import find_weights

Choice = Literal["auto", "minilm", "ngrams"]
# Measured on the half of the evaluation set that is tuned on: less finds fewer rare names and
# misspelled words, more drowns the meaning.
_LETTERS = 256
_LETTER_SHARE = 0.3


class GlossedMiniLm:
    """Meaning (the gloss through MiniLM) and letters (of the text as it came) in one vector."""

    def __init__(self, weights: Path) -> None:
        self._weights = weights
        self._model: MiniLm | None = None
        self._lock = (
            SharedLock()
        )  # one text at a time: two threads on busy cores are slower than one
        self._busy = threading.Lock()  # also when somebody no longer waits for the one before

    @property
    def fingerprint(self) -> str:
        return f"minilm-l6-v2+gloss-{_glossary()}+ngrams-1/{DIMENSION + _LETTERS}/l2"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Whoever stops waiting need not wait for the text that is in the works."""
        unwanted = threading.Event()
        async with self._lock:
            try:
                return await to_thread.run_sync(
                    self._vectors, tuple(texts), unwanted, abandon_on_cancel=True
                )
            finally:
                unwanted.set()

    def _vectors(self, texts: Sequence[str], unwanted: threading.Event) -> list[list[float]]:
        with self._busy:
            if self._model is None:
                self._model = MiniLm(self._weights, self._weights.with_name("vocab.txt"))
            wanted = (text for text in texts if not unwanted.is_set())
            return [self._vector(self._model, text) for text in wanted]

    def _vector(self, model: MiniLm, text: str) -> list[float]:
        meaning = model.vector(gloss(text)).tolist()
        letters = ngram_vector(text, _LETTERS)
        share = _LETTER_SHARE if any(letters) else 0.0
        length = (1 + share * share) ** 0.5
        return [value / length for value in (*meaning, *(share * value for value in letters))]


def open_embedder(choice: Choice = "auto") -> tuple[Embedder, tuple[Degradation, ...]]:
    """The embedder asked for, or the best there is, with a step down the ladder if it took one."""
    if choice == "ngrams":
        return _by_letters(), ()
    try:
        _need_numpy()
        return CachedEmbedder(GlossedMiniLm(find_weights(MINILM.name))), ()
    except (EngineMissing, WeightsMissing) as error:
        if choice == "minilm":
            raise
        reason = f"{error.message}: compared by letters, not by meaning ({error.hint})"
        return _by_letters(), (Degradation("embedder", reason),)


def reading() -> str:
    """Which gloss `gloss` makes; texts read by two of them are never compared."""
    return f"gloss-{_glossary()}"


def _by_letters() -> Embedder:
    return CachedEmbedder(NgramEmbedder(read=gloss, name=f"ngrams-1+{reading()}"))


def _glossary() -> str:
    return load_glossary().digest[:8]


def _need_numpy() -> None:
    if "numpy" not in sys.modules:
        # Read once, when numpy is loaded. A product this small is slower on two threads than on
        # one, ten times slower where both spin on busy cores.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if find_spec("numpy") is None:
        raise EngineMissing(
            "embeddings need numpy, which is not installed", hint='pip install "mentis[recall]"'
        )
