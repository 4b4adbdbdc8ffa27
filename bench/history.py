"""What a long conversation costs in input: told in steps, or sliding with its end.

A talk of 400 turns, of which at most 32,000 tokens are told, on a route with room for 200,000. Its
messages are of very different lengths. The input of every turn is priced as a provider does that
keeps prefixes: what begins as the request before it is read at a tenth, the rest is written at five
quarters; text that is stable stands before it in all of them. Sliding means that after every turn
as many of the oldest messages go as the new ones need, as it was done before there were steps.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache

from mentis.compose.history import FRAMING_TOKENS, HistorySteps, keep_newest, turn_tokens
from mentis.engines.estimate import EstimatingCounter
from mentis.settings.conversations import ConversationSettings
from mentis.values.part import TextPart
from mentis.values.turn import Turn

from .harness import weight

TURNS, CONTEXT, STABLE = 400, 190_000, 3_000
READ, WRITE = 0.1, 1.25
MOST = ConversationSettings().history_tokens
COUNTER = EstimatingCounter()


@cache
def talk() -> tuple[Turn, ...]:
    """Questions of a line or a paragraph, answers of a line or a page."""
    chance = random.Random(7)  # noqa: S311 - steady numbers
    said = list[Turn]()
    for number in range(TURNS):
        asked = f"Question {number}: what grows there? " * chance.choice((1, 1, 2, 8))
        answered = f"Answer {number}: what likes the shade. " * chance.choice((2, 10, 20, 60))
        said += [Turn("user", (TextPart(asked),)), Turn("assistant", (TextPart(answered),))]
    return tuple(said)


def told(most: int, *, in_steps: bool) -> Iterator[tuple[Turn, ...]]:
    """What is told of the talk in each of its turns."""
    for turn in range(1, TURNS):
        before = talk()[: 2 * turn]
        steps = HistorySteps(min(most, CONTEXT), tuple(range(len(before)))) if in_steps else None
        room = CONTEXT if in_steps else most
        yield keep_newest(before, room, COUNTER, steps=steps).turns


def priced(most: int, *, in_steps: bool) -> float:
    """The input of the talk in tokens of plain input."""
    paid, before = 0.0, tuple[Turn, ...]()
    for turns in told(most, in_steps=in_steps):
        known = turns[: len(before)] == before
        held = before if known else ()
        paid += READ * (STABLE + tokens(held)) + WRITE * tokens(turns[len(held) :])
        before = turns
    return paid


def tokens(turns: tuple[Turn, ...]) -> int:
    return sum(turn_tokens(turn, COUNTER).tokens + FRAMING_TOKENS for turn in turns)


@weight("history/400 turns, priced input", against="sliding with its end", gate=0.3)
def steps_input() -> tuple[int, int]:
    return round(priced(MOST, in_steps=True)), round(priced(MOST, in_steps=False))


@weight("history/400 turns of at most 32,000 tokens", against="all of it told", gate=0.6)
def limited_input() -> tuple[int, int]:
    return round(priced(MOST, in_steps=True)), round(priced(CONTEXT, in_steps=False))
