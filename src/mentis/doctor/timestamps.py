"""Times as logs write them, in seconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_MOST = 253_402_300_799  # the end of the year 9999
_THOUSANDTHS = 100_000_000_000  # more than this is no number of seconds of our time


def seconds_of(told: object) -> float:
    """0 where it is no time. A number may count thousandths or less; no zone means UTC."""
    if isinstance(told, str):
        return _of_text(told.strip())
    if isinstance(told, bool) or told is None:
        return 0.0
    if isinstance(told, int | float):
        return _scaled(float(told))
    if isinstance(told, datetime):
        return (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()
    return _of_text(str(told).strip())


def _scaled(number: float) -> float:
    if not 0 < number < float("inf"):
        return 0.0
    while number > _THOUSANDTHS:
        number /= 1000
    return number if number < _MOST else 0.0


def _of_text(text: str) -> float:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        try:
            found = parsedate_to_datetime(text)
        except (ValueError, TypeError, IndexError):
            return _of_number(text)
    try:
        return max(0.0, (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())
    except (OverflowError, ValueError, OSError):
        return 0.0


def _of_number(text: str) -> float:
    try:
        return _scaled(float(text))
    except ValueError:
        return 0.0
