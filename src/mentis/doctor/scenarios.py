"""Scenarios: what the calls of a log would have cost otherwise, counted while they go by.

Each says what it takes for granted. None asks anybody anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, cast, get_args

from mentis.errors import BadInput
from mentis.values.reply import Usage
from mentis.values.route import Backend

from .breaks import LONG_LIFE, SHORT_LIFE, LogBreak
from .calls import LoggedCall
from .prices import CallParts, LogTariff, log_abilities, log_tariff, price_parts
from .report import ScenarioResult

_SUMMARY, _SUMMARY_OUT = 4000, 2000  # tokens: of what stands for what was said, and to write it
_SHRUNK = 0.6
_MOST_THREADS = 4096
_COUNT = re.compile(r"(\d+)([kK]?)")
# What our own plan keeps from happening: docs/concepts/caching.md.
_PREVENTED = ("changed", "reordered", "clock", "nonce", "tools", "unmarked")


@dataclass(frozen=True, slots=True)
class ExaminedCall:
    """A call with what was found out about it. `gap`: seconds since the call before, of its
    thread; `before`: how long that one's prompt was, 0 where there is none.
    """

    call: LoggedCall
    thread: tuple[str, str]
    tariff: LogTariff
    parts: CallParts
    usd: float
    broke: LogBreak | None
    gap: float
    before: int


class Scenario(Protocol):
    def take(self, one: ExaminedCall) -> None: ...

    def result(self) -> ScenarioResult: ...


@dataclass(slots=True)
class PlanScenario:
    """Our plan: stable parts first, tools in one order, clocks and ids behind them, marks set."""

    name: str = "plan"
    _before: float = 0.0
    _saved: float = 0.0

    def take(self, one: ExaminedCall) -> None:
        self._before += one.usd
        if one.broke is not None and one.broke.cause in _PREVENTED:
            self._saved += one.broke.usd

    def result(self) -> ScenarioResult:
        told = "no break by edited or moved parts, clocks, ids or missing marks; all others stay"
        return ScenarioResult(self.name, self._before - self._saved, self._before, told)


@dataclass(slots=True)
class OrderScenario:
    """What changes stands last, so that only it is read again."""

    name: str = "order"
    _before: float = 0.0
    _saved: float = 0.0

    def take(self, one: ExaminedCall) -> None:
        self._before += one.usd
        broke = one.broke
        if broke is not None and broke.pointer and broke.tokens:
            self._saved += broke.usd * (1 - broke.changed / broke.tokens)

    def result(self) -> ScenarioResult:
        told = "only the part that changed is read again; counts where the log holds the prompts"
        return ScenarioResult(self.name, self._before - self._saved, self._before, told)


@dataclass(slots=True)
class LifeScenario:
    """Another life of the cache: an hour, five minutes, or none."""

    life: int
    _before: float = 0.0
    _usd: float = 0.0

    def take(self, one: ExaminedCall) -> None:
        self._before += one.usd
        usage, tariff = one.call.usage, one.tariff
        whole = usage.input
        if self.life == SHORT_LIFE and one.gap <= SHORT_LIFE and not one.call.long_writes:
            self._usd += one.usd
            return
        if not self.life:
            self._usd += whole * tariff.input + one.parts.output
            return
        moved = self._moved(one)
        read = min(whole, max(0, usage.cache_read + moved))
        wrote = max(0, usage.cache_write - moved) if usage.cache_write or moved < 0 else 0
        wrote = min(wrote, whole - read)
        writing = tariff.long_write if self.life == LONG_LIFE else tariff.write
        self._usd += (whole - read - wrote) * tariff.input + read * tariff.read
        self._usd += wrote * writing + one.parts.output

    def _moved(self, one: ExaminedCall) -> int:
        """Tokens that would have been found, or (below 0) not have been found."""
        if self.life == LONG_LIFE:
            late = one.broke is not None and one.broke.cause == "idle" and one.gap <= LONG_LIFE
            return one.broke.tokens if late and one.broke else 0
        return -min(one.call.usage.cache_read, one.before) if one.gap > SHORT_LIFE else 0

    def result(self) -> ScenarioResult:
        names = {LONG_LIFE: "life=1h", SHORT_LIFE: "life=5m", 0: "life=none"}
        told = {
            LONG_LIFE: "pauses of up to an hour find everything; every write costs the price of it",
            SHORT_LIFE: "pauses of more than five minutes find nothing; writes cost less",
            0: "nothing is found, and nothing is written",
        }
        return ScenarioResult(names[self.life], self._usd, self._before, told[self.life])


@dataclass(slots=True)
class _CutThread:
    base: int
    cut: int = 0


@dataclass(slots=True)
class CompactScenario:
    """A prompt that grows beyond a limit is summed up, and goes on short."""

    limit: int
    _before: float = 0.0
    _saved: float = 0.0
    _threads: dict[tuple[str, str], _CutThread] = field(
        default_factory=dict[tuple[str, str], _CutThread]
    )

    @property
    def saved(self) -> float:
        return self._saved

    def take(self, one: ExaminedCall) -> None:
        usage, tariff = one.call.usage, one.tariff
        self._before += one.usd
        thread = self._threads.get(one.thread)
        if thread is None:
            if len(self._threads) >= _MOST_THREADS:
                self._threads.pop(next(iter(self._threads)))
            thread = _CutThread(min(usage.input, self.limit // 2))
            self._threads[one.thread] = thread
        if usage.input < one.before * _SHRUNK:
            thread.cut = 0
        thread.cut = min(thread.cut, usage.input)
        found = min(thread.cut, usage.cache_read)
        self._saved += found * tariff.read
        self._saved += min(thread.cut - found, usage.cache_write) * tariff.write
        size = usage.input - thread.cut
        if size > self.limit:
            thread.cut = max(thread.cut, usage.input - thread.base - _SUMMARY)
            self._saved -= size * tariff.read + _SUMMARY_OUT * tariff.output
            self._saved -= _SUMMARY * tariff.write

    def result(self) -> ScenarioResult:
        told = (
            f"prompts beyond {self.limit:,} tokens are summed up in {_SUMMARY:,}, which is paid"
            " for; what is lost by it for the work is not counted"
        )
        usd = self._before - self._saved
        return ScenarioResult(f"compact={self.limit}", usd, self._before, told)


@dataclass(slots=True)
class ModelScenario:
    """The same tokens at another model, perhaps of another provider."""

    backend: Backend
    model: str
    _before: float = 0.0
    _usd: float = 0.0
    _known: bool = True

    def take(self, one: ExaminedCall) -> None:
        self._before += one.usd
        usage = one.call.usage
        tariff = log_tariff(self.backend, self.model, usage.input)
        self._known = self._known and tariff.known
        able = log_abilities(self.backend, self.model)
        cached = able.cache != "none" and usage.input >= able.cache_minimum
        told = usage if cached else Usage(usage.input, usage.output)
        self._usd += price_parts(tariff, told, one.call.long_writes).total

    def result(self) -> ScenarioResult:
        told = "the same tokens and the same hits; another model counts and answers otherwise"
        name = f"model={self.backend}/{self.model}"
        return ScenarioResult(name, self._usd if self._known else None, self._before, told)


_Maker: TypeAlias = Callable[[str], Scenario]
_LIVES = {"1h": LONG_LIFE, "5m": SHORT_LIFE, "none": 0}
SCENARIOS = "plan, order, life=1h|5m|none, compact=100k, model=BACKEND/NAME"


def make_scenario(told: str) -> Scenario:
    """Of `name` or `name=value`; BadInput for what there is not."""
    name, _, value = told.partition("=")
    if name not in _MAKERS or bool(value) == (name in ("plan", "order")):
        raise BadInput(f"there is no scenario {told!r}", hint=f"one of: {SCENARIOS}")
    return _MAKERS[name](value)


def _life(value: str) -> Scenario:
    if value not in _LIVES:
        raise BadInput(f"a cache does not live {value!r}", hint=f"one of: {', '.join(_LIVES)}")
    return LifeScenario(_LIVES[value])


def _compact(value: str) -> Scenario:
    found = _COUNT.fullmatch(value)
    limit = int(found[1]) * (1000 if found[2] else 1) if found else 0
    if limit < 2 * _SUMMARY:
        raise BadInput(
            f"{value!r} is no size of a prompt", hint=f"a number from {2 * _SUMMARY}, such as 100k"
        )
    return CompactScenario(limit)


def _model(value: str) -> Scenario:
    backend, _, model = value.partition("/")
    if backend not in get_args(Backend) or not model:
        raise BadInput(
            f"{value!r} names no model of a backend",
            hint="such as model=anthropic/claude-haiku-4-5 or model=openai/gpt-5.6",
        )
    return ModelScenario(cast("Backend", backend), model)


_MAKERS: Mapping[str, _Maker] = {
    "plan": lambda _: PlanScenario(),
    "order": lambda _: OrderScenario(),
    "life": _life,
    "compact": _compact,
    "model": _model,
}
