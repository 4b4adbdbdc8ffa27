"""The checker: every rule over both layers, as a compiler would report it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from mentis.library.load import LoadedLibrary
from mentis.values.location import Problem

from .blocks import check_blocks
from .desk import as_located, open_desk
from .files import check_content, check_files
from .registry import check_registry
from .table import RULES, CheckRule
from .text import check_texts

__all__ = ["RULES", "CheckRule", "check"]

_CHECKS = (check_files, check_content, check_blocks, check_texts, check_registry)


def check(loaded: LoadedLibrary) -> tuple[Problem, ...]:
    """Everything wrong or doubtful in a prompt set, by file, line and column.

    A block that could not be loaded is told of once, and takes no part in the other rules.
    """
    desk = open_desk(loaded)
    findings = chain.from_iterable(rules(desk) for rules in _CHECKS)
    # By file, so that each one is scanned for places once.
    found = [as_located(finding) for finding in sorted(findings, key=lambda each: each.place.file)]
    return tuple(sorted({*found, *_unsaid(loaded.problems, found)}, key=_rank))


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
