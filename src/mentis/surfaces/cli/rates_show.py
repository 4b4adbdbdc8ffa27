"""Shares that were counted as a person reads them: how many, how often, from and to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mentis.values.proportion import Proportion

INTERVAL = "95 %"  # the heading of a column of intervals


def count_words(counted: Proportion) -> str:
    return f"{counted.passed} of {counted.total}"


def rate_words(counted: Proportion) -> str:
    return f"{counted.rate:.0%}" if counted.total else ""


def interval_words(counted: Proportion | None) -> str:
    """Nothing where nothing was counted."""
    if counted is None or not counted.total:
        return ""
    low, high = counted.interval
    return f"{low:.0%} to {high:.0%}"
