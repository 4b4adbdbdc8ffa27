"""Which tools and skills a task needs: base set, ranking, cut, caps, and a reason for each.

The ladder: vectors and words; words alone when there is no vector that fits; the base set when
there is nothing to rank. Every step down is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mentis.ports.embedder import Embedder
from mentis.values.recalled import EmbeddedText
from mentis.values.selection import (
    Candidate,
    Kind,
    Selection,
    SelectionLimits,
    Step,
)
from mentis.values.trace import Degradation
from mentis.values.value import Value

from .cuts import SelectionCut, cut_for, find_cut
from .embedding import embed_once
from .manifest import WordReader
from .phrasebook import ASKED, CHATTER
from .ranking import RankedCapabilities, Ranking, ScoredCapability

_LIMITS = SelectionLimits()


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
    reader: WordReader,
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
    reader: WordReader,
    limits: SelectionLimits = _LIMITS,
) -> Sight:
    """For whoever needs the task for nothing but this selection."""
    seconds = limits.embed_seconds
    return see(await embed_once(task, embedder, reader=reader, seconds=seconds), ranking)


def see(embedded: EmbeddedText, ranking: Ranking | None) -> Sight:
    """The task as this ranking can use it: a vector that does not fit is left out, and told."""
    misfit = _misfit(embedded, ranking) if embedded.reading else ()
    wordy = ranking is not None and not ranking.manifest.header.dimension
    vector = None if misfit or wordy else embedded.vector
    return Sight(embedded.reading, vector, embedded.calls, (*embedded.degraded, *misfit))


def _misfit(embedded: EmbeddedText, ranking: Ranking | None) -> tuple[Degradation, ...]:
    if ranking is None or not ranking.manifest.entries:
        return (Degradation("manifest", "is missing or empty: the base set alone"),)
    header = ranking.manifest.header
    if embedded.vector is None or not header.dimension:  # who made it without vectors said why
        return ()
    width = len(embedded.vector)
    if header.model != embedded.model:
        reason = f"was made by {header.model}, the embedder is {embedded.model}"
        return (Degradation("manifest", f"{reason}: ranked by words alone"),)
    if header.dimension != width:
        return (Degradation("embedder", f"gave {width} dimensions: ranked by words alone"),)
    return ()


def choose(
    sight: Sight,
    *,
    ranking: Ranking | None,
    base: Sequence[str] = (),
    skills: Sequence[str] = (),
    stance: str = "",
    limits: SelectionLimits = _LIMITS,
) -> Selection:
    """The pure part: the same sight and the same manifest give the same selection."""
    if ranking is None or not ranking.manifest.entries or not sight.reading:
        return _base_alone(sight, base, skills, limits)
    step: Step
    if sight.vector is not None:
        step, scored = "hybrid", ranking.by_both(sight.reading, sight.vector)
        model = ranking.manifest.header.model
    else:
        step, scored = "lexical", ranking.by_words(sight.reading)
        model = "lexical"
    cut, unmeasured = _cut(model, ranking, limits)
    if scored[0].score < min(ASKED, scored.chatter - CHATTER):
        cut = None
    tools = _judged(
        _for_stance(scored, ranking, "tool", stance), "tool", cut, base=base, limits=limits
    )
    fitting = _judged(
        _for_stance(scored, ranking, "skill", stance), "skill", cut, base=skills, limits=limits
    )
    return Selection(
        tools=(*base, *_names(tools, base))[: limits.max_tools],
        skills=(*skills, *_names(fitting, skills))[: limits.max_skills],
        candidates=(*tools, *fitting),
        step=step,
        embedding_calls=sight.calls,
        degraded=(*sight.degraded, *unmeasured),
    )


def _cut(
    model: str, ranking: Ranking, limits: SelectionLimits
) -> tuple[SelectionCut, tuple[Degradation, ...]]:
    """The cut of this embedder, and a note when nobody measured one and the planned one stands."""
    cut = cut_for(model, ranking.cuts)
    if limits.min_score is not None:
        return replace(cut, floor=limits.min_score, skill_floor=None), ()
    if find_cut(model, ranking.cuts) is not None:
        return cut, ()
    reason = f"nobody measured one for {model}: the planned {cut.floor} (mentis eval selection)"
    return cut, (Degradation("cut", reason),)


def _base_alone(
    sight: Sight, base: Sequence[str], skills: Sequence[str], limits: SelectionLimits
) -> Selection:
    return Selection(
        tools=tuple(base)[: limits.max_tools],
        skills=tuple(skills)[: limits.max_skills],
        embedding_calls=sight.calls,
        degraded=sight.degraded,
    )


def _names(candidates: Sequence[Candidate], base: Sequence[str]) -> list[str]:
    return [one.name for one in candidates if one.chosen and one.name not in base]


def _for_stance(
    scored: RankedCapabilities, ranking: Ranking, kind: Kind, stance: str
) -> Iterator[ScoredCapability]:
    limited = ranking.limited if stance else {}
    if not limited:
        return scored.of(kind)
    return (one for one in scored.of(kind) if stance in limited.get((kind, one.name), (stance,)))


def _judged(
    ranked: Iterator[ScoredCapability],
    kind: Kind,
    cut: SelectionCut | None,
    *,
    base: Sequence[str],
    limits: SelectionLimits,
) -> list[Candidate]:
    """Those chosen and the near misses, best first; without a cut nothing is asked for."""
    most = limits.max_tools if kind == "tool" else limits.max_skills
    room = min(limits.max_results, max(0, most - len(base)))
    best: float | None = None
    judged: list[Candidate] = []
    misses = taken = 0
    for rank, one in enumerate(ranked, start=1):
        best = one.score if best is None else best
        reason, chosen = _verdict(one, cut, best=best, base=base, full=taken >= room)
        taken += chosen and one.name not in base
        misses += not chosen
        if misses > limits.near_misses:
            break
        judged.append(_candidate(one, rank, chosen=chosen, reason=reason))
    return judged


def _verdict(
    one: ScoredCapability, cut: SelectionCut | None, *, best: float, base: Sequence[str], full: bool
) -> tuple[str, bool]:
    if one.name in base:
        return "belongs to the base set", True
    if cut is None or one.score <= 0:
        chat = "the task is nearer to small talk"
        return chat if one.score > 0 else "shares nothing with the task", False
    floor = cut.floor_of(one.kind)
    if floor is not None and one.score < floor:
        return f"below {floor:g}, where no answer begins", False
    if one.score < best - cut.margin:
        return f"more than {cut.margin:g} behind the best", False
    if full:
        return "there is no more room", False
    return "the best" if one.score == best else f"within {cut.margin:g} of the best", True


def _candidate(one: ScoredCapability, rank: int, *, chosen: bool, reason: str) -> Candidate:
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
