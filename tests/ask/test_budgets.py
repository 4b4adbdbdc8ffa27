from __future__ import annotations

import sys
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from mentis.ask.budgets import Spending, check_budgets, price_of, spending_in
from mentis.errors import BudgetReached, EngineMissing
from mentis.settings.sections import BudgetSettings
from mentis.values.entry import Entry
from mentis.values.measured import ClockReading
from mentis.values.reply import Usage
from mentis.values.route import Route

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
ROUTE = Route("r", "anthropic", "claude-opus-4-5", max_tokens=100)


def entry(time: str, tokens: int | None, kind: str = "turn") -> Entry:
    usage = {} if tokens is None else {"usage": {"input": tokens - 1, "output": 1}}
    body = {"route": {"backend": "anthropic", "model": "claude-opus-4-5"}, **usage}
    return Entry("a", 0, time, "s", kind, None, None, {}, "", body=body)


def unreported(time: str, tokens: int) -> Entry:
    body = {"route": {"backend": "anthropic", "model": "claude-opus-4-5"}}
    lost = {**body, "planned": {"input": tokens - 1, "output": 1}}
    return Entry("a", 0, time, "s", "turn", None, None, {}, "", body={**body, "unanswered": [lost]})


def test_a_record_is_summed_by_day_and_in_all() -> None:
    entries = [
        entry("2026-11-14T23:59:59.000000Z", 1000),
        entry("2026-11-15T00:00:00.000000Z", 10),
        entry("2026-11-15T11:00:00.000000Z", 5),
        entry("2026-11-15T11:00:00.000000Z", None),
        entry("2026-11-15T11:00:00.000000Z", 7, kind="note"),
        unreported("2026-11-15T11:00:00.000000Z", 3),
    ]
    assert spending_in(entries, ClockReading(NOW), priced=False) == Spending(
        day_tokens=18, agent_tokens=1018
    )
    assert spending_in(entries, ClockReading(NOW), priced=True).day_usd > 0


@pytest.mark.parametrize("name", ["turn_tokens", "day_tokens", "agent_tokens"])
def test_a_call_that_could_go_over_is_refused_and_one_that_fits_is_not(name: str) -> None:
    used = 0 if name == "turn_tokens" else 50
    spent = Spending(day_tokens=50, agent_tokens=50)
    check_budgets(BudgetSettings(**{name: used + 150}), spent, ROUTE, prompt=50)
    with pytest.raises(BudgetReached, match=rf"budgets\.{name}") as caught:
        check_budgets(BudgetSettings(**{name: used + 149}), spent, ROUTE, prompt=50)
    assert caught.value.facts["budget"] == name


def test_without_a_budget_nothing_is_refused() -> None:
    check_budgets(BudgetSettings(), Spending(10**12, 10**12), ROUTE, prompt=10**9)


def test_a_budget_in_dollars_is_held() -> None:
    check_budgets(BudgetSettings(day_usd=1), Spending(), ROUTE, prompt=1000)
    with pytest.raises(BudgetReached, match="estimated"):
        check_budgets(BudgetSettings(day_usd=1), Spending(day_usd=Decimal(1)), ROUTE, prompt=1000)


def test_what_runs_here_is_free_and_needs_no_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    assert price_of(Usage(10, 10), Route("r", "embedded", "smollm2-135m")) == 0
    with pytest.raises(EngineMissing, match="price table"):
        price_of(Usage(10, 10), ROUTE)


def test_a_model_without_a_price_is_refused_rather_than_taken_as_free() -> None:
    with pytest.raises(BudgetReached, match="no price is known"):
        price_of(Usage(10, 10), Route("r", "openai", "no-such-model-anywhere"))


def test_a_route_that_sets_its_prices_needs_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    facts = {"input_price": 2.0, "output_price": 10.0, "cache_read_price": 0.5}
    route = Route("r", "openai", "my-own", facts=facts)
    assert price_of(Usage(1_000_000, 100_000), route) == Decimal(3)
    assert price_of(Usage(1_000_000, 0, cache_read=500_000), route) == Decimal("1.5")
    spent = spending_in([own_entry()], ClockReading(NOW), priced=True, routes=[route])
    assert spent.agent_usd == Decimal(2)


def own_entry() -> Entry:
    body = {"route": {"backend": "openai", "model": "my-own"}, "usage": {"input": 1_000_000}}
    return Entry("a", 0, "2026-11-15T11:00:00.000000Z", "s", "turn", None, None, {}, "", body=body)


def test_what_may_be_kept_an_hour_is_taken_at_the_price_of_an_hour() -> None:
    facts = {"input_price": 3.0, "output_price": 15.0}
    route = Route("r", "anthropic", "claude-opus-4-5", facts=facts)
    assert price_of(Usage(1_000_000, 0, cache_write=1_000_000), route) == Decimal(6)


def test_a_budget_counts_on_the_whole_prompt_being_written_into_a_cache() -> None:
    facts = {"input_price": 1.0, "output_price": 1.0}
    route = Route("r", "anthropic", "claude-opus-4-5", max_tokens=0, facts=facts)
    budgets = BudgetSettings(turn_usd=1.5)
    with pytest.raises(BudgetReached, match="turn_usd"):
        check_budgets(budgets, Spending(), route, prompt=1_000_000)
    check_budgets(budgets, Spending(), replace(route, caching=False), prompt=1_000_000)
