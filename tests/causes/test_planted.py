"""The set of planted causes on the embedded model: `make slow` prints how many are found first."""

from __future__ import annotations

import sys

import pytest
from tests.causes.planted_cases import planted_cases

from mentis.ask.lone_calls import ask_free, bare_attempt
from mentis.ask.models import models_on
from mentis.causes.causes import find_causes
from mentis.causes.plan import prepare_causes
from mentis.engines.embedded import EmbeddedProvider
from mentis.engines.estimate import EstimatingCounter
from mentis.home.system import SystemClock
from mentis.values.route import Route

ROUTE = Route("local", "embedded", "smollm2-135m", context_tokens=1024, threads=1)


def test_there_are_fifty_cases_in_five_languages_of_five_to_eight_pieces() -> None:
    cases = planted_cases()
    assert len({case.id for case in cases}) == 50
    assert {case.language for case in cases} == {"en", "de", "fr", "pt", "es"}
    for case in cases:
        units = prepare_causes(case.question(ROUTE), EstimatingCounter()).plan.units
        assert 5 <= len(units) <= 8
        assert [unit.name for unit in units].count(case.cause) == 1


@pytest.mark.slow
@pytest.mark.model
async def test_a_planted_cause_is_found_first_in_45_of_50_cases(
    capsys: pytest.CaptureFixture[str],
) -> None:
    provider, missed, prefilled, reused = EmbeddedProvider(), list[str](), 0, 0
    models = models_on(ROUTE, provider, SystemClock())
    cases = planted_cases()
    for case in cases:
        prepared = prepare_causes(case.question(ROUTE), EstimatingCounter())
        found = await find_causes(prepared, lambda one: ask_free(models, bare_attempt(models, one)))
        prefilled, reused = prefilled + found.prefilled, reused + found.reused
        if found.causes[0].unit.name != case.cause:
            ranks = [one.unit.name for one in found.causes]
            missed.append(f"{case.id}: {ranks.index(case.cause) + 1}, after {ranks[0]}")
    await provider.aclose()
    with capsys.disabled():
        sys.stderr.write(
            f"\ncauses found first: {len(cases) - len(missed)} of {len(cases)}"
            f" ({prefilled} tokens read, {reused} reused; missed: {'; '.join(missed)})\n"
        )
    assert len(missed) <= 5, missed
