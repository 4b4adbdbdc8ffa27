"""How a task is taken: planned, acted on or reviewed, and by which rule that was decided.

The words and the order of the rules are data (`data/stances.json`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias, get_args

from mentis.errors import UsageError
from mentis.values.function_words import fold
from mentis.values.value import Value

StanceName: TypeAlias = Literal["plan", "act", "review"]
Rule: TypeAlias = Literal["explicit", "hint", "keyword", "meaning", "default"]
STANCES: tuple[StanceName, ...] = get_args(StanceName)
AUTO = "auto"
_WORD = re.compile(r"[^\W_]+")
_LONGEST = 20_000  # characters of a task in which keywords are looked for
Rows: TypeAlias = Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class Stance(Value):
    """`why` says what the rule went by: the word that was found, the hint that was given."""

    name: StanceName
    rule: Rule
    why: str = ""


@dataclass(frozen=True, slots=True)
class Hints(Value):
    """What is known about the task beside its words. Nothing is, unless somebody says so."""

    interactive: bool = False
    git_changes: bool = False


@dataclass(frozen=True, slots=True)
class StanceData(Value):
    """`keywords` are folded words with the stance and language they speak for."""

    default: StanceName
    hints: Mapping[str, StanceName]
    priority: tuple[StanceName, ...]
    keywords: Mapping[StanceName, Mapping[str, str]]
    base: Mapping[StanceName, tuple[str, ...]]
    examples: Mapping[StanceName, tuple[str, ...]] = field(
        default_factory=dict[StanceName, tuple[str, ...]]
    )
    margin: float = 0.0


NO_HINTS = Hints()


def checked_mode(mode: str) -> StanceName | None:
    """The stance that was asked for; None for `auto`."""
    if mode == AUTO:
        return None
    if mode not in STANCES:
        raise UsageError(
            f"there is no mode {mode!r}", hint=f"use one of {', '.join(STANCES)} or {AUTO}"
        )
    return mode


def infer_stance(
    task: str,
    *,
    asked: StanceName | None = None,
    hints: Hints = NO_HINTS,
    vector: Sequence[float] | None = None,
    examples: Mapping[StanceName, Rows] | None = None,
) -> Stance:
    """The first rule that says something: asked, hint, keyword, meaning, default.

    Meaning is left out unless there are vectors of examples for each stance.
    """
    if asked is not None:
        return Stance(asked, "explicit")
    data = load_stances()
    found = _by_hint(hints, data) or _by_keyword(task, data)
    if found is None and vector is not None and examples:
        found = _by_meaning(vector, examples, data.margin)
    return found or Stance(data.default, "default")


def _by_hint(hints: Hints, data: StanceData) -> Stance | None:
    for name in data.hints:
        if getattr(hints, name):
            return Stance(data.hints[name], "hint", name)
    return None


def _by_keyword(task: str, data: StanceData) -> Stance | None:
    words = dict.fromkeys(_WORD.findall(fold(task[:_LONGEST])))
    for stance in data.priority:
        known = data.keywords[stance]
        for word in words:
            if word in known:
                return Stance(stance, "keyword", f"{word} ({known[word]})")
    return None


def _by_meaning(
    vector: Sequence[float], examples: Mapping[StanceName, Rows], margin: float
) -> Stance | None:
    """The stance whose nearest example is nearer than those of the others by a margin."""
    near: dict[StanceName, float] = {
        name: max(_cosine(vector, row) for row in rows) for name, rows in examples.items()
    }
    names: list[StanceName] = [*near]
    ranked = sorted(names, key=lambda name: (-round(near[name], 6), name))
    if len(ranked) < 2 or near[ranked[0]] - near[ranked[1]] < margin:
        return None
    return Stance(ranked[0], "meaning", f"{near[ranked[0]]:.3f}, next {near[ranked[1]]:.3f}")


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


@cache
def load_stances() -> StanceData:
    """What ships, read once."""
    text = (files("mentis.recall") / "data/stances.json").read_text(encoding="utf-8")
    data = json.loads(text)
    return StanceData(
        default=data["default"],
        hints=data["hints"],
        priority=tuple(data["priority"]),
        keywords={name: _keywords(data["keywords"], name) for name in data["priority"]},
        base={name: tuple(names) for name, names in data["base"].items()},
        examples={name: tuple(texts) for name, texts in data["examples"].items()},
        margin=data["meaning"]["margin"],
    )


def _keywords(languages: Mapping[str, Mapping[str, Sequence[str]]], name: str) -> dict[str, str]:
    """Folded, with the languages that have it."""
    found: dict[str, dict[str, None]] = {}
    for language, stances in languages.items():
        for word in stances[name]:
            found.setdefault(fold(word), {})[language] = None
    return {word: ", ".join(spoken) for word, spoken in found.items()}
