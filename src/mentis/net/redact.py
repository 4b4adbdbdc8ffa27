"""Keeps secrets out of everything that is shown or stored."""

from __future__ import annotations

from collections.abc import Iterable

MARK = "[redacted]"
_SHORTEST = 6  # anything shorter would also strike out ordinary words


def redact(text: str, secrets: Iterable[str]) -> str:
    """`text` with every secret replaced; the longest first, so that none shows in part."""
    for secret in sorted({s for s in secrets if len(s) >= _SHORTEST}, key=len, reverse=True):
        text = text.replace(secret, MARK)
    return text
