"""Selection measured on a set of tasks, through the same path that serves a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable

from mentis.engines.embedders import Choice, open_embedder
from mentis.engines.estimate import EstimatingCounter
from mentis.ports.embedder import Embedder
from mentis.recall.evaluation import (
    EvaluationSet,
    Figures,
    Half,
    Order,
    Task,
    figures,
    load_set,
    overlap,
)
from mentis.recall.manifest import Reader, build_manifest
from mentis.recall.ranking import Ranking, Scored
from mentis.recall.selecting import Sight, choose, look
from mentis.values.selection import Capability, Kind, Selection
from mentis.values.trace import Degradation
from mentis.values.value import Value

from .selection import own_reader

PATHS = ("dense", "lexical", "hybrid")
_KINDS: tuple[Kind, ...] = ("tool", "skill")


@dataclass(frozen=True, slots=True)
class Row(Value):
    path: str
    kind: Kind
    language: str
    difficulty: str
    figures: Figures


@dataclass(frozen=True, slots=True)
class Saving(Value):
    """Tokens of pasting everything and of what was selected, and what the selection found.

    `kept` is the share of what was expected that is in the selection; `none_selected` is how many
    capabilities are selected on average where none fits, `abstained` how often none is.
    """

    everything: int
    selected: float
    reduction: float
    kept: float
    none_selected: float
    abstained: float


@dataclass(frozen=True, slots=True)
class Report(Value):
    model: str
    half: Half
    tools: int
    skills: int
    tasks: int
    overlap: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]
    saving: Saving
    degraded: tuple[Degradation, ...] = ()


async def evaluate(
    folder: Traversable | None = None, *, choice: Choice = "auto", half: Half = "all"
) -> Report:
    """Rank every task of the set in each way and select for it as a turn would."""
    found = load_set(folder)
    embedder, degraded = open_embedder(choice)
    tasks = found.half(half)
    reader = own_reader()
    manifest, _ = await build_manifest(found.capabilities, embedder, reader)
    ranking = Ranking(manifest)
    sights = await _sights(tasks, ranking, embedder, reader)
    return Report(
        model=embedder.fingerprint,
        half=half,
        tools=sum(one.kind == "tool" for one in found.capabilities),
        skills=sum(one.kind == "skill" for one in found.capabilities),
        tasks=len(tasks),
        overlap=overlap(found),
        rows=tuple(
            row
            for path in PATHS
            for kind in _KINDS
            for row in _rows(tasks, path, kind, _order(path, ranking, sights))
        ),
        saving=_saving(
            found, tasks, {task: choose(sights[task], ranking=ranking) for task in tasks}
        ),
        degraded=degraded,
    )


async def _sights(
    tasks: Sequence[Task], ranking: Ranking, embedder: Embedder, reader: Reader
) -> dict[Task, Sight]:
    return {
        task: await look(task.task, ranking=ranking, embedder=embedder, reader=reader)
        for task in tasks
    }


def _order(path: str, ranking: Ranking, sights: Mapping[Task, Sight]) -> Order:
    ranked = {task: _ranked(path, ranking, sight) for task, sight in sights.items()}

    def order(task: Task, kind: Kind) -> list[str]:
        # What shares nothing with the task was not found, whatever its place in the alphabet.
        return [one.name for one in ranked[task] if one.kind == kind and one.score > 0]

    return order


def _ranked(path: str, ranking: Ranking, sight: Sight) -> list[Scored]:
    if path == "lexical" or sight.vector is None:
        return ranking.by_words(sight.reading)
    if path == "dense":
        return ranking.by_vector(sight.vector)
    return ranking.by_both(sight.reading, sight.vector)


def _rows(tasks: Sequence[Task], path: str, kind: Kind, order: Order) -> list[Row]:
    languages = list(dict.fromkeys(task.language for task in tasks))
    rows: list[Row] = []
    for language in (*languages, "all"):
        spoken = [task for task in tasks if language in (task.language, "all")]
        for difficulty in ("easy", "paraphrased", "all"):
            chosen = [task for task in spoken if difficulty in (task.difficulty, "all")]
            found = figures(chosen, kind, order)
            if found is not None:
                rows.append(Row(path, kind, language, difficulty, found))
    return rows


def _saving(
    found: EvaluationSet, tasks: Sequence[Task], selected: Mapping[Task, Selection]
) -> Saving:
    tokens = {(one.kind, one.name): _tokens(one) for one in found.capabilities}
    everything = sum(tokens.values())
    spent = [sum(tokens[key] for key in _keys(selected[task])) for task in tasks]
    asked = [task for task in tasks if task.tools or task.skills]
    idle = [len(_keys(selected[task])) for task in tasks if not (task.tools or task.skills)]
    mean = sum(spent) / len(spent) if spent else 0.0
    return Saving(
        everything=everything,
        selected=round(mean, 1),
        reduction=round(1 - mean / everything, 4) if everything else 0.0,
        kept=_share([_wanted(task) <= _keys(selected[task]) for task in asked]),
        none_selected=round(sum(idle) / len(idle), 2) if idle else 0.0,
        abstained=_share([not count for count in idle]),
    )


def _keys(selection: Selection) -> set[tuple[str, str]]:
    tools = {("tool", name) for name in selection.tools}
    return tools | {("skill", name) for name in selection.skills}


def _wanted(task: Task) -> set[tuple[str, str]]:
    return {("tool", name) for name in task.tools} | {("skill", name) for name in task.skills}


def _share(found: Sequence[bool]) -> float:
    return round(sum(found) / len(found), 4) if found else 0.0


def _tokens(one: Capability) -> int:
    return EstimatingCounter().count(f"- {one.name}: {one.description}\n").tokens
