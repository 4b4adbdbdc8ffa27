"""Cuts the primary's input to what its route can take: the state of a mind may outgrow a model.

What is held in mind goes first, the oldest before the newer; then goals, those that weigh least;
then senses, the newest, which can wait. Each section that was cut says how many lines are missing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Literal, TypeAlias

from mentis.compose.input_ir import InputIr, line
from mentis.values.tick import LeftOut

_Section: TypeAlias = Literal["l1_memory", "goal_tree", "senses"]
_Place: TypeAlias = tuple[_Section, int]
_GOAL = re.compile(r" *(?:[0-9]+\.)+ \[(-?[0-9]+)\] ")


def fit_input(
    ir: InputIr, room: int, count: Callable[[InputIr], int], *, plain: str = ""
) -> tuple[InputIr, tuple[LeftOut, ...]]:
    """As much of it as `count` says takes no more than `room`; if even the least is too much, that
    least: whoever is asked says so. Where senses are cut, they are told as `plain`, if given.
    """
    if count(ir) <= room:
        return ir, ()
    order = [*_memory(ir), *_goals(ir)]
    if plain and count(_without(ir, order)) > room:
        ir = replace(ir, senses=plain)
    order += _senses(ir)
    tries = range(1, len(order) + 1)
    cuts = bisect_left(tries, 1, key=lambda cuts: count(_without(ir, order[:cuts])) <= room)
    gone = order[: cuts + 1]
    often: Counter[_Section] = Counter([name for name, _ in gone])
    return _without(ir, gone), tuple([LeftOut(name, often[name]) for name in often])


def count_unseen(cut: Iterable[LeftOut]) -> int:
    """How many senses, the newest ones, are not told."""
    return sum([one.lines for one in cut if one.section == "senses"])


def _memory(ir: InputIr) -> Iterator[_Place]:
    for number, text in enumerate(ir.l1_memory.splitlines()):
        if not text.startswith("{"):  # how many wait for a review is no entry
            yield "l1_memory", number


def _goals(ir: InputIr) -> Iterator[_Place]:
    """Only what has a weight: the drives stay, and what a helper says in its own words."""
    found = [
        (int(match[1]), -number)
        for number, text in enumerate(ir.goal_tree.splitlines())
        if (match := _GOAL.match(text))
    ]
    for _, number in sorted(found):
        yield "goal_tree", -number


def _senses(ir: InputIr) -> Iterator[_Place]:
    for number in reversed(range(len(ir.senses.splitlines()))):
        yield "senses", number


def _without(ir: InputIr, gone: list[_Place]) -> InputIr:
    return replace(
        ir,
        l1_memory=_cut(ir.l1_memory, {n for name, n in gone if name == "l1_memory"}),
        goal_tree=_cut(ir.goal_tree, {n for name, n in gone if name == "goal_tree"}),
        senses=_cut(ir.senses, {n for name, n in gone if name == "senses"}),
    )


def _cut(body: str, gone: set[int]) -> str:
    if not gone:
        return body
    kept = [text for number, text in enumerate(body.splitlines()) if number not in gone]
    return "\n".join([line({"left_out": len(gone)}), *kept])
