"""Figures and times as people read them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal


def count(number: int) -> str:
    """1234567 is 1,234,567."""
    return f"{number:,}"


def dollars(usd: object) -> str:
    """Small sums with as many digits as say something."""
    if usd is None:
        return "price unknown"
    amount = usd if isinstance(usd, Decimal) else Decimal(str(usd))
    if not amount:
        return "free"
    if amount >= 1:
        return f"${amount:.2f}"
    digits = max(2, 1 - amount.adjusted())  # two that are no zeros in front
    return f"${amount:.{digits}f}"


def share(part: int, whole: int) -> str:
    return f"{round(100 * part / whole)} %" if whole else "0 %"


def moment(time: str) -> str:
    """To the minute, in UTC."""
    try:
        return datetime.fromisoformat(time).astimezone(UTC).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return time


def initials(name: str) -> str:
    """The face of somebody without a picture."""
    return "".join(word[0] for word in name.split()[:2]).upper() or "?"


def written(value: object) -> str:
    """A value as JSON on several lines, to be escaped like any text."""
    return json.dumps(value, indent=2, ensure_ascii=False)


FILTERS: Mapping[str, Callable[..., str]] = {
    "count": count,
    "dollars": dollars,
    "moment": moment,
    "initials": initials,
    "share": share,
    "written": written,
}
