"""A text cut into windows: sentences, and pairs of neighbours, as runs of tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from .features import Token

_BREAK = re.compile(r"[.!?;…]\s|[\n|]|[\"'“”»]\s?[,}\]]|: ?['\"]")
_LONGEST = 32  # tokens; longer sentences are cut


def sentences_of(text: str, tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """Runs of tokens, first and past the last."""
    runs: list[tuple[int, int]] = []
    first = 0
    for number in range(1, len(tokens) + 1):
        if number < len(tokens) and number - first < _LONGEST:
            between = text[tokens[number - 1].end - 1 : tokens[number].start + 1]
            if (len(between) == 3 and between[1] == " ") or not _BREAK.search(between):
                continue
        runs.append((first, number))
        first = number
    return runs


def windows_of(text: str, tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """Each sentence, and each with the next one."""
    runs = sentences_of(text, tokens) if tokens else []
    pairs = [(one[0], two[1]) for one, two in pairwise(runs)]
    return [*runs, *pairs]
