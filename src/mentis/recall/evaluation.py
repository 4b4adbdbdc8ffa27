"""How good selection is on a fixed set of tasks: the set, its halves, its overlap, the figures.

A set is a folder of JSON lines: `tools`, `skills` (name, description), `examples` (name, phrases by
language) and `tasks` (language, difficulty, task, expected tools and skills).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Literal, TypeAlias, cast

from mentis.errors import BadInput
from mentis.values.selection import Capability, Kind
from mentis.values.value import Value

from .lexical import content_words

Difficulty: TypeAlias = Literal["easy", "paraphrased", "none"]
Half: TypeAlias = Literal["open", "held", "all"]
Order: TypeAlias = Callable[["Task", Kind], Sequence[str]]
LANGUAGES = ("en", "de", "fr", "pt", "es")


@dataclass(frozen=True, slots=True)
class Task(Value):
    """A task and what should be found for it; both empty when nothing fits."""

    language: str
    difficulty: Difficulty
    task: str
    tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()

    @property
    def held(self) -> bool:
        """Whether it belongs to the half that is never tuned on: decided by its words alone."""
        return sha256(self.task.encode()).digest()[0] % 2 == 1

    def expected(self, kind: Kind) -> tuple[str, ...]:
        return self.tools if kind == "tool" else self.skills


@dataclass(frozen=True, slots=True)
class EvaluationSet(Value):
    capabilities: tuple[Capability, ...]
    tasks: tuple[Task, ...]

    def half(self, half: Half) -> tuple[Task, ...]:
        return tuple(one for one in self.tasks if half == "all" or one.held == (half == "held"))


@dataclass(frozen=True, slots=True)
class Figures(Value):
    """Over `tasks` tasks: the share found among the first 1, 3 and 5, and the mean of 1/rank."""

    tasks: int
    recall_1: float
    recall_3: float
    recall_5: float
    precision_1: float
    precision_5: float
    mrr: float


def load_set(folder: Traversable | None = None) -> EvaluationSet:
    """The set in this folder; without one, the set that ships."""
    place = folder or files("mentis.recall") / "data/selection"
    examples = {str(row["name"]): _phrases(row) for row in _rows(place, "examples")}
    tools = [_capability(row, "tool", examples) for row in _rows(place, "tools")]
    skills = [_capability(row, "skill", examples) for row in _rows(place, "skills")]
    tasks = tuple(_task(row, place) for row in _rows(place, "tasks"))
    _check({one.name for one in tools}, {one.name for one in skills}, tasks)
    return EvaluationSet((*tools, *skills), tasks)


def _rows(place: Traversable, name: str) -> Iterator[dict[str, object]]:
    file = place / f"{name}.jsonl"
    if not file.is_file():
        if name == "tasks":
            raise BadInput(
                f"there is no {name}.jsonl in {place}", hint="see docs/concepts/selection.md"
            )
        return
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        try:
            yield dict(json.loads(line))
        except (json.JSONDecodeError, TypeError, ValueError) as error:
            raise BadInput(f"{name}.jsonl, line {number}: {error}", line=number) from error


def _phrases(row: Mapping[str, object]) -> tuple[str, ...]:
    found = row.get("examples")
    if not isinstance(found, dict):
        return ()
    spoken = cast("dict[str, object]", found)
    return tuple(str(text) for texts in spoken.values() for text in _list(texts))


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _capability(
    row: Mapping[str, object], kind: Kind, examples: Mapping[str, tuple[str, ...]]
) -> Capability:
    name = str(row["name"])
    return Capability(name, kind, str(row["description"]), examples.get(name, ()))


def _task(row: Mapping[str, object], place: Traversable) -> Task:
    difficulty = row.get("difficulty")
    if difficulty not in ("easy", "paraphrased", "none"):
        raise BadInput(f"{place}: {difficulty!r} is no difficulty", hint="easy, paraphrased, none")
    return Task(
        str(row["language"]),
        difficulty,
        str(row["task"]),
        tuple(str(name) for name in _list(row.get("tools"))),
        tuple(str(name) for name in _list(row.get("skills"))),
    )


def _check(tools: set[str], skills: set[str], tasks: Iterable[Task]) -> None:
    for one in tasks:
        unknown = {*one.tools} - tools | {*one.skills} - skills
        if unknown:
            raise BadInput(f"{one.task!r} expects {sorted(unknown)}, which is not in the set")


def overlap(found: EvaluationSet) -> tuple[tuple[str, str], ...]:
    """Tasks that share three content words in a row with a description or example: task, words."""
    known: set[tuple[str, ...]] = set()
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


def figures(tasks: Sequence[Task], kind: Kind, order: Order) -> Figures | None:
    """None when no task of these expects anything of this kind."""
    asked = [one for one in tasks if one.expected(kind)]
    if not asked:
        return None
    found = [_places(one, kind, order) for one in asked]
    return Figures(
        tasks=len(asked),
        recall_1=_mean(_within(places, 1) / len(places) for places in found),
        recall_3=_mean(_within(places, 3) / len(places) for places in found),
        recall_5=_mean(_within(places, 5) / len(places) for places in found),
        precision_1=_mean(_within(places, 1) for places in found),
        precision_5=_mean(_within(places, 5) / 5 for places in found),
        mrr=_mean(1 / min(places) if min(places) else 0.0 for places in found),
    )


def _places(task: Task, kind: Kind, order: Order) -> list[float]:
    """The rank of each that was expected; past every other when it was not ranked."""
    ranked = {name: rank for rank, name in enumerate(order(task, kind), 1)}
    return [ranked.get(name, float("inf")) for name in task.expected(kind)]


def _within(places: Sequence[float], first: int) -> int:
    return sum(place <= first for place in places)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return round(sum(found) / len(found), 4) if found else 0.0
