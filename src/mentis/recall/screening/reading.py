"""A text read once: tokens, ideas, hits of the rules, windows, and features for each token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .features import (
    Lexicon,
    Token,
    idea_buckets,
    part_buckets,
    rule_buckets,
    tokens_of,
    word_buckets,
)
from .rules import Hit, Rules
from .windows import windows_of

# How much each kind of feature counts before training; ideas and rules travel between languages.
PART_SCALE = 0.6
IDEA_SCALE = 1.5
RULE_SCALE = 1.2
LONGEST = 20_000  # characters that are looked at
_REPEATED = 4  # times that each word comes on average, before it is repetition


@dataclass(frozen=True, slots=True)
class TextReading:
    """`words` and `ideas` hold, for each token, the buckets it brings."""

    tokens: Sequence[Token]
    words: Sequence[tuple[int, ...]]
    ideas: Sequence[tuple[int, ...]]
    hits: Sequence[Hit]
    windows: Sequence[tuple[int, int]]


def read(text: str, lexicon: Lexicon, rules: Rules) -> TextReading:
    tokens = tokens_of(text)
    words = [token.word for token in tokens]
    ideas = [lexicon.ideas(word) for word in words]
    return TextReading(
        tokens,
        list(word_buckets(words)),
        list(idea_buckets(ideas)),
        rules.hits(ideas),
        windows_of(text, tokens),
    )


def features(one: TextReading, start: int, end: int) -> list[tuple[int, float]]:
    """Buckets and values of a run of tokens, as the model is trained on them."""
    parts = [bucket for token in one.tokens[start:end] for bucket in part_buckets(token.word)]
    words = [bucket for buckets in one.words[start:end] for bucket in buckets]
    ideas = [bucket for buckets in one.ideas[start:end] for bucket in buckets]
    rules = {
        bucket
        for hit in one.hits
        if start <= hit.start and hit.end <= end
        for bucket in rule_buckets(hit.rule.number, hit.rule.category)
    }
    return [
        *((bucket, PART_SCALE / root(len(parts))) for bucket in parts),
        *((bucket, PART_SCALE / root(len(words))) for bucket in words),
        *((bucket, IDEA_SCALE / root(end - start)) for bucket in ideas),
        *((bucket, RULE_SCALE) for bucket in sorted(rules)),
    ]


def whole_features(one: TextReading) -> list[tuple[int, float]]:
    """Of all tokens; what is said again and again adds up to less."""
    size = variety(one)
    return [(bucket, size * value) for bucket, value in features(one, 0, len(one.tokens))]


def variety(one: TextReading) -> float:
    """1 for what people write, less for a log of a thousand equal lines: their words add up."""
    different = len({token.word for token in one.tokens})
    return min(1.0, _REPEATED * different / max(1, len(one.tokens))) ** 0.5


def root(count: int) -> float:
    return max(4, count) ** 0.5
