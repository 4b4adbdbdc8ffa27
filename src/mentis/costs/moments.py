"""Moments as people write them: a day, a time, or how long ago."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from mentis.errors import BadInput

_AGO = re.compile(r"(\d{1,6})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 168}


def read_moment(text: str, *, end: bool = False) -> datetime:
    """The moment, in UTC where it says nothing else; `end`: a day means all of it."""
    if found := _AGO.fullmatch(text):
        return datetime.now(UTC) - timedelta(hours=int(found[1]) * _HOURS[found[2]])
    try:
        when = datetime.fromisoformat(text)
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        whole = end and len(text) <= len("2026-10-04")
        return when + timedelta(days=1) if whole else when
    except (ValueError, OverflowError) as error:
        raise BadInput(
            f"{text!r} is no day (2026-10-04), time or span (7d, 12h, 2w)",
            hint="write it in one of these ways",
        ) from error
