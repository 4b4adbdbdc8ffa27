"""Prices of logged calls, part by part. A price is looked up once for prompts of about one size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from mentis.ask.prices import cached_tokens, input_rate, output_rate
from mentis.facts.abilities import abilities
from mentis.facts.ability import Abilities
from mentis.values.reply import Usage
from mentis.values.route import Backend, Route

from .calls import LoggedCall

_MILLION = 1_000_000
_GRAIN = 1000  # tokens: prices depend on how long a prompt is, in far larger steps


@dataclass(frozen=True, slots=True)
class LogTariff:
    """Dollars for one token; `read`, `write` and `long_write` are what a token of input that is
    found, written for minutes, or written for an hour costs. `told` says whence, or why nothing.
    """

    known: bool
    input: float
    output: float
    read: float
    write: float
    long_write: float
    told: str = ""


@dataclass(frozen=True, slots=True)
class CallParts:
    """Dollars of one call by what was paid for."""

    fresh: float = 0.0
    read: float = 0.0
    written: float = 0.0
    output: float = 0.0

    @property
    def total(self) -> float:
        return self.fresh + self.read + self.written + self.output


def log_route(backend: Backend, model: str) -> Route:
    return Route("log", backend, model or "?")


@lru_cache(maxsize=1024)
def log_abilities(backend: Backend, model: str) -> Abilities:
    return abilities(log_route(backend, model))


def log_tariff(backend: Backend, model: str, tokens: int) -> LogTariff:
    return _tariff(backend, model, -(-tokens // _GRAIN) * _GRAIN)


@lru_cache(maxsize=8192)
def _tariff(backend: Backend, model: str, tokens: int) -> LogTariff:
    route, able = log_route(backend, model), log_abilities(backend, model)
    reading, writing = input_rate(route, tokens), output_rate(route, prompt=tokens)
    if reading.usd is None or writing.usd is None:
        told = reading.told if reading.usd is None else writing.told
        return LogTariff(False, 0, 0, 0, 0, 0, told)
    one = reading.usd / _MILLION
    return LogTariff(
        True,
        one,
        writing.usd / _MILLION,
        one * able.cache_read_price,
        one * able.cache_write_price,
        one * able.cache_long_write_price,
        reading.told,
    )


def price_parts(tariff: LogTariff, usage: Usage, long_writes: int) -> CallParts:
    read, wrote = cached_tokens(usage)
    long = min(long_writes, wrote)
    return CallParts(
        (usage.input - read - wrote) * tariff.input,
        read * tariff.read,
        (wrote - long) * tariff.write + long * tariff.long_write,
        usage.output * tariff.output,
    )


def extra_cost(tariff: LogTariff, call: LoggedCall, lost: int) -> float:
    """What reading so many tokens anew cost more than finding them would have."""
    _, wrote = cached_tokens(call.usage)
    anew = min(lost, wrote)
    share = min(call.long_writes, wrote) / wrote if wrote else 0.0
    writing = tariff.write + share * (tariff.long_write - tariff.write)
    paid = anew * writing + (lost - anew) * tariff.input
    return max(0.0, paid - lost * tariff.read)
