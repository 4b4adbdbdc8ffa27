"""What the table says, and how a route corrects it."""

from __future__ import annotations

import re
from decimal import Decimal

import genai_prices
import pytest

from mentis.errors import RouteError
from mentis.facts.abilities import abilities, override, wire_of
from mentis.facts.ability import WIRES, Abilities
from mentis.facts.table import BY_BACKEND, BY_MODEL, WIRE_OF_BACKEND
from mentis.values.route import Backend, Route

ROWS = [*BY_BACKEND.values(), *(row for rows in BY_MODEL.values() for row in rows.values())]


def known(backend: Backend, model: str, **facts: object) -> Abilities:
    return abilities(Route("r", backend, model, facts=facts))


def test_every_row_is_dated_and_consistent() -> None:
    for row in ROWS:
        assert re.fullmatch(r"2\d{3}-\d\d-\d\d", row.as_of)
        assert (
            bool(row.cache_marks) == bool(row.cache_ttls) == (row.cache in ("openai", "anthropic"))
        )
        assert 0 <= row.cache_read_price <= 1 <= row.cache_write_price


def test_every_backend_has_a_wire_and_a_row() -> None:
    assert set(WIRE_OF_BACKEND) == set(BY_BACKEND)
    assert set(WIRE_OF_BACKEND.values()) <= set(WIRES)
    assert wire_of(Route("r", "anthropic", "m")) == "anthropic"
    assert wire_of(Route("r", "replay", "m", replays="gemini")) == "gemini"


def test_the_longest_prefix_of_the_name_decides() -> None:
    assert known("anthropic", "claude-sonnet-5").mid_system == "never"
    assert known("anthropic", "claude-sonnet-5-5-20261101").mid_system == "after"
    assert known("openai", "gpt-5.6-mini").cache == "openai"
    assert known("openai", "gpt-5.1").cache == "key"
    assert known("openai", "openai/gpt-5.6").limit_key == "max_completion_tokens"


def test_a_model_nobody_knows_is_promised_nothing_but_is_not_taken_for_blind() -> None:
    row = known("openai", "some-model")
    assert [row.vision, row.audio, row.documents, row.cache_marks] == [True, False, False, 0]
    assert row.mid_system == "never"


def test_no_claude_of_the_current_api_is_sent_sampling() -> None:
    rows = [BY_BACKEND["anthropic"], *BY_MODEL["anthropic"].values()]
    assert {(row.api_version, row.sampling, row.prefill) for row in rows} == {
        ("2026-10-21", False, False)
    }


@pytest.mark.parametrize(
    ("backend", "model"), [(backend, model) for backend in BY_MODEL for model in BY_MODEL[backend]]
)
def test_the_multiples_of_the_cache_are_those_of_the_price_table(
    backend: Backend, model: str
) -> None:
    row = known(backend, model)

    def price(**cached: int) -> Decimal:
        usage = genai_prices.Usage(input_tokens=1000, **cached)
        return genai_prices.calc_price(usage, model, provider_id=row.priced_as).input_price

    try:
        plain = price()
    except LookupError:
        pytest.skip(f"the price table does not know {model} yet")
    assert float(price(cache_read_tokens=1000) / plain) == row.cache_read_price
    assert float(price(cache_write_tokens=1000) / plain) == row.cache_write_price


def test_a_route_corrects_the_table() -> None:
    row = known("openai", "some-model", vision=True, cache_ttls=["30m"], cache_read_price=1)
    assert (row.vision, row.cache_ttls) == (True, ("30m",))
    row = known("anthropic", "claude-opus-5", cache_minimum=2048, input_price=3, cache_lookback=40)
    assert (row.cache_minimum, row.input_price, row.cache_lookback) == (2048, 3, 40)


@pytest.mark.parametrize(
    ("facts", "message"),
    [({"visoin": True}, "no fact 'visoin'"), ({"vision": "yes"}, "vision is 'yes'")],
)
def test_a_correction_that_is_none_is_refused(facts: dict[str, object], message: str) -> None:
    with pytest.raises(RouteError, match=message):
        override(Abilities(), facts, where="routes.r.facts")


@pytest.mark.parametrize(
    ("backend", "model"),
    [
        ("openai", "gpt-4o-mini"),
        ("openai-responses", "gpt-4.1"),
        ("anthropic", "claude-sonnet-4-5-20250929"),
        ("gemini", "gemini-3-pro"),
    ],
)
def test_models_that_enforce_a_schema_are_known_to(backend: Backend, model: str) -> None:
    assert known(backend, model).strict_tools


def test_a_name_is_found_however_it_is_written() -> None:
    assert known("openai", "deepseek-ai/DeepSeek-V4-Pro").reasoning_back == "always"
    assert known("openai", "deepseek-r1:8b").reasoning_back == "never"
