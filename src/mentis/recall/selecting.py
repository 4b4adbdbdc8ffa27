"""Which tools and skills a task needs: base set, ranking, cut, caps, and a reason for each.

The ladder: vectors and words; words alone when there is no vector that fits; the base set when
there is nothing to rank. Every step down is recorded.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import anyio

from mentis.errors import MentisError
from mentis.ports.embedder import Embedder
from mentis.values.selection import (
    Candidate,
    Capability,
    Kind,
    Selection,
    SelectionLimits,
    Step,
)
from mentis.values.trace import Degradation
from mentis.values.value import Value

from .manifest import Reader, read_both
from .ranking import Ranking, Scored

_LIMITS = SelectionLimits()
_LONGEST = 8_000  # characters of a task that are read


@dataclass(frozen=True, slots=True)
class Cut(Value):
    """A candidate stays when it reaches `floor` and is at most `margin` behind the best.

    Both belong to one embedder. `floor` None: never calibrated, so the rank alone decides.
    """

    floor: float | None
    margin: float


@dataclass(frozen=True, slots=True)
class Sight(Value):
    """What a task looks like to the ranking: its reading, and its vector if there is one."""

    reading: str
    vector: tuple[float, ...] | None
    calls: int = 0
    degraded: tuple[Degradation, ...] = ()


async def select(
    task: str,
    *,
    ranking: Ranking | None,
    embedder: Embedder | None,
    reader: Reader,
    base: Sequence[str] = (),
    stance: str = "",
    limits: SelectionLimits = _LIMITS,
) -> Selection:
    """The tools and skills for a task. It asks the embedder at most once, never fails for it."""
    sight = await look(task, ranking=ranking, embedder=embedder, reader=reader, limits=limits)
    return choose(sight, ranking=ranking, base=base, stance=stance, limits=limits)


async def look(
    task: str,
    *,
    ranking: Ranking | None,
    embedder: Embedder | None,
    reader: Reader,
    limits: SelectionLimits = _LIMITS,
) -> Sight:
    shown = task[:_LONGEST]
    steps: list[Degradation] = []
    if len(task) > _LONGEST:
        steps.append(Degradation("task", f"read up to {_LONGEST} of {len(task)} characters"))
    if not shown.strip():
        steps.append(Degradation("task", "is empty: the base set alone"))
        return Sight("", None, degraded=tuple(steps))
    reading = read_both(shown, reader)
    misfit = _misfit(ranking, embedder)
    if misfit or embedder is None or ranking is None:
        return Sight(reading, None, degraded=(*steps, *misfit))
    vector, problem = await _vector(shown, embedder, limits)
    if problem is None and len(vector) != ranking.manifest.header.dimension:
        problem = f"gave {len(vector)} dimensions"
    if problem is None:
        return Sight(reading, tuple(vector), 1, tuple(steps))
    steps.append(Degradation("embedder", f"{problem}: ranked by words alone"))
    return Sight(reading, None, 1, tuple(steps))


def _misfit(ranking: Ranking | None, embedder: Embedder | None) -> tuple[Degradation, ...]:
    if ranking is None or not ranking.manifest.entries:
        return (Degradation("manifest", "is missing or empty: the base set alone"),)
    if embedder is None:
        return (Degradation("embedder", "there is none: ranked by words alone"),)
    made, here = ranking.manifest.header.model, embedder.fingerprint
    if made != here:
        reason = f"was made by {made}, the embedder is {here}: ranked by words alone"
        return (Degradation("manifest", reason),)
    return ()


async def _vector(
    task: str, embedder: Embedder, limits: SelectionLimits
) -> tuple[Sequence[float], str | None]:
    try:
        with anyio.fail_after(limits.embed_seconds):
            (vector,) = await embedder.embed([task])
    except TimeoutError:
        return (), f"took more than {limits.embed_seconds:g} s"
    except (MentisError, OSError, ValueError) as error:
        return (), f"failed ({error})"
    if not all(map(math.isfinite, vector)):
        return (), "gave what is not a number"
    return vector, None


def choose(
    sight: Sight,
    *,
    ranking: Ranking | None,
    base: Sequence[str] = (),
    stance: str = "",
    limits: SelectionLimits = _LIMITS,
) -> Selection:
    """The pure part: the same sight and the same manifest give the same selection."""
    if ranking is None or not ranking.manifest.entries or not sight.reading:
        return _base_alone(sight, base, limits)
    step: Step
    if sight.vector is not None:
        step, scored = "hybrid", ranking.by_both(sight.reading, sight.vector)
        model = ranking.manifest.header.model
    else:
        step, scored = "lexical", ranking.by_words(sight.reading)
        model = "lexical"
    fitting = _for_stance(scored, ranking, stance)
    cut = cut_for(model)
    tools = _judged(fitting, "tool", cut, base=base, limits=limits)
    skills = _judged(fitting, "skill", cut, base=(), limits=limits)
    return Selection(
        tools=(*base, *_names(tools, base))[: limits.max_tools],
        skills=tuple(_names(skills, ())),
        candidates=(*tools, *skills),
        step=step,
        embedding_calls=sight.calls,
        degraded=sight.degraded,
    )


def _base_alone(sight: Sight, base: Sequence[str], limits: SelectionLimits) -> Selection:
    return Selection(
        tools=tuple(base)[: limits.max_tools],
        embedding_calls=sight.calls,
        degraded=sight.degraded,
    )


def _names(candidates: Sequence[Candidate], base: Sequence[str]) -> list[str]:
    return [one.name for one in candidates if one.chosen and one.name not in base]


def _for_stance(scored: Sequence[Scored], ranking: Ranking, stance: str) -> list[Scored]:
    if not stance:
        return list(scored)
    held = {
        (one.capability.kind, one.capability.name): one.capability
        for one in ranking.manifest.entries
    }
    return [one for one in scored if _fits(held[one.kind, one.name], stance)]


def _fits(capability: Capability, stance: str) -> bool:
    return not capability.stances or stance in capability.stances


def _judged(
    scored: Sequence[Scored],
    kind: Kind,
    cut: Cut,
    *,
    base: Sequence[str],
    limits: SelectionLimits,
) -> list[Candidate]:
    """Those chosen and the near misses, best first."""
    ranked = [one for one in scored if one.kind == kind]
    room = limits.max_results if kind == "tool" else min(limits.max_results, limits.max_skills)
    if kind == "tool":
        room = min(room, max(0, limits.max_tools - len(base)))
    best = ranked[0].score if ranked else 0.0
    judged: list[Candidate] = []
    misses = taken = 0
    for rank, one in enumerate(ranked, start=1):
        reason, chosen = _verdict(one, cut, best=best, base=base, full=taken >= room)
        taken += chosen and one.name not in base
        misses += not chosen
        if misses > limits.near_misses:
            break
        judged.append(_candidate(one, rank, chosen=chosen, reason=reason))
    return judged


def _verdict(
    one: Scored, cut: Cut, *, best: float, base: Sequence[str], full: bool
) -> tuple[str, bool]:
    if one.name in base:
        return "belongs to the base set", True
    if one.score <= 0:
        return "shares nothing with the task", False
    if cut.floor is not None and one.score < cut.floor:
        return f"below {cut.floor:g}, where no answer begins", False
    if one.score < best - cut.margin:
        return f"more than {cut.margin:g} behind the best", False
    if full:
        return "there is no more room", False
    return "the best" if one.score == best else f"within {cut.margin:g} of the best", True


def _candidate(one: Scored, rank: int, *, chosen: bool, reason: str) -> Candidate:
    return Candidate(
        name=one.name,
        kind=one.kind,
        rank=rank,
        score=one.score,
        dense=None if one.dense is None else round(one.dense, 6),
        lexical=round(one.lexical, 6),
        chosen=chosen,
        reason=reason,
    )


def cut_for(model: str) -> Cut:
    """The cut calibrated for this embedder; by rank alone for one nobody measured."""
    for name, cut in _cuts().items():
        if model == name or model.startswith((f"{name}+", f"{name}/")):
            return cut
    return Cut(None, 1.0)


@cache
def _cuts() -> dict[str, Cut]:
    text = (files("mentis.recall") / "data/cuts.json").read_text(encoding="utf-8")
    return {name: Cut(**cut) for name, cut in json.loads(text)["cuts"].items()}
