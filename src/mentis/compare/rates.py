"""Shares that were counted as JSON, with how far chance alone could have moved them."""

from __future__ import annotations

from mentis.values.proportion import Proportion

_PLACES = 4


def rate_data(counted: Proportion) -> dict[str, object]:
    """A pass rate, with its counts."""
    low, high = counted.interval
    return {
        "passed": counted.passed,
        "total": counted.total,
        "rate": round(counted.rate, _PLACES),
        "low": round(low, _PLACES),
        "high": round(high, _PLACES),
    }


def share_data(name: str, counted: Proportion | None) -> dict[str, object]:
    """One figure among others: its rate by its name, and its interval beside it."""
    if counted is None:
        return {name: None, f"{name}_interval": None}
    interval = [round(one, _PLACES) for one in counted.interval]
    return {name: round(counted.rate, _PLACES), f"{name}_interval": interval}
