"""Lexical patterns: ideas that follow one another, whatever language says them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mentis.values.value import Value

_REACH = 5


@dataclass(frozen=True, slots=True)
class ScreeningRule(Value):
    number: int
    category: str
    steps: tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class Hit(Value):
    """A rule and the tokens it met, first and past the last."""

    rule: ScreeningRule
    start: int
    end: int


class Rules:
    def __init__(self, lines: str) -> None:
        told = [line for line in lines.splitlines() if line and not line.startswith("#")]
        self.all = tuple(_read(number, line) for number, line in enumerate(told))
        self._first: dict[str, list[ScreeningRule]] = {}
        for rule in self.all:
            for idea in sorted(rule.steps[0]):
                self._first.setdefault(idea, []).append(rule)

    def hits(self, ideas: Sequence[tuple[str, ...]]) -> list[Hit]:
        """Each rule at each place where it begins, the shortest way through its steps."""
        found: list[Hit] = []
        for place, here in enumerate(ideas):
            for idea in here:
                for rule in self._first.get(idea, ()):
                    end = _followed(rule, ideas, place)
                    if end:
                        found.append(Hit(rule, place, end))
        return found


def _read(number: int, line: str) -> ScreeningRule:
    category, _, steps = line.partition(":")
    return ScreeningRule(
        number, category, tuple(frozenset(step.split("|")) for step in steps.split())
    )


def _followed(rule: ScreeningRule, ideas: Sequence[tuple[str, ...]], place: int) -> int:
    """Past the last token of the match; 0 where there is none."""
    for step in rule.steps[1:]:
        for ahead in range(place + 1, min(place + 1 + _REACH, len(ideas))):
            if not step.isdisjoint(ideas[ahead]):
                place = ahead
                break
        else:
            return 0
    return place + 1
