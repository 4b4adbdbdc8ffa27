"""A text cut to so many tokens, wherever that falls: for text that has no sentences to end at."""

from __future__ import annotations

from collections.abc import Callable

from mentis.ports.token_counter import TokenCounter

_MOST_LETTERS = 16  # a token is seldom longer
_PER_TOKEN = 4  # letters, where a rest is too long to be counted


def clip(
    text: str, room: int, counter: TokenCounter, made: Callable[[str], str]
) -> tuple[str, int, int]:
    """The beginning that fits, made into what is told of it; its tokens, and how many of the text,
    about, were left out; 0 if none were.
    """
    if room <= 0:
        return "", 0, _about(text, counter)
    kept = text[: room * _MOST_LETTERS]
    told = made(kept)
    tokens = counter.count(told).tokens
    while tokens > room and kept:
        # Never all the way at once: how long a token is differs from place to place.
        kept = kept[: min(len(kept) - 1, len(kept) * room // tokens)]
        told = made(kept)
        tokens = counter.count(told).tokens
    return told, tokens, _about(text[len(kept) :], counter)


def _about(text: str, counter: TokenCounter) -> int:
    if len(text) > 20_000:
        return len(text) // _PER_TOKEN
    return max(1, counter.count(text).tokens) if text else 0
