from __future__ import annotations

from dataclasses import replace

import pytest

from mentis.surfaces.cli.plan import cached_lines
from mentis.surfaces.cli.report import show
from mentis.values.caching import CacheReconciliation
from mentis.values.trace import TokenCount

AS_PLANNED = CacheReconciliation(
    "r", TokenCount(1200), 1190, 0, TokenCount(1500), 1510, "as-expected"
)


def test_only_what_was_not_as_expected_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    show(cached_lines(AS_PLANNED))
    assert capsys.readouterr().err == ""
    missed = replace(AS_PLANNED, read=0, verdict="less", reasons=("block identity changed",))
    show(cached_lines(missed))
    assert capsys.readouterr().err == (
        "cache: ~1200 tokens were expected from the cache, 0 came: block identity changed\n"
    )


def test_a_provider_that_says_otherwise_is_told_of_even_where_all_was_as_expected(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = "the provider says tools_changed, and our plan lost no boundary"
    show(cached_lines(replace(AS_PLANNED, disagreement=said)))
    assert capsys.readouterr().err == f"cache: {said}\n"
