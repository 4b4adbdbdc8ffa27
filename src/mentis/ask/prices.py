"""Prices of tokens: from the facts of the route, then the price table, or the plain no."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from mentis.facts.abilities import abilities
from mentis.values.caching import Price
from mentis.values.reply import Usage
from mentis.values.route import Backend, Route

_MILLION = 1_000_000
# These are never paid, whatever model they name.
_NEVER_PAID: frozenset[Backend] = frozenset({"scripted", "replay"})
NOT_INSTALLED = (
    "no price table is installed: pip install 'mentis[prices]', or set facts.input_price"
)


@dataclass(frozen=True, slots=True)
class Rate:
    """`usd` for one million tokens, or None; `told` says whence, or why not."""

    usd: float | None
    told: str

    def price(self, units: float) -> Price:
        return Price(round(units, 1), None if self.usd is None else units * self.usd / _MILLION)


def input_rate(route: Route, tokens: int = 0) -> Rate:
    """List price, an estimate: discounts and taxes are not known. Long prompts may cost more."""
    return _rate(route, abilities(route).input_price, max(tokens, 1), output=0)


def output_rate(route: Route, tokens: int = 0, *, prompt: int = 0) -> Rate:
    """The price of what is written; after a long prompt it may be higher as well."""
    return _rate(route, abilities(route).output_price, prompt, output=max(tokens, 1))


@dataclass(frozen=True, slots=True)
class Tariff:
    """Prices of one call: dollars for a million tokens in and out, None where one is not known.
    `read` and `write` are what the cache multiplies the first by.
    """

    input: float | None
    output: float | None
    read: float
    write: float
    told: str

    def usd(self, usage: Usage) -> float | None:
        if self.input is None or self.output is None:
            return None
        read, wrote = cached_tokens(usage)
        units = usage.input - read - wrote + read * self.read + wrote * self.write
        return (units * self.input + usage.output * self.output) / _MILLION


def cached_tokens(usage: Usage) -> tuple[int, int]:
    """How much of the input was read from a cache, and how much written into one."""
    read = min(usage.cache_read, usage.input)
    return read, min(usage.cache_write, usage.input - read)


def tariff_of(route: Route, usage: Usage) -> Tariff:
    """Providers sum up what they wrote into a cache; where some of it may be kept an hour, all of
    it is taken at that price, so that a budget is not passed unseen.
    """
    if route.backend in _NEVER_PAID:
        return Tariff(0.0, 0.0, 1.0, 1.0, "free: nobody is asked")
    reading = input_rate(route, usage.input)
    writing = output_rate(route, usage.output, prompt=usage.input)
    unknown = reading.usd is not None and writing.usd is None
    able = abilities(route)
    write = able.cache_long_write_price if "1h" in able.cache_ttls else able.cache_write_price
    told = writing.told if unknown else reading.told
    return Tariff(reading.usd, writing.usd, able.cache_read_price, write, told)


def call_price(route: Route, usage: Usage) -> Rate:
    """What one call comes to, in dollars for all of it. `usd` None: `told` says why."""
    tariff = tariff_of(route, usage)
    return Rate(tariff.usd(usage), tariff.told)


def _rate(route: Route, own: float, tokens: int, *, output: int) -> Rate:
    able, fact = abilities(route), "output_price" if output else "input_price"
    unknown = Rate(None, f"no price is known for {route.model}: set facts.{fact}")
    if own:
        return Rate(own, f"${own:g} a million tokens (facts)")
    if able.free:
        return Rate(0.0, "free: it runs on this machine")
    if not able.priced_as:
        return unknown
    try:
        import genai_prices
    except ImportError:
        return Rate(None, NOT_INSTALLED)
    asked = genai_prices.Usage(input_tokens=tokens, output_tokens=output)
    try:
        priced = genai_prices.calc_price(asked, route.model, provider_id=able.priced_as)
    except LookupError:
        return unknown
    price, count = (priced.output_price, output) if output else (priced.input_price, tokens)
    usd = float(price / Decimal(count) * _MILLION)
    table = f"genai-prices {genai_prices.__version__}"
    return Rate(usd, f"${usd:.4g} a million tokens (list price, {table})")
