"""The look at text from outside before it is kept and before it is found. It fails closed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mentis.errors import MentisError
from mentis.ports.screener import Screener, StoredVector
from mentis.recall.screening.patterns import OWNER_PATTERN
from mentis.values.cognition import Memory, Screening
from mentis.values.trace import Degradation
from mentis.values.trust import Trust

PART = "screening"
_SEVERITY = ("clean", "suspicious", "dropped")
NOBODY = "nobody could look at it: there is no screener"
_NO_SCREENER = Degradation(PART, "there is no screener: text from outside goes into quarantine")


def is_outside(memory: Memory) -> bool:
    """Not from the owner, the harness or the agent itself, nor made of anything that was not."""
    return memory.worth.rank > Trust.SELF.rank


class Gatekeeper:
    """Screens memories and remembers which steps down it had to take.

    `vector_of` finds the vector that is kept with a memory; where there is none, words decide.
    """

    def __init__(
        self,
        screener: Screener | None,
        vector_of: Callable[[str], StoredVector | None] | None = None,
    ) -> None:
        self._screener = screener
        self._vector_of = vector_of
        self.degraded: dict[Degradation, None] = {}
        self._suspicious: dict[str, Screening] = {}

    def screen(self, memory: Memory) -> Memory:
        """The memory with a fresh verdict; what is not from outside needs none."""
        if not is_outside(memory):
            return memory
        return replace(memory, screening=self._look(memory))

    def screen_again(self, memory: Memory) -> Memory:
        """With the verdict that its vector leads to, where that is worse than what words said. A
        vector that has no say changes nothing, unless the owner's own patterns do.
        """
        if not is_outside(memory) or memory.released or memory.screening is None:
            return memory
        said = self._look(memory)
        if said.skipped and said.category != OWNER_PATTERN:
            return memory
        worse = _SEVERITY.index(said.outcome) > _SEVERITY.index(memory.screening.outcome)
        return replace(memory, screening=said) if worse else memory

    def why_not(self, memory: Memory) -> str:
        """What speaks against telling of it now; empty when nothing does."""
        if not is_outside(memory) or memory.released:
            return ""
        if self._screener is None and memory.screening is not None:
            self.degraded[Degradation(PART, "there is no screener: earlier verdicts hold")] = None
            verdict = memory.screening
        else:
            verdict = self._look(memory)
        if verdict.outcome == "suspicious":
            self._suspicious[memory.id] = verdict
        return verdict.reason or verdict.outcome if verdict.outcome == "dropped" else ""

    def marked(self, memory: Memory) -> Memory:
        """With the verdict of now where that finds it suspicious; an earlier mark stays."""
        now = self._suspicious.get(memory.id)
        earlier = memory.screening is not None and memory.screening.outcome == "suspicious"
        return memory if now is None or earlier else replace(memory, screening=now)

    def _look(self, memory: Memory) -> Screening:
        if self._screener is None:
            self.degraded[_NO_SCREENER] = None
            return Screening("dropped", NOBODY)
        vector = None if self._vector_of is None else self._vector_of(memory.id)
        try:
            said = self._screener.screen(memory.text, source=memory.source, vector=vector)
        except MentisError as error:
            reason = f"the screener failed: {error.message}"
            self.degraded[Degradation(PART, reason)] = None
            return Screening("dropped", reason)
        reasons = (f"{skipped}: the text alone decides" for skipped in said.skipped)
        self.degraded.update(dict.fromkeys(Degradation(PART, reason) for reason in reasons))
        return said
