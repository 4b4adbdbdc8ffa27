"""What a lorebook costs in a long conversation, frozen where it fired or moving with the end.

A story of 50 turns with a cast of ten, of whom each message names four, and now and then a place
that was not spoken of before: the lorebook has 40 entries. What is spoken of all the time is what
frozen entries are for; `journey` is the other end, in which every message is about another place.
The input of every turn is priced as a provider does that keeps prefixes: what begins as the
request before it is read at a tenth, the rest is written at five quarters. Four bytes are a token.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from mentis.compose.compose import compose
from mentis.compose.purposes import Policies
from mentis.engines.estimate import EstimatingCounter
from mentis.values.block import Block, Variant
from mentis.values.keywords import Keywords, LoreLayout, LoreRules
from mentis.values.library import Library
from mentis.values.part import TextPart
from mentis.values.persona import Persona, Profile
from mentis.values.recalled import RecalledContext, Stimulus
from mentis.values.turn import Turn

from .harness import weight

TURNS, ENTRIES, CAST, NAMED = 50, 40, 10, 4
READ, WRITE = 0.1, 1.25
BUDGET = 4000  # a quarter of 16,000, as SillyTavern has it
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SENTENCE = "It was built in the third year of the long winter, and few who know it speak of it. "
TALK = "We go on along the river until the light is gone, and then we make a fire. "


def _entry(number: int, repeats: int) -> Block:
    return Block(
        f"entry-{number}",
        f"Entry {number}",
        number,
        "message",
        "history",
        {"default": Variant(f"Place{number} is a place. {SENTENCE * repeats}")},
        keywords=Keywords((f"place{number}",), scan_depth=4),
    )


def _library(repeats: int) -> Library:
    rules = Block(
        "rules",
        "Rules",
        0,
        "system_prompt",
        "system_prompt",
        {"default": Variant("You tell a story. " * 200)},
    )
    entries = (_entry(number, repeats) for number in range(ENTRIES))
    return Library("bench", (rules, *entries), {}, {})


def story() -> Iterator[str]:
    """Four of the cast in each message; in every tenth a new place, too."""
    for turn in range(TURNS):
        named = " and ".join(f"place{(turn * NAMED + n) % CAST}" for n in range(NAMED))
        place = f" We come to place{CAST + turn // 10}." if turn % 10 == 0 else ""
        yield f"What of {named}?{place}"


def journey() -> Iterator[str]:
    """From one place to the next, and never back."""
    for turn in range(TURNS):
        yield f"Let us go from place{max(0, turn - 1) % ENTRIES} to place{turn % ENTRIES}. {TALK}"


def bodies(layout: LoreLayout, messages: Iterable[str], repeats: int) -> Iterator[str]:
    """What each turn would send, as text: what is cached is a prefix of it."""
    library, history = _library(repeats), list[Turn]()
    for message in messages:
        made = compose(
            library,
            persona=Persona("bo", "Bo"),
            profile=Profile("Robin"),
            recalled=RecalledContext(Stimulus(message)),
            history=tuple(history),
            now=NOON,
            variant="default",
            policies=Policies(lore=LoreRules(layout, tokens=BUDGET)),
            counter=EstimatingCounter(),
            context_tokens=200_000,
            reserve_tokens=1000,
        ).request
        told = [span.text for span in made.system_instruction]
        told += [f"\n{turn.role}: {turn.text}" for turn in made.conversation_history]
        yield json.dumps([*told, f"\nuser: {made.current_text}"])
        history.append(Turn("user", (TextPart(message),)))
        history.append(Turn("assistant", (TextPart(TALK),)))


def priced(layout: LoreLayout, messages: Iterable[str], repeats: int = 10) -> float:
    """Tokens of input of the whole conversation, at the price of new ones."""
    total, before = 0.0, ""
    for body in bodies(layout, messages, repeats):
        same = _same(before, body)
        total += (READ * same + WRITE * (len(body) - same)) / 4
        before = body
    return total


def _same(one: str, other: str) -> int:
    """How many characters both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


@weight("lore/50 turns, priced input", against="entries that move with the end", gate=0.25)
def lore_input() -> tuple[int, int]:
    return round(priced("frozen", story())), round(priced("depth", story()))


@weight("lore/50 turns on a journey, priced input", against="entries that move", gate=0.25)
def journey_input() -> tuple[int, int]:
    return round(priced("frozen", journey())), round(priced("depth", journey()))
