"""Everything the screener knows, read once: words, rules, weights, voters, thresholds.

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
from .fusion import TEXT_VOTERS, VOTERS, WAYS, Fusion
from .language import OTHER, Languages
from .model import LinearModel
from .rules import Rules
from .vector import VectorVoter

T = TypeVar("T")
# By way, outcome and language.
Thresholds: TypeAlias = Mapping[str, Mapping[str, Mapping[str, float]]]
Rates: TypeAlias = Mapping[str, Mapping[str, float]]
Reader: TypeAlias = Callable[[str], bytes]


@dataclass(frozen=True, slots=True)
class Knowledge:
    """`failures` says for each layer that cannot run why; `model` names the weights."""

    lexicon: Lexicon
    rules: Rules
    languages: Languages
    windows: LinearModel | None
    whole: LinearModel | None
    voter: VectorVoter | None
    fusions: Mapping[str, Fusion]
    thresholds: Thresholds
    rates: Rates
    model: str
    failures: Mapping[str, str]
    calibrated: str = "shipped"

    def with_thresholds(self, thresholds: Thresholds, told: str) -> Knowledge:
        return replace(self, thresholds=thresholds, calibrated=told)


def shipped_file(name: str) -> bytes:
    return (files("mentis.recall.screening") / "data" / name).read_bytes()


@cache
def shipped_knowledge() -> Knowledge:
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
        attempt("model", lambda: LinearModel(read("windows.bin"), _part(told, "windows")), None),
        attempt("model", lambda: LinearModel(read("whole.bin"), _part(told, "whole")), None),
        attempt("vector", lambda: VectorVoter(read("vector.bin")), None),
        attempt("model", lambda: _fusions(told), {}),
        attempt("thresholds", lambda: whole_thresholds(told["thresholds"]), {}),
        cast("Rates", told.get("rates", {})),
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


def _fusions(told: Mapping[str, object]) -> Mapping[str, Fusion]:
    found = cast("Mapping[str, Mapping[str, float]]", told["fusion"])
    return {
        way: Fusion({name: found[way][name] for name in names}, found[way]["bias"])
        for way, names in (("text", TEXT_VOTERS), ("vector", VOTERS))
    }


def whole_thresholds(told: object) -> Thresholds:
    """Every way, both outcomes and a threshold for what is in no known language."""
    found = cast("Thresholds", told)
    if not all(OTHER in found[way][one] for way in WAYS for one in ("suspicious", "dropped")):
        raise StoreDamaged("a threshold is missing", hint="install Mentis anew")
    return found
