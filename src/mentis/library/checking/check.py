"""The checker: every rule over both layers, as a compiler would report it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from mentis.library.load import LoadedLibrary
from mentis.library.overlay import VARIANTS
from mentis.values.location import Problem
from mentis.values.value import Value

from .blocks import check_blocks
from .desk import FilePlace, as_located, open_desk
from .files import check_content, check_files
from .registry import check_registry
from .table import RULES, CheckRule
from .text import check_texts

__all__ = ["RULES", "CheckRule", "CheckedPlace", "check", "check_places"]

_CHECKS = (check_files, check_content, check_blocks, check_texts, check_registry)


@dataclass(frozen=True, slots=True)
class CheckedPlace(Value):
    """A problem, and what a person edits to mend it: a field of a block, such as `meta.order` or
    `variants.default`, or a placeholder; empty where only the file is known.
    """

    problem: Problem
    block: str = ""
    field: str = ""
    placeholder: str = ""


def check(loaded: LoadedLibrary) -> tuple[Problem, ...]:
    """Everything wrong or doubtful in a prompt set, by file, line and column.

    A block that could not be loaded is told of once, and takes no part in the other rules.
    """
    return tuple(one.problem for one in check_places(loaded))


def check_places(loaded: LoadedLibrary) -> tuple[CheckedPlace, ...]:
    """The same, each with what is edited there."""
    desk = open_desk(loaded)
    findings = chain.from_iterable(rules(desk) for rules in _CHECKS)
    # By file, so that each one is scanned for places once.
    ordered = sorted(findings, key=lambda each: each.place.file)
    found = {as_located(each): each.place for each in ordered}
    places = [_edited(problem, place) for problem, place in found.items()]
    others = (CheckedPlace(one) for one in {*_unsaid(loaded.problems, list(found))} - found.keys())
    return tuple(sorted((*places, *others), key=lambda one: _rank(one.problem)))


def _edited(problem: Problem, place: FilePlace) -> CheckedPlace:
    match [str(step) for step in place.path]:
        case ["prompts", block, *steps]:
            return CheckedPlace(problem, block, f"meta.{steps[0]}" if steps else "")
        case ["placeholders", key, *_]:
            return CheckedPlace(problem, placeholder=key)
        case [block, "variants", variant, *_]:
            return CheckedPlace(problem, block, f"{VARIANTS}{variant}")
        case [block, *steps]:
            return CheckedPlace(problem, block, f"content.{steps[0]}" if steps else "")
        case _:
            return CheckedPlace(problem)


def _unsaid(problems: Iterable[Problem], found: Iterable[Problem]) -> Iterator[Problem]:
    """What loading met and no rule repeats: files that cannot be read."""
    said = {problem.location for problem in found}
    for problem in problems:
        if problem.location is None or problem.location not in said:
            yield replace(problem, code="prompt-file") if problem.code == "library" else problem


def _rank(problem: Problem) -> tuple[str, int, int, str, str]:
    place = problem.location
    if place is None:
        return ("", 0, 0, problem.code, problem.message)
    return (place.file, place.line, place.column, problem.code, problem.message)
