"""Which pieces of its prompt a recorded answer hangs on: one after the other is left out."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from .reply import Usage
from .trust import Trust
from .value import Value

# `logprob`: the same answer is scored by the model. `overlap`: new answers are asked for, and the
# words are counted that they share with the recorded one.
CauseMethod: TypeAlias = Literal["logprob", "overlap"]
LeftOutKind: TypeAlias = Literal["block", "memory", "message", "result", "tool", "quotation"]


_NO_TOKENS = Usage()


@dataclass(frozen=True, slots=True)
class PromptUnit(Value):
    """A piece of a prompt that can be left out alone. `section` is the number of the section that
    it stands in where the prompt is shown by sections.
    """

    name: str
    kind: LeftOutKind
    trust: Trust
    section: int
    tokens: int


@dataclass(frozen=True, slots=True)
class CausePlan(Value):
    """What is to be asked, before anything is: so many calls, at most that many tokens and dollars.

    `usd` 0: it costs nothing. None: no price is known, and `price` says why. `skipped` are the
    units that are not left out because of a limit.
    """

    agent: str
    entry: int
    step: int
    method: CauseMethod
    route: str
    model: str
    units: tuple[PromptUnit, ...]
    skipped: tuple[PromptUnit, ...]
    calls: int
    usage: Usage
    usd: Decimal | None
    price: str
    notes: tuple[str, ...] = ()

    @property
    def free(self) -> bool:
        return self.usd == 0


@dataclass(frozen=True, slots=True)
class TokenFall(Value):
    """A token of the answer, and by how much its own log-probability fell."""

    token: str
    fall: float


@dataclass(frozen=True, slots=True)
class UnitCause(Value):
    """What leaving one unit out did: `value` is what was measured without it, `fall` how much less
    that is than with everything. `tokens` are those of the answer that fell most.
    """

    unit: PromptUnit
    value: float
    fall: float
    tokens: tuple[TokenFall, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnCauses(Value):
    """The units of a prompt by what the answer loses without them, the greatest fall first.

    Method `logprob`: `value` is the log-probability of the recorded answer (natural logarithm,
    summed over its `answer_tokens`). Method `overlap`: the mean share of its words that new answers
    have, from 0 to 1; `spread` is how far apart those with everything are, so that a smaller fall
    says nothing. `prefilled` of the prompt tokens were read, `reused` came from the cache.
    """

    plan: CausePlan
    answer: str
    value: float
    causes: tuple[UnitCause, ...]
    answer_tokens: int = 0
    spread: float = 0.0
    prefilled: int = 0
    reused: int = 0
    usage: Usage = _NO_TOKENS
    usd: Decimal | None = Decimal(0)
    notes: tuple[str, ...] = ()
