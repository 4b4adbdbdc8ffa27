from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.engines import counters
from mentis.engines.counters import (
    CalibratedCounter,
    ExactCounter,
    counter_for,
    learn,
    tokenizer_of,
)
from mentis.engines.estimate import EstimatingCounter
from mentis.errors import EngineMissing
from mentis.values.calibration import Calibration
from mentis.values.trace import TokenCount

NEW = Calibration("claude")


@pytest.mark.parametrize(
    ("model", "tokenizer"),
    [
        ("gpt-5.6", "o200k_base"),
        ("openai/GPT-4o-mini", "o200k_base"),
        ("gpt-4.1", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("gpt-oss-20b", "o200k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-3.5-turbo", "cl100k_base"),
        ("text-embedding-3-small", "cl100k_base"),
        ("gpt-40", None),
        ("gpt-4.7", None),
        ("olmo-2", None),
        ("claude-opus-5", None),
        ("smollm2-135m", None),
    ],
)
def test_the_name_of_a_model_names_its_tokenizer(model: str, tokenizer: str | None) -> None:
    assert tokenizer_of(model) == tokenizer


@pytest.mark.parametrize(("model", "tokens"), [("gpt-5", 6), ("gpt-4", 8), ("openai/gpt-4o", 6)])
def test_a_known_tokenizer_counts_exactly(model: str, tokens: int) -> None:
    assert counter_for(model).count("Größe prüfen, bitte.") == TokenCount(tokens, exact=True)
    assert counter_for(model) is counter_for(model)
    assert counter_for(model).count("") == TokenCount(0, exact=True)


def test_what_looks_like_a_special_token_counts_as_text() -> None:
    assert counter_for("gpt-5").count("<|endoftext|>").tokens > 1


def test_half_a_surrogate_pair_is_counted_too() -> None:
    assert counter_for("gpt-5").count("a\ud800b") == TokenCount(3, exact=False)


def test_a_long_text_is_counted_to_its_end() -> None:
    assert counter_for("gpt-5").count("word " * 300_000) == TokenCount(300_001, exact=True)


def test_without_the_package_it_is_an_estimate_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counters, "_PACKAGE", "no_such_package")
    for cached in (counter_for, counters.load_tokenizer, counters.compiled_part):
        cached.cache_clear()
    try:
        assert not counter_for("gpt-5").count("Hello").exact
        with pytest.raises(EngineMissing) as caught:
            ExactCounter("o200k_base")
        assert "mentis[tokens]" in caught.value.hint
    finally:
        counter_for.cache_clear()


def test_an_estimate_is_corrected_by_what_was_reported() -> None:
    text = "The tide turns at noon, and we go out with it. " * 20
    plain = EstimatingCounter().count(text).tokens
    learned = Calibration("claude", 1.25, 4)
    assert counter_for("claude", learned).count(text).tokens == -(-plain * 5 // 4)
    assert counter_for("claude").count(text).tokens == plain
    assert counter_for("other", learned).count(text).tokens == plain
    assert CalibratedCounter(ExactCounter("o200k_base"), learned).count("a b").tokens == 2


def test_a_report_teaches_and_the_latest_do_not_outweigh_the_rest() -> None:
    once = learn(NEW, estimated=1000, reported=1200)
    assert once == Calibration("claude", 1.2, 1)
    twice = learn(once, estimated=1000, reported=1400)
    assert (round(twice.ratio, 9), twice.seen) == (1.3, 2)


@pytest.mark.parametrize(("estimated", "reported"), [(199, 250), (1000, 4000), (1000, 0)])
def test_a_report_that_tells_nothing_teaches_nothing(estimated: int, reported: int) -> None:
    assert learn(NEW, estimated=estimated, reported=reported) is NEW


@given(st.lists(st.tuples(st.integers(1, 9000), st.integers(0, 30_000)), max_size=40))
def test_whatever_is_reported_the_correction_stays_plausible(
    reports: list[tuple[int, int]],
) -> None:
    learned = NEW
    for estimated, reported in reports:
        learned = learn(learned, estimated=estimated, reported=reported)
    assert 0.5 <= learned.ratio <= 3.0


def test_it_comes_close_after_a_few_reports() -> None:
    learned = NEW
    for number in range(40):
        learned = learn(learned, estimated=1000, reported=1300 + (-1) ** number * 50)
    assert abs(learned.ratio - 1.3) < 0.01
