"""Does one kind of thing in the world."""

from __future__ import annotations

from typing import Protocol

from mentis.values.act import ActCall, ActSpec
from mentis.values.action import Outcome
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust


class ActHandler(Protocol):
    @property
    def spec(self) -> ActSpec: ...

    async def handle(self, call: ActCall) -> Outcome:
        """Do it. Time limits are the caller's; cancelled, it ends at once or says so."""
        ...


class RecordingHandler:
    """A handler for tests: it remembers what it was asked to do and answers with one text."""

    def __init__(self, spec: ActSpec | ToolDeclaration, answer: str = "") -> None:
        self._spec = ActSpec(spec) if isinstance(spec, ToolDeclaration) else spec
        self._answer = answer
        self.handled: list[ActCall] = []

    @property
    def spec(self) -> ActSpec:
        return self._spec

    async def handle(self, call: ActCall) -> Outcome:
        self.handled.append(call)
        return Outcome(call.action, "done", text=self._answer, trust=Trust.UNTRUSTED)
