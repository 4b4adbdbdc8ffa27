"""The prompt of a recorded turn as text, each run of it with who wrote it and why it is there."""

from __future__ import annotations

from dataclasses import dataclass

from .cost import PromptPiece, TurnExplanation
from .route import Route
from .selection import Candidate
from .value import Value


@dataclass(frozen=True, slots=True)
class PromptRun(Value):
    """Text of one origin. `source` says who wrote it; `stability` is empty where nobody knows."""

    text: str
    source: str
    trust: str
    stability: str = ""
    placeholder: str = ""
    reason: str = ""
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class PromptSection(Value):
    """A piece of the prompt with its text. `reason` says why the block is in, `variant` which of
    its wordings is told.
    """

    piece: PromptPiece
    runs: tuple[PromptRun, ...]
    reason: str = ""
    variant: str = ""

    @property
    def text(self) -> str:
        return "".join(run.text for run in self.runs)


@dataclass(frozen=True, slots=True)
class TurnBlame(Value):
    """One call of a turn: its explanation, and its prompt in the order in which it was sent. `body`
    is the request to the byte, None where only its parts are known; `wire` is its format, `sent`
    that in which it really went out. `route` is where it goes in this format; `address` is the URL
    of a recorded call, as far as it is known. `candidates` are the tools and skills that were
    looked at for it, and the memories that just missed.
    """

    explanation: TurnExplanation
    sections: tuple[PromptSection, ...] = ()
    body: bytes | None = None
    wire: str = ""
    sent: str = ""
    route: Route | None = None
    address: str = ""
    candidates: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptMatch(Value):
    """Words that stand in a request: in which of its sections, and what is around them."""

    section: int
    name: str
    before: str
    words: str
    after: str
