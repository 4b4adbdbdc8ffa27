"""Recent activity that a task is told: looked through by the screener, chosen by meaning.

Candidates are the newest entries of the record and the end of the conversation. Whoever said it,
nothing of it is told that screening drops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from anyio import to_thread

from mentis.compose.shorten import first_words
from mentis.errors import EngineFailed, MentisError
from mentis.ports.embedder import Embedder
from mentis.ports.screener import Screener, StoredVector
from mentis.recall.embedding import Patience
from mentis.recall.memory.strict import Floor, fits
from mentis.tools.missing_vectors import BackOff, GrowingEmbedder
from mentis.values.assembly import AssembledActivity
from mentis.values.cognition import Screening
from mentis.values.entry import Entry
from mentis.values.inventory import KIND as INVENTORY
from mentis.values.recalled import EmbeddedText
from mentis.values.trace import Degradation
from mentis.values.turn import Turn

_LONGEST = 240  # characters of what somebody said
POOL = 3  # times as many are looked through as may be told
_MOST_KNOWN = 1000  # verdicts and vectors that are kept


def activity_of(
    entries: Sequence[Entry], turns: Sequence[Turn], *, most: int
) -> tuple[AssembledActivity, ...]:
    """What may be told, oldest first: the record, then the conversation. That a turn was made says
    nothing: what was said in it does.
    """
    pool = POOL * most
    told = [one for one in entries if one.kind not in ("turn", INVENTORY)]
    recorded = (AssembledActivity("ledger", _entry(one)) for one in told[-pool:] if pool)
    spoken = (AssembledActivity("conversation", _turn(one)) for one in turns[-pool:] if pool)
    return (*recorded, *(one for one in spoken if one.text))


@dataclass(frozen=True, slots=True)
class ChosenActivity:
    """`filtered` candidates were dropped by screening; `embedded` were new to this call."""

    activity: tuple[AssembledActivity, ...] = ()
    filtered: int = 0
    embedded: int = 0
    degraded: tuple[Degradation, ...] = ()


class ActivityChooser:
    """Held by an assembler: what was looked at and embedded once is known."""

    def __init__(self, screener: Screener) -> None:
        self._screener = screener
        self._verdicts: dict[tuple[str, bool], Screening] = {}
        self._growing: GrowingEmbedder | None = None
        self._back_off = BackOff()

    async def choose(
        self,
        candidates: Sequence[AssembledActivity],
        task: EmbeddedText,
        *,
        embedder: Embedder | None,
        patience: Patience,
        floor: Floor,
        most: int,
    ) -> ChosenActivity:
        """At most `most` of each source that are near enough to the task, in their order."""
        if not candidates:
            return ChosenActivity()
        before = 0 if self._growing is None else len(self._growing)
        vectors, degraded = await self._vectors(candidates, task, embedder, patience)
        count = 0 if self._growing is None else max(0, len(self._growing) - before)
        looked = await to_thread.run_sync(self._looked, candidates, vectors, task.model)
        fresh = [(one, row) for one, row in zip(looked, vectors, strict=True) if one is not None]
        scored = [replace(one, score=_cosine(task.vector, row)) for one, row in fresh]
        near = [
            one
            for one, (_, row) in zip(scored, fresh, strict=True)
            if fits(one.text, task.text, None if row is None else one.score, floor)
        ]
        best = {id(one) for one in _best(near, most)}
        chosen = tuple([one for one in near if id(one) in best])
        return ChosenActivity(chosen, len(candidates) - len(fresh), count, degraded)

    async def _vectors(
        self,
        candidates: Sequence[AssembledActivity],
        task: EmbeddedText,
        embedder: Embedder | None,
        patience: Patience,
    ) -> tuple[Sequence[Sequence[float] | None], tuple[Degradation, ...]]:
        none = [None] * len(candidates)
        if task.vector is None or embedder is None:
            return none, ()
        if self._back_off.rests():
            return none, (_by_words("failed lately"),)
        if self._growing is None or len(self._growing) > _MOST_KNOWN:
            self._growing = GrowingEmbedder(embedder)
        self._growing.patience = patience
        try:
            made = await self._growing.embed([one.text for one in candidates])
        except EngineFailed as error:
            self._back_off.note_failure()
            return none, (_by_words(error.message),)
        self._back_off.note_success()
        if any(len(row) != len(task.vector) for row in made):
            self._growing = None
            return none, (_by_words("gave vectors of more than one dimension"),)
        return made, ()

    def _looked(
        self,
        candidates: Sequence[AssembledActivity],
        vectors: Sequence[Sequence[float] | None],
        model: str,
    ) -> list[AssembledActivity | None]:
        """Each with what the screener says of it; None is what it drops. It blocks."""
        if len(self._verdicts) > _MOST_KNOWN:
            self._verdicts.clear()
        found: list[AssembledActivity | None] = []
        for one, vector in zip(candidates, vectors, strict=True):
            key = one.text, vector is not None
            if key not in self._verdicts:
                stored = None if vector is None else StoredVector(vector, model)
                self._verdicts[key] = self._look(one, stored)
            outcome = self._verdicts[key].outcome
            found.append(None if outcome == "dropped" else replace(one, screening=outcome))
        return found

    def _look(self, one: AssembledActivity, vector: StoredVector | None) -> Screening:
        try:
            return self._screener.screen(one.text, source=one.source, vector=vector)
        except MentisError as error:
            return Screening("dropped", f"the screener failed: {error.message}")


def _best(near: Sequence[AssembledActivity], most: int) -> Iterator[AssembledActivity]:
    """Of each source those nearest to the task, and of equals the newest."""
    for source in dict.fromkeys(one.source for one in near):
        own = [one for one in reversed(near) if one.source == source]
        yield from sorted(own, key=lambda one: -one.score)[:most]


def _cosine(task: Sequence[float] | None, row: Sequence[float] | None) -> float:
    if task is None or row is None:
        return 0.0
    return round(sum(one * other for one, other in zip(task, row, strict=True)), 6)


def _by_words(why: str) -> Degradation:
    return Degradation("activity", f"the embedder {why}: words choose what is told of it")


def _entry(entry: Entry) -> str:
    said = f"entry {entry.index}: {entry.kind} by {entry.source}"
    act = entry.body.get("act")
    if isinstance(act, dict) and isinstance(
        name := cast("dict[str, object]", act).get("type"), str
    ):
        return f"{said}, {name}"
    return said


def _turn(turn: Turn) -> str:
    text = " ".join(turn.text[: 20 * _LONGEST].split())
    name = turn.speaker({"user": "user", "assistant": "assistant"})
    return f"{name}: {first_words(text, _LONGEST)}" if text else ""
