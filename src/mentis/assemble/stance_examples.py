"""Example tasks of each stance, embedded once for each embedder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mentis.errors import EngineFailed
from mentis.ports.embedder import Embedder
from mentis.recall.embedding import Patience
from mentis.recall.stance import Stance, StanceName, infer_stance, load_stances
from mentis.tools.missing_vectors import BackOff, GrowingEmbedder
from mentis.values.recalled import EmbeddedText
from mentis.values.trace import Degradation

_Vectors: TypeAlias = Mapping[StanceName, Sequence[Sequence[float]]]


@dataclass(frozen=True, slots=True)
class InferredStance:
    """`embedded` examples were new to this call."""

    stance: Stance
    embedded: int = 0
    degraded: tuple[Degradation, ...] = ()


class StanceExamples:
    """Held by whoever lets meaning decide the stance."""

    def __init__(self) -> None:
        self._vectors: dict[str, _Vectors] = {}
        self._growing: GrowingEmbedder | None = None
        self._back_off = BackOff()

    async def stance(
        self, embedded: EmbeddedText, embedder: Embedder | None, patience: Patience
    ) -> InferredStance:
        """Where they cannot be had, the stance is that of a task that says nothing."""
        before = 0 if self._growing is None else len(self._growing)
        vectors, degraded = await self._of(embedded, embedder, patience)
        stance = infer_stance(embedded.text, vector=embedded.vector, examples=vectors)
        after = 0 if self._growing is None else len(self._growing)
        return InferredStance(stance, after - before, degraded)

    async def _of(
        self, embedded: EmbeddedText, embedder: Embedder | None, patience: Patience
    ) -> tuple[_Vectors, tuple[Degradation, ...]]:
        if embedded.vector is None or embedder is None:
            return {}, ()
        if embedded.model in self._vectors:
            return self._vectors[embedded.model], ()
        if self._back_off.rests():
            return {}, (_told("failed lately"),)
        try:
            made = await self._made(embedder, patience)
        except EngineFailed as error:
            self._back_off.note_failure()
            return {}, (_told(error.message),)
        self._back_off.note_success()
        if any(len(row) != len(embedded.vector) for rows in made.values() for row in rows):
            self._growing = None
            return {}, (_told("gave vectors of more than one dimension"),)
        self._vectors[embedded.model] = made
        return made, ()

    async def _made(self, embedder: Embedder, patience: Patience) -> _Vectors:
        if self._growing is None or self._growing.fingerprint != embedder.fingerprint:
            self._growing = GrowingEmbedder(embedder)
        self._growing.patience = patience
        found = load_stances().examples
        return {name: await self._growing.embed(texts) for name, texts in found.items()}


def _told(why: str) -> Degradation:
    return Degradation("stance", f"the embedder {why}: meaning does not decide it")
