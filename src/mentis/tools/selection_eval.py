"""Selection measured on a set of tasks, through the same path that serves a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mentis.engines.embedders import Choice, open_embedder
from mentis.engines.estimate import EstimatingCounter
from mentis.ports.embedder import Embedder
from mentis.recall.cuts import Right, SelectionCut, calibrate
from mentis.recall.evaluation import Order, SelectionFigures, figures, overlap, shown_of
from mentis.recall.evaluation_set import EvaluationSet, EvaluationSource, Half, Task, load_set
from mentis.recall.manifest import WordReader, build_manifest
from mentis.recall.ranking import RankedCapabilities, Ranking
from mentis.recall.selecting import Sight, choose, look
from mentis.values.proportion import Proportion
from mentis.values.selection import Capability, Kind, Selection
from mentis.values.trace import Degradation
from mentis.values.value import Value

from .selection import own_reader

PATHS = ("dense", "lexical", "hybrid")
_KINDS: tuple[Kind, ...] = ("tool", "skill")
_SHIPPED = EvaluationSource()


@dataclass(frozen=True, slots=True)
class EvalRow(Value):
    path: str
    kind: Kind
    language: str
    difficulty: str
    figures: SelectionFigures


@dataclass(frozen=True, slots=True)
class TokenSaving(Value):
    """Tokens of pasting everything and of what was selected, and what the selection found.

    `ranked` is the share of tasks whose every expected capability is among the first (5 tools, 3
    skills), `kept` the share that has them after the cut. `none_selected` is how many are selected
    on average where none fits, `abstained` how often none is.
    """

    everything: int
    selected: float
    reduction: float
    ranked: Proportion
    kept: Proportion
    none_selected: float
    abstained: Proportion


@dataclass(frozen=True, slots=True)
class SelectionReport(Value):
    model: str
    half: Half
    tools: int
    skills: int
    tasks: int
    overlap: tuple[tuple[str, str], ...]
    rows: tuple[EvalRow, ...]
    saving: TokenSaving
    cut: SelectionCut | None
    degraded: tuple[Degradation, ...] = ()


async def evaluate(
    source: EvaluationSource = _SHIPPED,
    *,
    choice: Choice = "auto",
    half: Half = "all",
    examples: bool = True,
) -> SelectionReport:
    """Rank every task of the set in each way and select for it as a turn would.

    Without `examples` only names and descriptions are there to be found.
    """
    found = load_set(source) if examples else _bare(load_set(source))
    embedder, degraded = open_embedder(choice)
    tasks = found.half(half)
    reader = own_reader()
    manifest, _ = await build_manifest(found.capabilities, embedder, reader)
    ranking = Ranking(manifest)
    sights = await _sights(tasks, ranking, embedder, reader)
    orders = {path: _order(path, ranking, sights) for path in PATHS}
    chosen = {task: choose(sights[task], ranking=ranking) for task in tasks}
    return SelectionReport(
        model=embedder.fingerprint,
        half=half,
        tools=sum(one.kind == "tool" for one in found.capabilities),
        skills=sum(one.kind == "skill" for one in found.capabilities),
        tasks=len(tasks),
        overlap=overlap(found),
        rows=tuple(
            row for path in PATHS for kind in _KINDS for row in _rows(tasks, path, kind, orders)
        ),
        saving=_saving(found, tasks, chosen, orders["hybrid"]),
        cut=_measured(tasks, ranking, sights),
        degraded=degraded,
    )


def _bare(found: EvaluationSet) -> EvaluationSet:
    return replace(
        found, capabilities=tuple(replace(one, examples=()) for one in found.capabilities)
    )


def _measured(
    tasks: Sequence[Task], ranking: Ranking, sights: Mapping[Task, Sight]
) -> SelectionCut | None:
    """The cut these tasks would have; None when none of them found anything."""
    right: list[Right] = []
    for task in tasks:
        for kind in _KINDS:
            ranked = [one for one in _ranked("hybrid", ranking, sights[task]) if one.kind == kind]
            right += [
                Right(kind, one.score, ranked[0].score - one.score)
                for one in ranked[: shown_of(kind)]
                if one.name in task.expected_names(kind) and one.score > 0
            ]
    return calibrate(right) if right else None


async def _sights(
    tasks: Sequence[Task], ranking: Ranking, embedder: Embedder, reader: WordReader
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


def _ranked(path: str, ranking: Ranking, sight: Sight) -> RankedCapabilities:
    if path == "lexical" or sight.vector is None:
        return ranking.by_words(sight.reading)
    if path == "dense":
        return ranking.by_vector(sight.vector)
    return ranking.by_both(sight.reading, sight.vector)


def _rows(
    tasks: Sequence[Task], path: str, kind: Kind, orders: Mapping[str, Order]
) -> list[EvalRow]:
    languages = list(dict.fromkeys(task.language for task in tasks))
    difficulties = list(dict.fromkeys(task.difficulty for task in tasks))
    rows: list[EvalRow] = []
    for language in (*languages, "all"):
        spoken = [task for task in tasks if language in (task.language, "all")]
        for difficulty in (*sorted(difficulties), "all"):
            chosen = [task for task in spoken if difficulty in (task.difficulty, "all")]
            found = figures(chosen, kind, orders[path])
            if found is not None:
                rows.append(EvalRow(path, kind, language, difficulty, found))
    return rows


def _saving(
    found: EvaluationSet,
    tasks: Sequence[Task],
    selected: Mapping[Task, Selection],
    order: Order,
) -> TokenSaving:
    tokens = {(one.kind, one.name): _tokens(one) for one in found.capabilities}
    everything = sum(tokens.values())
    spent = [sum(tokens[key] for key in _keys(selected[task])) for task in tasks]
    asked = [task for task in tasks if task.tools or task.skills]
    idle = [len(_keys(selected[task])) for task in tasks if not (task.tools or task.skills)]
    mean = sum(spent) / len(spent) if spent else 0.0
    return TokenSaving(
        everything=everything,
        selected=round(mean, 1),
        reduction=round(1 - mean / everything, 4) if everything else 0.0,
        ranked=_share([_among_first(task, order) for task in asked]),
        kept=_share([_wanted(task) <= _keys(selected[task]) for task in asked]),
        none_selected=round(sum(idle) / len(idle), 2) if idle else 0.0,
        abstained=_share([not count for count in idle]),
    )


def _keys(selection: Selection) -> set[tuple[str, str]]:
    tools = {("tool", name) for name in selection.tools}
    return tools | {("skill", name) for name in selection.skills}


def _wanted(task: Task) -> set[tuple[str, str]]:
    return {("tool", name) for name in task.tools} | {("skill", name) for name in task.skills}


def _among_first(task: Task, order: Order) -> bool:
    return all(
        name in order(task, kind)[: shown_of(kind)]
        for kind in _KINDS
        for name in task.expected_names(kind)
    )


def _share(found: Sequence[bool]) -> Proportion:
    return Proportion(sum(found), len(found))


def _tokens(one: Capability) -> int:
    return EstimatingCounter().count(f"- {one.name}: {one.description}\n").tokens
