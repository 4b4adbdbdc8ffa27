"""Does one kind of thing in the world."""

from __future__ import annotations

from typing import Protocol

from mentis.values.action import Action, Outcome
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust


class ActHandler(Protocol):
    @property
    def declaration(self) -> ToolDeclaration: ...

    async def handle(self, action: Action) -> Outcome: ...


class RecordingHandler:
    """A handler for tests: it remembers what it was asked to do and answers with one text."""

    def __init__(self, declaration: ToolDeclaration, answer: str = "") -> None:
        self._declaration = declaration
        self._answer = answer
        self.handled: list[Action] = []

    @property
    def declaration(self) -> ToolDeclaration:
        return self._declaration

    async def handle(self, action: Action) -> Outcome:
        self.handled.append(action)
        return Outcome(action, "done", text=self._answer, trust=Trust.UNTRUSTED)
