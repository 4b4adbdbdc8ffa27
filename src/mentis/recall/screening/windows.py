"""A text cut into windows (sentences and pairs of them) and passages, as runs of tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from .features import Token

_BREAK = re.compile(r"[.!?;…]\s|[\n|]|[\"'“”»]\s?[,}\]]|: ?['\"]")
_LONGEST = 32  # tokens; longer sentences are cut
PASSAGE = 48  # tokens; a longer text has passages


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


def passages_of(windows: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """As many neighbouring sentences as a passage holds, from each sentence on."""
    runs = windows[: (len(windows) + 1) // 2]  # pairs of them stand behind
    found: list[tuple[int, int]] = []
    last = 0
    for number, (first, _) in enumerate(runs):
        last = max(last, number)
        while last + 1 < len(runs) and runs[last + 1][1] - first <= PASSAGE:
            last += 1
        if not found or runs[last][1] > found[-1][1]:
            found.append((first, runs[last][1]))
    return found
