"""What an agent has spent and may still spend. Checked before a call, from its own record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import cast

from mentis.errors import BudgetReached, EngineMissing
from mentis.values.entry import Entry
from mentis.values.reply import Usage
from mentis.values.route import Backend, Route

from .settings import BudgetSettings

# These cost nothing, whatever model they name.
_FREE: frozenset[Backend] = frozenset({"embedded", "scripted", "replay"})
_PRICED_AS: dict[Backend, str] = {
    "openai": "openai",
    "openai-responses": "openai",
    "anthropic": "anthropic",
    "gemini": "google",
}


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens read and written; dollars only where they are asked for and a price is known."""

    day_tokens: int = 0
    agent_tokens: int = 0
    day_usd: Decimal = Decimal(0)


def spent_by(entries: Iterable[Entry], now: datetime, *, priced: bool) -> Spent:
    """The sums over a record. A turn whose provider reported no usage counts nothing."""
    today, day, total, usd = now.astimezone(UTC).date(), 0, 0, Decimal(0)
    for entry in entries:
        usage = _usage(entry)
        if usage is None:
            continue
        tokens = usage.input + usage.output
        total += tokens
        if _day(entry) != today:
            continue
        day += tokens
        if priced:
            usd += _entry_price(entry, usage)
    return Spent(day, total, usd)


def check_budgets(budgets: BudgetSettings, spent: Spent, route: Route, *, prompt: int) -> None:
    """Raise BudgetReached if this call could go over a limit: its prompt and its longest answer."""
    call = prompt + route.max_tokens
    limits = (
        ("turn_tokens", budgets.turn_tokens, 0),
        ("day_tokens", budgets.day_tokens, spent.day_tokens),
        ("agent_tokens", budgets.agent_tokens, spent.agent_tokens),
    )
    for name, limit, used in limits:
        if limit and used + call > limit:
            raise _reached(name, f"{used} + {call}", f"{limit} tokens")
    if budgets.day_usd:
        cost = price_of(Usage(prompt, route.max_tokens), route.backend, route.model)
        if spent.day_usd + cost > Decimal(str(budgets.day_usd)):
            said = f"{spent.day_usd:.4f} + {cost:.4f}"
            raise _reached("day_usd", said, f"{budgets.day_usd} US dollars (estimated)")


def price_of(usage: Usage, backend: Backend, model: str) -> Decimal:
    """US dollars at list price, an estimate: discounts and taxes are not known here."""
    if backend in _FREE:
        return Decimal(0)
    try:
        import genai_prices
    except ImportError as error:
        raise EngineMissing(
            "a budget in dollars is set, and the price table is not installed",
            hint="install mentis[prices], or set budgets.day_usd to 0",
        ) from error
    tokens = genai_prices.Usage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read or None,
        cache_write_tokens=usage.cache_write or None,
    )
    try:
        priced = genai_prices.calc_price(tokens, model, provider_id=_PRICED_AS[backend])
    except LookupError as error:
        raise BudgetReached(
            f"a budget in dollars is set, and no price is known for {model}",
            hint="use a model with a known price, or set budgets.day_usd to 0",
            model=model,
        ) from error
    return priced.total_price


def _reached(name: str, sum_: str, limit: str) -> BudgetReached:
    return BudgetReached(
        f"this call could use more than budgets.{name} allows: {sum_} of {limit}",
        hint=f"raise budgets.{name}, wait for the next day if it is a daily one, or ask for less",
        budget=name,
    )


def _usage(entry: Entry) -> Usage | None:
    found = entry.body.get("usage") if entry.kind == "turn" else None
    if not isinstance(found, Mapping):
        return None
    told = cast("Mapping[str, object]", found)
    names = ("input", "output", "cache_read", "cache_write")
    counts = (told.get(name) for name in names)
    return Usage(*(count if isinstance(count, int) else 0 for count in counts))


def _day(entry: Entry) -> date:
    return datetime.fromisoformat(entry.time).astimezone(UTC).date()


def _entry_price(entry: Entry, usage: Usage) -> Decimal:
    route = cast("Mapping[str, str]", entry.body.get("route") or {})
    backend = cast("Backend", route.get("backend", "embedded"))
    return price_of(usage, backend, route.get("model", ""))
