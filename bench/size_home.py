"""Homes that hold very much of one thing, or of everything, and one that holds a little.

What is much is written in bulk through the stores, as an import would bring it: turns copied from
one that was real, chained and stored as ever; memories with vectors around topics, and words as
seldom and as frequent as those of a language.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Any, cast

import numpy as np

from mentis import Agent, Prompts, create_home
from mentis.engines.embedders import open_embedder
from mentis.ledger.guardian.examples import good_window
from mentis.memories.memories import open_memories
from mentis.record.record import Record, open_record
from mentis.record.window_state import state_fields
from mentis.stores.sqlite.memories import SqliteMemories
from mentis.talk.persona_reading import success_mark
from mentis.values.cognition import Memory
from mentis.values.entry import LEDGER_FIELDS, Draft, Entry
from mentis.values.guardian import CYCLE_LENGTH, GuardianState
from mentis.values.memories import Vector, text_digest
from mentis.values.part import TextPart
from mentis.values.trust import Trust
from mentis.values.turn import Turn
from mentis.values.turn_writes import TurnWrites

from .studio_home import write_blocks

PERSONA, TALK = "ada", "desk"
_DIMENSION, _TOPICS, _WIDTH = 512, 2_000, 0.8
_BATCH = 500  # drafts or memories that are written at once
_WORDS, _LENGTH = 20_000, 14
_SETTINGS = """
[routes.default]
backend = "scripted"
model = "m"
replies = ["Yes, it is.", "No, it is not."]
[recall]
embedder = "ngrams"
"""


@dataclass(frozen=True, slots=True)
class HomeContents:
    """How much there is beyond a little of everything. Every exchange has its own entry."""

    messages: int = 6
    memories: int = 20
    blocks: int = 10
    personas: int = 1
    entries: int = 10

    def times(self, share: float) -> HomeContents:
        """So much of what is much."""
        return HomeContents(
            *(
                max(int(mine * share), little) if mine != little else little
                for mine, little in (
                    (self.messages, LITTLE.messages),
                    (self.memories, LITTLE.memories),
                    (self.blocks, LITTLE.blocks),
                    (self.personas, LITTLE.personas),
                    (self.entries, LITTLE.entries),
                )
            )
        )


LITTLE = HomeContents()
MUCH = {
    "messages": replace(LITTLE, messages=50_000),
    "memories": replace(LITTLE, memories=100_000),
    "blocks": replace(LITTLE, blocks=5_000),
    "personas": replace(LITTLE, personas=1_000),
    "entries": replace(LITTLE, entries=100_000),
    "everything": HomeContents(50_000, 100_000, 5_000, 1_000, 100_000),
}


async def make_home(folder: Path, contents: HomeContents) -> Path:
    """A home with that in it; its own index of the memories is made, as a first search does."""
    home = create_home(folder)
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write(_SETTINGS)
    with Prompts.open(home) as prompts:  # its first change makes the files
        prompts.change(lambda editor: editor.save("style", meta={"order": 1}))
    write_blocks(home, contents.blocks)
    for number in range(1, contents.personas):
        shutil.copytree(home / "personas" / PERSONA, home / "personas" / f"other-{number:04}")
    async with Agent.open(home, persona=PERSONA) as agent:
        await agent.chat(_asked(0), session=TALK)
    with open_record(home, PERSONA) as record:
        _write_entries(record, contents)
        _write_memories(SqliteMemories(record.database), record.agent, contents.memories)
    with open_memories(home, PERSONA) as memories:
        await memories.search(_asked(0))
        memories.wait_for_index()
    return home


def _write_entries(record: Record, contents: HomeContents) -> None:
    (turn,) = record.last(1)
    record.start()
    exchanges = contents.messages // 2
    for numbers in _batches(range(1, exchanges), _BATCH // 2):
        drafts = [_turn_draft(turn, number) for number in numbers]
        said = [one for number in numbers for one in _exchange(number)]
        record.ledger.append(
            record.agent, drafts, record.stamp(), turns=TurnWrites(TALK, turns=tuple(said))
        )
    for numbers in _batches(range(contents.entries - exchanges), _BATCH):
        drafts = [_window_draft(n) for n in numbers]
        record.ledger.append(record.agent, drafts, record.stamp())
    # Whoever talked so long has had its memory files brought up to date on the way.
    noted, mark = Draft("note", "bench", {"read": TALK}), success_mark(TALK, contents.messages)
    record.ledger.append(record.agent, [noted], record.stamp(), marks=[mark])


def _turn_draft(entry: Entry, number: int) -> Draft:
    kept = {name: value for name, value in entry.body.items() if name not in LEDGER_FIELDS}
    told = {"number": number * 2, "session": TALK, "stop": "end"}
    return Draft(entry.kind, entry.source, cast("Any", {**kept, "turn": told}), entry.ruleset)


def _window_draft(number: int) -> Draft:
    """A window as it is kept: with the state that it met."""
    state = GuardianState(step=number // CYCLE_LENGTH + 1, cycle=number % CYCLE_LENGTH + 1)
    window = {**good_window(), "goal": _asked(number)}
    return Draft("window", "bench", {"window": window, "state": state_fields(state)}, "mentis")


def _exchange(number: int) -> tuple[Turn, Turn]:
    return (
        Turn("user", (TextPart(_asked(number)),)),
        Turn("assistant", (TextPart(f"We said on day {number} that it waits."),), Trust.SELF),
    )


def _asked(number: int) -> str:
    return f"What did we say about the garden on day {number}, and what is still to be done there?"


def _write_memories(store: SqliteMemories, agent: str, count: int) -> None:
    fingerprint = open_embedder("ngrams")[0].fingerprint
    chance = random.Random(5)  # noqa: S311 - steady numbers
    vocabulary = ["garden", "said", "done", "day", "still", *map(_word, range(_WORDS))]
    frequent = list(accumulate(1 / (number + 10) for number in range(len(vocabulary))))
    rows = _rows(count)
    for numbers in _batches(range(count), _BATCH * 10):
        kept = [
            _memory(number, " ".join(chance.choices(vocabulary, cum_weights=frequent, k=_LENGTH)))
            for number in numbers
        ]
        store.add(agent, kept)
        store.keep_vectors(
            agent,
            fingerprint,
            [
                Vector(m.id, text_digest(m.text), rows[n].tobytes())
                for n, m in zip(numbers, kept, strict=True)
            ],
        )


def _batches(numbers: range, size: int) -> Iterator[range]:
    return (numbers[start : start + size] for start in range(0, len(numbers), size))


def _rows(count: int) -> Any:  # noqa: ANN401 - an array
    """Vectors around topics, as near to each other as sentences of one topic are."""
    chance, scale = np.random.default_rng(11), _WIDTH / _DIMENSION**0.5
    topics = chance.standard_normal((_TOPICS, _DIMENSION), dtype=np.float32)
    topics /= np.linalg.norm(topics, axis=1, keepdims=True)
    made = topics[chance.integers(0, _TOPICS, count)]
    made += scale * chance.standard_normal((count, _DIMENSION), dtype=np.float32)
    return made


def _word(number: int) -> str:
    """A word of six letters that no other number has."""
    letters = "bcdfghklmnprstvz", "aeiou"
    said = ""
    for place in range(6):
        number, letter = divmod(number, len(letters[place % 2]))
        said += letters[place % 2][letter]
    return said


def _memory(number: int, words: str) -> Memory:
    time = datetime.fromtimestamp(1_790_000_000 + number, UTC).isoformat()
    made = Memory(f"m{number:06}", f"{words} {number}", trust=Trust.OWNER)
    return replace(made, lineage=Trust.OWNER, time=time, source="bench")
