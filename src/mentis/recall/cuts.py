"""Where the selection ends: a rule of rank and score, measured for one embedder at a time."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from mentis.errors import BadInput
from mentis.values.selection import Kind
from mentis.values.value import Value

# Tasks nobody measured score lower than those somebody did: how much room is left for them.
_LOWER = 0.8
_WIDER = 1.5


@dataclass(frozen=True, slots=True)
class SelectionCut(Value):
    """Who stays: at most `margin` behind the best, and at least at `floor`.

    Skills have a floor of their own where one was measured: they are long, and few tasks need one.
    All of it belongs to one embedder. Without `floor` the rank alone decides.
    """

    floor: float | None
    margin: float
    skill_floor: float | None = None

    def floor_of(self, kind: Kind) -> float | None:
        return self.floor if kind == "tool" or self.skill_floor is None else self.skill_floor


# What the plan started from, for an embedder nobody measured.
PLANNED = SelectionCut(0.58, 1.0)


class Right(NamedTuple):
    """An answer that was expected and ranked among the first; `behind` the best by how much."""

    kind: Kind
    score: float
    behind: float


def cut_for(model: str, own: Mapping[str, SelectionCut] | None = None) -> SelectionCut:
    """The cut measured for this embedder, by its owner or by us; else the planned one."""
    return find_cut(model, own) or PLANNED


def find_cut(model: str, own: Mapping[str, SelectionCut] | None = None) -> SelectionCut | None:
    """`own` is looked at first; a name speaks for every gloss and dimension of that embedder."""
    for cuts in (own or {}, _shipped()):
        for name, cut in cuts.items():
            if model == name or model.startswith((f"{name}+", f"{name}/")):
                return cut
    return None


def calibrate(found: Sequence[Right]) -> SelectionCut:
    """The cut that keeps all that was found, with room for what was not measured."""
    if not found:
        raise BadInput(
            "no task of this set found what it expects", hint="a cut is measured on what is found"
        )
    margin = max(one.behind for one in found) * _WIDER
    lowest = min(one.score for one in found)
    return SelectionCut(
        floor=_below(min((one.score for one in found if one.kind == "tool"), default=lowest)),
        margin=max(math.ceil(margin * 20) / 20, 0.05),
        skill_floor=_below(
            min((one.score for one in found if one.kind == "skill"), default=lowest)
        ),
    )


def _below(score: float) -> float:
    return math.floor(score * _LOWER * 100) / 100


def read_cuts(text: str, *, where: str) -> Mapping[str, SelectionCut]:
    """The cuts in a file: JSON with `cuts`, by the name or fingerprint of the embedder."""
    try:
        rows: Mapping[str, Mapping[str, float | None]] = json.loads(text)["cuts"]
        return {name: _cut(**row) for name, row in rows.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{where} holds no cuts: {error}"
        raise BadInput(reason, hint="mentis eval selection --calibrate --write FILE") from error


def _cut(
    floor: float | None, margin: float | None, skill_floor: float | None = None
) -> SelectionCut:
    numbers = [number for number in (floor, margin, skill_floor) if number is not None]
    if margin is None or not all(math.isfinite(number) for number in numbers):
        raise ValueError("a cut needs a margin, and numbers that are numbers")
    return SelectionCut(floor, margin, skill_floor)


def dump_cuts(cuts: Mapping[str, SelectionCut], note: str) -> str:
    told = {
        name: {"floor": cut.floor, "margin": cut.margin, "skill_floor": cut.skill_floor}
        for name, cut in sorted(cuts.items())
    }
    return json.dumps({"note": note, "cuts": told}, indent=2) + "\n"


@cache
def _shipped() -> Mapping[str, SelectionCut]:
    text = (files("mentis.recall") / "data/cuts.json").read_text(encoding="utf-8")
    return read_cuts(text, where="cuts.json")
