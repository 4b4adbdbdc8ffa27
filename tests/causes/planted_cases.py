"""Prompts with a planted cause: one block, message or result that the recorded answer hangs on.

Each has a recorded answer, the name of the cause, and distractors. Nothing but the cause supplies
words of the answer that the message does not: where two blocks do, both would be right.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from mentis.causes.plan import CauseQuestion
from mentis.values.part import TextPart
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.span import Span
from mentis.values.trust import Trust
from mentis.values.turn import Role, Turn

FILE = Path(__file__).with_name("causes.jsonl")
_GAP = Span("\n\n", source="layout", trust=Trust.RUNTIME)


@dataclass(frozen=True)
class PlantedCase:
    id: str
    language: str
    cause: str
    blocks: list[tuple[str, str]]
    history: list[tuple[Role, str]]
    message: str
    answer: str

    def request(self) -> PromptRequest:
        spans = [piece for name, text in self.blocks for piece in (Span(text, block=name), _GAP)]
        turns = [Turn(role, (TextPart(text),)) for role, text in self.history]
        return PromptRequest(
            tuple(spans[:-1]), conversation_history=tuple(turns), current_text=self.message
        )

    def question(self, route: Route) -> CauseQuestion:
        return CauseQuestion("home/ada", 0, 1, self.request(), self.answer, route)


def planted_cases() -> list[PlantedCase]:
    return [PlantedCase(**json.loads(line)) for line in FILE.read_text("utf-8").splitlines()]
