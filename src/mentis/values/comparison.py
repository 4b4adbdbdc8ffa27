"""Two ways to answer the same messages, side by side: what is asked, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, TypeAlias

from .json import JsonObject
from .prompt_difference import PromptDifference
from .proportion import Proportion, difference_interval
from .reply import Stop, Usage
from .value import Value

CheckKind: TypeAlias = Literal["contains", "lacks", "regex", "schema", "function"]
Winner: TypeAlias = Literal["a", "b", ""]
_NO_TOKENS = Usage()


@dataclass(frozen=True, slots=True)
class AnswerCheck(Value):
    """What must hold of an answer. `value` is a text that it has or lacks, a regular expression, or
    the name of a function; `schema` is a JSON Schema that it fits.
    """

    kind: CheckKind
    value: str = ""
    schema: JsonObject = field(default_factory=dict[str, object], hash=False)


@dataclass(frozen=True, slots=True)
class CompareCase(Value):
    """A message, and what must hold of each answer to it. `name` is what reports call it."""

    message: str
    checks: tuple[AnswerCheck, ...] = ()
    name: str = ""


@dataclass(frozen=True, slots=True)
class CompareSide(Value):
    """One way to answer. What is left out is as it is in the home.

    `route` is a route of the home and `model` another model on it. `prompts` is a prompt set: a zip
    that `mentis prompts export` wrote, or the folder of one. `blocks` are texts that the blocks of
    these names would have.
    """

    route: str = ""
    model: str = ""
    prompts: str = ""
    blocks: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)


@dataclass(frozen=True, slots=True)
class PlannedSide(Value):
    """What one side is going to ask, before anybody is asked: at most these tokens and dollars.

    `usd` None: no price is known, and `price` says why.
    """

    label: str
    route: str
    model: str
    calls: int
    prompt_tokens: int
    usage: Usage
    usd: Decimal | None
    price: str


@dataclass(frozen=True, slots=True)
class ComparePlan(Value):
    """What is going to be asked. Of two sides, `differences` are how their prompts differ."""

    agent: str
    cases: tuple[CompareCase, ...]
    repeat: int
    sides: tuple[PlannedSide, ...]
    differences: tuple[PromptDifference, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def calls(self) -> int:
        return sum(one.calls for one in self.sides)

    @property
    def usd(self) -> Decimal | None:
        known = [one.usd for one in self.sides if one.usd is not None]
        return sum(known, Decimal(0)) if len(known) == len(self.sides) else None

    @property
    def free(self) -> bool:
        return self.usd == 0


@dataclass(frozen=True, slots=True)
class JudgedAnswer(Value):
    """An answer, and the checks it failed, each with why. `failure`: nothing was answered at all.

    `asked_for` are the tools that it called: none of it was done.
    """

    text: str
    stop: Stop
    faults: tuple[str, ...] = ()
    failure: str = ""
    asked_for: tuple[str, ...] = ()
    usage: Usage | None = None
    usd: Decimal | None = None

    @property
    def passed(self) -> bool:
        return not self.faults and not self.failure


@dataclass(frozen=True, slots=True)
class ComparedCase(Value):
    """All answers to one message: for each side, one for each time it was asked."""

    case: CompareCase
    answers: tuple[tuple[JudgedAnswer, ...], ...]

    def passed(self, side: int) -> Proportion:
        """Of a message without checks nothing can pass: it counts for cost alone."""
        answers = self.answers[side] if self.case.checks else ()
        return Proportion(sum(one.passed for one in answers), len(answers))


@dataclass(frozen=True, slots=True)
class ComparedSide(Value):
    """What one side came to. `usd` None: the price of a call is not known."""

    plan: PlannedSide
    passed: Proportion
    unanswered: int = 0
    usage: Usage = _NO_TOKENS
    usd: Decimal | None = Decimal(0)


@dataclass(frozen=True, slots=True)
class Comparison(Value):
    """One side measured, or two side by side. `replayed`: the answers were kept from before, and
    nobody was asked.
    """

    plan: ComparePlan
    cases: tuple[ComparedCase, ...]
    sides: tuple[ComparedSide, ...]
    replayed: bool = False

    @property
    def difference(self) -> tuple[float, float] | None:
        """By how much more often the second side passes, from and to; None without two counts."""
        if len(self.sides) < 2 or not all(one.passed.total for one in self.sides):
            return None
        return difference_interval(self.sides[0].passed, self.sides[1].passed)

    @property
    def winner(self) -> Winner:
        """The side that passes more often by more than chance explains."""
        low, high = self.difference or (0.0, 0.0)
        return "b" if low > 0 else "a" if high < 0 else ""
