"""Everything the screener knows, read once: words, rules, weights, thresholds.

What cannot be read is not fatal here: it is kept as a failure, and the screener quarantines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TypeAlias, TypeVar, cast

from mentis.errors import MentisError, StoreDamaged

from .features import Lexicon
from .language import Languages
from .model import Weights
from .rules import Rules

T = TypeVar("T")
Thresholds: TypeAlias = Mapping[str, Mapping[str, float]]
Reader: TypeAlias = Callable[[str], bytes]


@dataclass(frozen=True, slots=True)
class Knowledge:
    """`failures` says for each layer that cannot run why; `model` names the weights."""

    lexicon: Lexicon
    rules: Rules
    languages: Languages
    windows: Weights | None
    whole: Weights | None
    thresholds: Thresholds
    rates: Mapping[str, float]
    model: str
    failures: Mapping[str, str]
    calibrated: str = "shipped"

    def with_thresholds(self, thresholds: Thresholds, told: str) -> Knowledge:
        return replace(self, thresholds=thresholds, calibrated=told)


def shipped_file(name: str) -> bytes:
    return (files("mentis.recall.screening") / "data" / name).read_bytes()


@cache
def shipped() -> Knowledge:
    return load(shipped_file)


def load(read: Reader) -> Knowledge:
    failures: dict[str, str] = {}

    def attempt(layer: str, make: Callable[[], T], otherwise: T) -> T:
        try:
            return make()
        except (MentisError, OSError, ValueError, KeyError, TypeError) as error:
            failures.setdefault(layer, str(error) or type(error).__name__)
            return otherwise

    def text(name: str) -> str:
        return read(name).decode()

    told = attempt("model", lambda: _told(text("model.json")), {})
    lexicon = attempt("rules", lambda: Lexicon(text("lexicon.txt")), Lexicon(""))
    return Knowledge(
        lexicon,
        attempt("rules", lambda: Rules(text("rules.txt")), Rules("")),
        attempt("language", lambda: Languages(text("languages.txt")), Languages("en")),
        attempt("model", lambda: Weights(read("windows.bin"), _part(told, "windows")), None),
        attempt("model", lambda: Weights(read("whole.bin"), _part(told, "whole")), None),
        attempt("thresholds", lambda: _thresholds(told), {}),
        cast("Mapping[str, float]", told.get("rates", {})),
        str(cast("Mapping[str, object]", told.get("windows", {})).get("sha256", "")),
        failures,
    )


def _told(text: str) -> Mapping[str, object]:
    read: object = json.loads(text)
    if not isinstance(read, dict):
        raise StoreDamaged("model.json is no object", hint="install Mentis anew")
    return cast("Mapping[str, object]", read)


def _part(told: Mapping[str, object], name: str) -> Mapping[str, object]:
    return cast("Mapping[str, object]", told[name])


def _thresholds(told: Mapping[str, object]) -> Thresholds:
    found = cast("Thresholds", told["thresholds"])
    if not all("other" in found[outcome] for outcome in ("suspicious", "dropped")):
        raise StoreDamaged("model.json lacks a threshold", hint="install Mentis anew")
    return found
