"""How good selection is on a fixed set of tasks: the wording they share, and the figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mentis.values.proportion import Proportion
from mentis.values.selection import Kind, SelectionLimits
from mentis.values.value import Value

from .evaluation_set import EvaluationSet, Task
from .lexical import content_words
from .phrasebook import load_phrases, small_talk

_LIMITS = SelectionLimits()
Order: TypeAlias = Callable[[Task, Kind], Sequence[str]]


@dataclass(frozen=True, slots=True)
class SelectionFigures(Value):
    """Over `tasks` tasks: the share found among the first 1, 3 and 5, and the mean of 1/rank.

    `complete` counts the tasks whose every expected one is among as many as a turn is shown.
    """

    tasks: int
    recall_1: float
    recall_3: float
    recall_5: float
    precision_1: float
    precision_5: float
    mrr: float
    complete: Proportion


def overlap(found: EvaluationSet) -> tuple[tuple[str, str], ...]:
    """Tasks that share three content words in a row with a description, example or phrase we ship.

    Pairs of task and words.
    """
    shipped = (*(text for one in load_phrases() for text in one.texts), *small_talk())
    known = {three for text in shipped for three in _threes(text)}
    for one in found.capabilities:
        for text in (one.description, *one.examples):
            known.update(_threes(text))
    return tuple(
        (one.task, " ".join(three))
        for one in found.tasks
        for three in _threes(one.task)
        if three in known
    )


def _threes(text: str) -> Iterator[tuple[str, ...]]:
    words = content_words(text)
    return zip(words, words[1:], words[2:], strict=False)


def shown_of(kind: Kind) -> int:
    """How many of a kind a turn is shown at most, unless its settings say otherwise."""
    return _LIMITS.max_results if kind == "tool" else _LIMITS.max_skills


def figures(tasks: Sequence[Task], kind: Kind, order: Order) -> SelectionFigures | None:
    """None when no task of these expects anything of this kind."""
    telling = [one for one in tasks if one.expected_names(kind)]
    if not telling:
        return None
    found = [_places(one, kind, order) for one in telling]
    return SelectionFigures(
        tasks=len(telling),
        recall_1=_mean(_within(places, 1) / len(places) for places in found),
        recall_3=_mean(_within(places, 3) / len(places) for places in found),
        recall_5=_mean(_within(places, 5) / len(places) for places in found),
        precision_1=_mean(_within(places, 1) for places in found),
        precision_5=_mean(_within(places, 5) / 5 for places in found),
        mrr=_mean(1 / min(places) if min(places) else 0.0 for places in found),
        complete=Proportion(
            sum(_within(places, shown_of(kind)) == len(places) for places in found), len(found)
        ),
    )


def _places(task: Task, kind: Kind, order: Order) -> list[float]:
    """The rank of each that was expected; past every other when it was not ranked."""
    ranked = {name: rank for rank, name in enumerate(order(task, kind), 1)}
    return [ranked.get(name, float("inf")) for name in task.expected_names(kind)]


def _within(places: Sequence[float], first: int) -> int:
    return sum(place <= first for place in places)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return round(sum(found) / len(found), 4) if found else 0.0
