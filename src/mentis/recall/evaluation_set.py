"""A set of tasks that selection is measured by: what there is to select from, and what is right.

A set is a folder with `tools`, `skills` (name, description), `examples` (name, phrases by language)
and `tasks` (language, difficulty, task, expected tools and skills), each as JSON lines. Each may be
a file of its own, as JSON lines or one JSON list; names, descriptions and tasks are all it needs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Literal, TypeAlias, cast

from mentis.errors import BadInput
from mentis.values.selection import Capability, Kind
from mentis.values.value import Value

Half: TypeAlias = Literal["open", "held", "all"]
_HINT = "docs/concepts/selection.md says what a set looks like"


@dataclass(frozen=True, slots=True)
class Task(Value):
    """A task and what should be found for it; both empty when nothing fits."""

    language: str
    difficulty: str
    task: str
    tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()

    @property
    def held_out(self) -> bool:
        """Whether it belongs to the half that is never tuned on: decided by its words alone."""
        return sha256(self.task.encode()).digest()[0] % 2 == 1

    def expected_names(self, kind: Kind) -> tuple[str, ...]:
        return {"tool": self.tools, "skill": self.skills}.get(kind, ())


@dataclass(frozen=True, slots=True)
class EvaluationSet(Value):
    capabilities: tuple[Capability, ...]
    tasks: tuple[Task, ...]

    def half(self, half: Half) -> tuple[Task, ...]:
        return tuple(one for one in self.tasks if half == "all" or one.held_out == (half == "held"))


@dataclass(frozen=True, slots=True)
class EvaluationSource(Value):
    """Where a set lies: a folder, or files. Nothing named: the set that ships."""

    folder: Traversable | None = None
    tasks: Traversable | None = None
    tools: Traversable | None = None
    skills: Traversable | None = None

    def file(self, name: str) -> Traversable | None:
        given = {"tasks": self.tasks, "tools": self.tools, "skills": self.skills}.get(name)
        if given is not None or (self.tasks is not None and self.folder is None):
            return given
        place = self.folder or files("mentis.recall") / "data/selection"
        return place / f"{name}.jsonl"


_SHIPPED = EvaluationSource()


def load_set(source: EvaluationSource = _SHIPPED) -> EvaluationSet:
    """The set of this source. BadInput when a task expects what is not in it."""
    examples = {_text(row, "name"): _phrases(row) for row in _rows(source.file("examples"))}
    tools = [_capability(row, "tool", examples) for row in _rows(source.file("tools"))]
    skills = [_capability(row, "skill", examples) for row in _rows(source.file("skills"))]
    file = source.file("tasks")
    if file is None or not file.is_file():
        raise BadInput(f"there is no tasks.jsonl in {source.folder}", hint=_HINT)
    tasks = tuple(_task(row) for row in _rows(file))
    _check({one.name for one in tools}, {one.name for one in skills}, tasks)
    return EvaluationSet((*tools, *skills), tasks)


def _rows(file: Traversable | None) -> Iterator[Mapping[str, object]]:
    if file is None or not file.is_file():
        return
    text = file.read_text(encoding="utf-8")
    whole = text.lstrip().startswith("[")
    for number, part in enumerate([text] if whole else text.splitlines(), 1):
        if not part.strip():
            continue
        try:
            found: object = json.loads(part)
        except ValueError as error:
            raise BadInput(f"{file.name}, line {number}: {error}", line=number) from error
        for row in _list(found) if whole else [found]:
            yield _row(row, f"{file.name}, line {number}")


def _row(value: object, where: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise BadInput(f"{where}: {value!r:.60} is not an object", hint=_HINT)
    row = cast("Mapping[str, object]", value)
    inner = row.get("function")  # a tool as a provider wants it declared
    return cast("Mapping[str, object]", inner) if isinstance(inner, dict) else row


def _text(row: Mapping[str, object], *names: str) -> str:
    """The first of these fields that holds a text."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str) and value:
            return value
    raise BadInput(f"{dict(row)!s:.80} has no {names[0]}", hint=_HINT)


def _phrases(row: Mapping[str, object]) -> tuple[str, ...]:
    """A list of phrases, or lists by language."""
    found = row.get("examples")
    if isinstance(found, dict):
        lists = cast("Mapping[str, object]", found).values()
        return tuple(str(text) for texts in lists for text in _list(texts))
    return tuple(str(text) for text in _list(found))


def _list(value: object) -> Sequence[object]:
    if isinstance(value, str):
        return [value]
    return cast("list[object]", value) if isinstance(value, list) else []


def _capability(
    row: Mapping[str, object], kind: Kind, examples: Mapping[str, tuple[str, ...]]
) -> Capability:
    name = _text(row, "name")
    return Capability(name, kind, _text(row, "description"), examples.get(name) or _phrases(row))


def _task(row: Mapping[str, object]) -> Task:
    tools = tuple(map(str, _list(row.get("tools"))))
    skills = tuple(map(str, _list(row.get("skills"))))
    difficulty = row.get("difficulty") or ("easy" if tools or skills else "none")
    if (difficulty == "none") != (not tools and not skills):
        raise BadInput(
            f"{_text(row, 'task')!r} is {difficulty!r} and expects {[*tools, *skills]}",
            hint='"none" is for tasks that nothing fits',
        )
    return Task(_text(row, "language"), str(difficulty), _text(row, "task"), tools, skills)


def _check(tools: set[str], skills: set[str], tasks: Iterable[Task]) -> None:
    for one in tasks:
        unknown = {*one.tools} - tools | {*one.skills} - skills
        if unknown:
            raise BadInput(f"{one.task!r} expects {sorted(unknown)}, which is not in the set")
