"""Stages without a model, for tests: each says what it is told to say."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from mentis.settle.output_ir import write_output_ir
from mentis.tick.events import TickEvent
from mentis.tick.input_helpers import rendered_acts, rendered_goals, rendered_senses
from mentis.tick.stages import PrimaryAnswer, PrimaryDrafts, PrimaryInput, SectionItems, Stages
from mentis.values.cognition import CognitionState, Goal, GoalTree, L1Entry, Sense, root_partition
from mentis.values.json import JsonObject
from mentis.values.tick import Catalogue, Descriptor

Stage: TypeAlias = Callable[..., Awaitable[Any]]  # any of the seven
PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = Descriptor("act", "files", "read", PATH, "Reads a file.")
SLEEP = Descriptor("act", "core.control", "sleep", {"type": "object"}, "Rests.")
KNOCK = Descriptor("sense", "door", "knock", {"type": "object"}, "Somebody knocks.")
CATALOGUE = Catalogue("v1", (SLEEP, READ, KNOCK))
GOALS = GoalTree(
    root_partition(("Keep going.", "Learn.")),
    Goal("user-root", "user goals", children=(Goal("g1", "Find the key", 10),)),
)
STATE = CognitionState(GOALS, (L1Entry("The door is green."),), revision=7)
SOME: list[JsonObject] = [{}]  # a section that holds something; the helper says what
KNOCKED = Sense("s1", "knock", {"times": 3}, endpoint="door")


def said(acts: object = (), goals: object = (), memory: object = ()) -> Stage:
    text = write_output_ir({"acts": acts, "goal-tree-patch": goals, "l1-memory-patch": memory})
    return answering(text)


def answering(text: str) -> Stage:
    async def primary(_occasion: PrimaryInput) -> PrimaryAnswer:
        return PrimaryAnswer(text)

    return primary


def calling(drafts: PrimaryDrafts) -> Stage:
    async def primary(_occasion: PrimaryInput) -> PrimaryAnswer:
        return PrimaryAnswer(drafts=drafts)

    return primary


def giving(*items: object) -> Stage:
    async def helper(*_given: object) -> SectionItems[object]:
        return SectionItems(tuple(items), way="read")

    return helper


def stages(**chosen: Stage) -> Stages:
    """Deterministic helpers, and a primary that wants nothing."""
    plain = Stages(
        rendered_senses,
        rendered_acts,
        rendered_goals,
        said(),
        giving(),
        giving(),
        giving(),
    )
    return replace(plain, **chosen)  # pyright: ignore[reportArgumentType]  # any of the seven


@dataclass(slots=True)
class Heard:
    """A listener that keeps all events."""

    events: list[TickEvent] = field(default_factory=list[TickEvent])

    def __call__(self, event: TickEvent) -> None:
        self.events.append(event)

    def names(self) -> list[str]:
        return [one.event for one in self.events]

    def facts(self, name: str) -> list[dict[str, object]]:
        return [dict(one.facts) for one in self.events if one.event == name]

    def text(self, name: str) -> str | None:
        return next((one.text for one in self.events if one.event == name), None)


def lines(text: str) -> list[Any]:
    return [json.loads(one) for one in text.splitlines()]
