"""Which counter counts for a model: its own tokenizer where we have it, else an estimate.

Facts as of 2026-11: no exact counter for Claude or Gemini models works offline.
"""

from __future__ import annotations

import math
import re
import sys
from functools import cache, lru_cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any, Literal, Protocol, TypeAlias

from mentis.errors import EngineMissing
from mentis.ports.token_counter import TokenCounter
from mentis.values.calibration import Calibration
from mentis.values.trace import TokenCount

from .estimate import EstimatingCounter

Tokenizer: TypeAlias = Literal["o200k_base", "cl100k_base"]
# The first that matches holds; a model nobody names here has no tokenizer that we know of.
_TOKENIZERS: tuple[tuple[re.Pattern[str], Tokenizer], ...] = (
    (re.compile(r"(chat)?gpt-(4o|4\.1|4\.5|5|oss)|o[1-9](?![a-z0-9])"), "o200k_base"),
    (re.compile(r"gpt-(4|3\.5)(?![\w.])|text-embedding-(3-|ada-002)"), "cl100k_base"),
)
# Below this many tokens, what the provider adds around the text weighs more than the text.
_TOO_SMALL = 200
# So many reports are remembered: each later one weighs as much as one of so many.
_MEMORY = 32
_PLAUSIBLE = (0.5, 3.0)
_PACKAGE = "bpe_openai"


class _Compiled(Protocol):
    def count(self, text: str) -> int: ...


def tokenizer_of(model: str) -> Tokenizer | None:
    """By the model's name; a vendor before a slash (`openai/gpt-5`) does not matter."""
    name = model.rpartition("/")[2].casefold()
    return next((found for known, found in _TOKENIZERS if known.match(name)), None)


@lru_cache(maxsize=64)  # what is composed is remembered per counter, so it stays the same one
def counter_for(model: str, calibration: Calibration | None = None) -> TokenCounter:
    """The best counter for a model on this machine. Each count says whether it is exact."""
    tokenizer = tokenizer_of(model)
    if tokenizer is not None and has_tokenizers():
        return ExactCounter(tokenizer)
    if calibration is None or calibration.model != model:
        return EstimatingCounter()
    return CalibratedCounter(EstimatingCounter(), calibration)


class ExactCounter:
    """Counts with the tokenizer itself. Special tokens in a text count as the text they are."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = load_tokenizer(tokenizer)

    def count(self, text: str) -> TokenCount:
        try:
            return TokenCount(self._tokenizer.count(text), exact=True)
        except UnicodeEncodeError:  # half a surrogate pair, which no provider would take either
            clean = text.encode("utf-8", "replace").decode()
            return TokenCount(self._tokenizer.count(clean), exact=False)


class CalibratedCounter:
    """An estimate, corrected by what a model's provider reported. Rounded up; an exact count is
    left as it is."""

    def __init__(self, counter: TokenCounter, calibration: Calibration) -> None:
        self._counter = counter
        self._ratio = calibration.ratio

    def count(self, text: str) -> TokenCount:
        counted = self._counter.count(text)
        if counted.exact:
            return counted
        return TokenCount(math.ceil(counted.tokens * self._ratio), exact=False)


def learn(calibration: Calibration, *, estimated: int, reported: int) -> Calibration:
    """What one more report teaches: `estimated` without correction, `reported` by the provider.

    Reports that are too small to tell, or too far off to be about the same text, teach nothing.
    """
    if estimated < _TOO_SMALL:
        return calibration
    ratio = reported / estimated
    low, high = _PLAUSIBLE
    if not low <= ratio <= high:
        return calibration
    seen = calibration.seen + 1
    before = calibration.ratio if calibration.seen else ratio
    moved = before + (ratio - before) / min(seen, _MEMORY)
    return Calibration(calibration.model, moved, seen)


def has_tokenizers() -> bool:
    """Whether the optional package is there; it is not loaded for the answer."""
    return find_spec(_PACKAGE) is not None


@cache
def load_tokenizer(tokenizer: Tokenizer) -> _Compiled:
    return compiled_part().tokenizer_for_encoding(tokenizer)


@cache
def compiled_part() -> Any:  # noqa: ANN401  # compiled
    """The compiled part alone: the package around it takes ten times as long to load, and keeps
    every tokenizer a second time in memory."""
    name = f"{_PACKAGE}._bindings"
    if name in sys.modules:
        return sys.modules[name]
    package = find_spec(_PACKAGE)
    places = package and package.submodule_search_locations
    spec = PathFinder.find_spec(name, places) if places else None
    if spec is None or spec.loader is None:
        raise EngineMissing(
            "counting exactly needs the package bpe-openai, which is not installed",
            hint="pip install 'mentis[tokens]', or count by estimate",
        )
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
