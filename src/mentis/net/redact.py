"""Keeps secrets out of everything that is shown or stored."""

from __future__ import annotations

import re
from collections.abc import Iterable

MARK = "[redacted]"
_SHORTEST = 6  # anything shorter would also strike out ordinary words
# What keys of the known providers look like, wherever they turn up in a recording.
_SHAPES = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{16,}|AIza[0-9A-Za-z_-]{30,}|gh[pousr]_[A-Za-z0-9]{30,})"
    r"|(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{16,}"
)


def redact(text: str, secrets: Iterable[str]) -> str:
    """`text` with every secret replaced; the longest first, so that none shows in part."""
    for secret in sorted({s for s in secrets if len(s) >= _SHORTEST}, key=len, reverse=True):
        text = text.replace(secret, MARK)
    return text


def redact_bytes(data: bytes, secrets: Iterable[str]) -> bytes:
    """The same for what is stored: known secrets, and everything shaped like a key."""
    # Latin-1 carries every byte through unchanged, valid UTF-8 or not; keys are ASCII.
    text = redact(data.decode("latin-1"), secrets)
    return _SHAPES.sub(MARK, text).encode("latin-1")
