"""The result of an assembly as it is handed out, with its metrics and its event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mentis.codec.forms import to_object
from mentis.compose.assembly import LaidLayers
from mentis.home.events import PROMPT_ASSEMBLED, Event
from mentis.recall.cuts import SelectionCut, cut_for, find_cut
from mentis.recall.recall import memory_floor
from mentis.recall.stance import Stance
from mentis.settings.assembly import AssemblySettings
from mentis.values.assembly import (
    AssembledContext,
    AssembledMemory,
    AssembledPrompt,
    AssemblyMetrics,
    ModeDecision,
    Thresholds,
)
from mentis.values.memories import ScoredMemory
from mentis.values.recalled import EmbeddedText, RecalledContext
from mentis.values.trace import Degradation

from .surroundings import Around


@dataclass(frozen=True, slots=True)
class AssemblyResult:
    """Everything that one assembly came to, before it is put into its public form."""

    task: str
    stance: Stance
    embedded: EmbeddedText
    recalled: RecalledContext
    laid: LaidLayers
    around: Around
    settings: AssemblySettings
    cuts: Mapping[str, SelectionCut]
    # Texts of the manifest, examples of stances, what happened.
    embedded_also: tuple[int, int, int] = (0, 0, 0)
    whole_tokens: int = 0  # with every tool and skill
    noted: tuple[Degradation, ...] = ()

    def public(self, *, timings: bool) -> AssembledPrompt:
        laid, recalled, around = self.laid, self.recalled, self.around
        memories = self._memories()
        happened = tuple(around.activity[number] for number in laid.activity)
        return AssembledPrompt(
            mode=self.stance.name,
            task=self.task,
            tools=laid.tools,
            skills=laid.skills,
            context=AssembledContext(
                git=around.git,
                env=around.env,
                memories=tuple(one.text for one in memories),
                activity=tuple(one.text for one in happened),
                filteredCount=recalled.filtered + around.chosen.filtered,
                memoryDetails=memories,
                activityDetails=happened,
            ),
            prompt=laid.prompt,
            metrics=AssemblyMetrics(
                estimatedTokens=laid.tokens,
                embeddingCalls=recalled.embedding_calls + sum(self.embedded_also),
                embeddingCacheHits=recalled.cache_hits,
                taskEmbedded=recalled.embedding_calls,
                manifestEmbedded=self.embedded_also[0],
                examplesEmbedded=self.embedded_also[1],
                activityEmbedded=self.embedded_also[2],
                monolithicTokens=self.whole_tokens,
                step=recalled.step,
                decided=ModeDecision(self.stance.rule, self.stance.why),
                thresholds=self._thresholds(),
                layers={str(name): tokens for name, tokens in laid.layers.items()},
                cuts=laid.cuts,
                degraded=self._degraded(),
                candidates=recalled.candidates,
                timings=dict(sorted(around.timings.items())) if timings else None,
            ),
        )

    def _memories(self) -> tuple[AssembledMemory, ...]:
        """Those that are in the text, in its order."""
        rows = found_rows(self.recalled)
        told = (rows[self.recalled.memories[number].source] for number in self.laid.memories)
        return tuple(
            AssembledMemory(
                id=row.memory.id,
                text=row.memory.text,
                kind=row.memory.kind,
                trust=row.memory.worth.value,
                score=row.score,
                screening=row.memory.screening.outcome if row.memory.screening else "",
            )
            for row in told
        )

    def _thresholds(self) -> Thresholds:
        settings, by_both = self.settings, self.recalled.step == "hybrid"
        model = self.embedded.model if by_both else "lexical"
        limits = settings.selection(settings.limits(self.stance.name))
        origin = "calibrated" if find_cut(model, self.cuts) else "planned"
        floor = cut_for(model, self.cuts).floor
        if settings.min_score is not None:
            origin, floor = "settings", settings.min_score
        least = memory_floor(self.embedded, limits)
        told = least.share if least.cosine is None else least.cosine
        return Thresholds(model, origin, floor, told, least.origin)

    def _degraded(self) -> tuple[Degradation, ...]:
        steps = (*self.noted, *self.around.degraded, *self.recalled.degraded)
        return tuple(dict.fromkeys(steps))


def found_rows(recalled: RecalledContext) -> Mapping[str, ScoredMemory]:
    """The memories that were found, by the source of their spans."""
    found = recalled.found
    return {} if found is None else {f"memory {row.memory.id}": row for row in found.hits}


def event_of(made: AssembledPrompt, milliseconds: float) -> Event:
    metrics = made.metrics
    return Event(
        PROMPT_ASSEMBLED,
        {
            "mode": made.mode,
            "rule": metrics.decided.rule,
            "step": metrics.step,
            "tokens": metrics.estimatedTokens,
            "monolithic_tokens": metrics.monolithicTokens,
            "tools": len(made.tools),
            "skills": len(made.skills),
            "memories": len(made.context.memories),
            "filtered": made.context.filteredCount,
            "embedding_calls": metrics.embeddingCalls,
            "embedding_cache_hits": metrics.embeddingCacheHits,
            "manifest_embedded": metrics.manifestEmbedded,
            "examples_embedded": metrics.examplesEmbedded,
            "activity_embedded": metrics.activityEmbedded,
            "degraded": len(metrics.degraded),
            "cuts": len(metrics.cuts),
            "milliseconds": milliseconds,
        },
    )


def assembled_data(made: AssembledPrompt) -> dict[str, object]:
    """Without the timings nobody asked for, so that it is the same every time."""
    told = to_object(made)
    metrics = told["metrics"]
    if made.metrics.timings is None and isinstance(metrics, dict):
        del metrics["timings"]
    return told
