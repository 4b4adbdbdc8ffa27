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


def call_price(route: Route, usage: Usage) -> Rate:
    """What one call comes to, in dollars for all of it. `usd` None: `told` says why.

    Providers sum up what they wrote into a cache; where some of it may be kept an hour, all of it
    is taken at that price, so that a budget is not passed unseen.
    """
    if route.backend in _NEVER_PAID:
        return Rate(0.0, "free: nobody is asked")
    reading = input_rate(route, usage.input)
    writing = output_rate(route, usage.output, prompt=usage.input)
    if reading.usd is None or writing.usd is None:
        return reading if reading.usd is None else writing
    able = abilities(route)
    read = min(usage.cache_read, usage.input)
    wrote = min(usage.cache_write, usage.input - read)
    write = able.cache_long_write_price if "1h" in able.cache_ttls else able.cache_write_price
    units = usage.input - read - wrote + read * able.cache_read_price + wrote * write
    return Rate((units * reading.usd + usage.output * writing.usd) / _MILLION, reading.told)


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
