from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mentis.ask.footprint import CacheStep, Footprint, footprints_in, lifetime
from mentis.values.entry import Entry

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
MADE = Footprint(
    "default",
    "claude-opus-5",
    NOW,
    (
        CacheStep("tools", 90, 20, "ab" * 12, "1h", marked=True),
        CacheStep(
            "history", 400, 130, "cd" * 12, "5m", marked=True, blocks=3, exact=True, counted=True
        ),
    ),
)


def entry(cache: object, kind: str = "turn") -> Entry:
    time = "2026-11-15T12:00:00.000000Z"
    return Entry("a", 0, time, "s", kind, None, None, {}, "", body={"cache": cache})


def test_what_an_entry_keeps_is_read_back_the_same() -> None:
    assert list(footprints_in([entry([MADE.entry_fields(130)])])) == [(MADE, 130)]


@pytest.mark.parametrize(
    "cache", [None, {}, "x", [1], [{}], [{"route": "r", "model": "m", "steps": [[1]], "input": 1}]]
)
def test_what_another_version_wrote_teaches_nothing(cache: object) -> None:
    assert list(footprints_in([entry(cache)])) == []
    assert list(footprints_in([entry([MADE.entry_fields(1)], kind="note")])) == []


@pytest.mark.parametrize(
    ("ttl", "seconds"), [("5m", 300), ("1h", 3600), ("12h", 43_200), ("300s", 300), ("", 0)]
)
def test_a_lifetime_is_so_many_seconds(ttl: str, seconds: int) -> None:
    assert lifetime(ttl) == seconds
