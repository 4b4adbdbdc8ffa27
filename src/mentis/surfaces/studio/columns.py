"""Columns of a chart, as the numbers of an SVG: a thousand wide, and as high as is said here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 1000, 200
_GAP, _WIDEST, _LEAST = 0.22, 72.0, 2.0  # of a column: its space, how wide, how high at least
_STEPS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


@dataclass(frozen=True, slots=True)
class Column:
    """One of them, from the top down; `lost` is the part of its height that is hatched. `known` is
    false where there is no number: then it is only marked.
    """

    x: float
    y: float
    width: float
    height: float
    lost: float
    known: bool


def columns_of(
    sizes: Sequence[float | None], lost: Sequence[float]
) -> tuple[tuple[Column, ...], float]:
    """The columns, and the number that the top of the chart stands for."""
    top = round_up(max((size or 0.0 for size in sizes), default=0.0))
    space = WIDTH / max(len(sizes), 1)
    width = min(space * (1 - _GAP), _WIDEST)
    made = list[Column]()
    for place, (size, gone) in enumerate(zip(sizes, lost, strict=True)):
        height = HEIGHT * (size or 0.0) / top if top else 0.0
        height = max(height, _LEAST) if size or size is None else 0.0
        part = min(HEIGHT * gone / top, height) if top else 0.0
        x = space * place + (space - width) / 2
        numbers = (round(each, 2) for each in (x, HEIGHT - height, width, height, part))
        made.append(Column(*numbers, known=size is not None))
    return tuple(made), top


def round_up(most: float) -> float:
    """The next number that is easy to read."""
    if most <= 0:
        return 0.0
    unit = 10.0 ** math.floor(math.log10(most))
    return next(step * unit for step in _STEPS if step * unit >= most * 0.999999)
