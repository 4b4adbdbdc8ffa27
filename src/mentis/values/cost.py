"""Costs of calls to models, and why a recorded turn was told what it was told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Literal, TypeAlias

from .reply import Usage
from .trust import Trust
from .value import Value

CostKey: TypeAlias = Literal["day", "turn", "session", "route", "model", "block", "agent", "kind"]
# Why a call found less in its cache than had been sent before it: nothing had been; it was told
# something else; too much time had passed; it was too short; nothing is asked to be kept; none of
# these, so that the provider did not keep it.
LossCause: TypeAlias = Literal["first", "changed", "expired", "short", "off", "dropped"]
_NO_TOKENS = Usage()


@dataclass(frozen=True, slots=True)
class Cost(Value):
    """A sum over calls. `usd` is that of the calls whose price is known, None where none is;
    `unpriced` counts the others and `free` those that cost nothing. `planned` counts calls that
    reported nothing: for them the most is counted that they may have come to. Prices are list
    prices: estimates.
    """

    calls: int = 0
    usage: Usage = _NO_TOKENS
    usd: Decimal | None = Decimal(0)
    unpriced: int = 0
    free: int = 0
    planned: int = 0

    @property
    def tokens(self) -> int:
        return self.usage.input + self.usage.output


@dataclass(frozen=True, slots=True)
class CallCost(Value):
    """One call of an entry. `usd` None: `price` says why no price is known; else where from.

    `step` and `number` say which call of which answer it was, counted from 1; `number` 0: nobody
    answered it. `stage` is that of a tick. `expected` are the tokens that were to be found in the
    cache, and `counted` those of the prompt by our own count; None where that was not kept.
    """

    route: str
    model: str
    usage: Usage
    usd: Decimal | None
    price: str
    planned: bool = False
    step: int = 1
    number: int = 1
    stage: str = ""
    expected: int | None = None
    counted: int | None = None

    @property
    def cost(self) -> Cost:
        unknown, free = self.usd is None, self.usd == 0
        return Cost(1, self.usage, self.usd, int(unknown), int(free), int(self.planned))


@dataclass(frozen=True, slots=True)
class CacheLoss(Value):
    """What a call did not find in its cache although an earlier call had sent it.

    `byte` is the first that differs from the call before (`exact`), or where the last part begins
    that is known to differ; -1 where no byte does. `where` names what stands there. `tokens` had
    to be read again, which cost `usd` more than finding them; None where no price is known. `fix`
    is what would have kept them, where the record itself says so.
    """

    cause: LossCause
    step: int
    where: str = ""
    pointer: str = ""
    byte: int = -1
    exact: bool = True
    tokens: int = 0
    usd: Decimal | None = None
    reason: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class TurnCost(Value):
    """What one entry of the record cost: a turn, a tick, a title, a call outside of any.

    `inner` are the turns of other agents that it asked for, `whole` is the cost with them.
    `elsewhere`: its record is not here, so that nothing is known of its cost. `loss` and `fix` are
    told of the dearest ones: what the cache did not give, and the cheapest thing to do about it.
    """

    agent: str
    entry: int
    time: str
    session: str
    kind: str
    calls: tuple[CallCost, ...]
    inner: tuple[TurnCost, ...] = ()
    elsewhere: bool = False
    loss: CacheLoss | None = None
    fix: str = ""

    @property
    def cost(self) -> Cost:
        return add_costs(call.cost for call in self.calls)

    @property
    def whole(self) -> Cost:
        return add_costs((self.cost, *(turn.whole for turn in self.inner)))


@dataclass(frozen=True, slots=True)
class CostGroup(Value):
    """The cost under one name; `agent` where it is of one agent's session."""

    name: str
    cost: Cost
    agent: str = ""


@dataclass(frozen=True, slots=True)
class CostReport(Value):
    """The costs of a record. `groups` add up to `total`; `turns` are the dearest, dearest first.

    A turn that another one asked for stands under that one, and is counted once. `notes` say what
    could not be counted. `partial`: only the newest turns were, as it was asked for.
    """

    agents: tuple[str, ...]
    by: CostKey
    total: Cost
    groups: tuple[CostGroup, ...]
    turns: tuple[TurnCost, ...]
    notes: tuple[str, ...] = ()
    partial: bool = False


@dataclass(frozen=True, slots=True)
class PromptPiece(Value):
    """A piece of a prompt, in the order in which it was sent: a block, a tool, a message.

    `tokens` are its share of what the provider reported, by our count; `cached` and `written` of
    them were read from the cache, or written into it. `usd` is its share of the price. `screening`
    is the verdict on a result of a recorded agent's tool.
    """

    name: str
    pointer: str
    trust: Trust
    tokens: int
    cached: int = 0
    written: int = 0
    usd: Decimal | None = None
    screening: str = ""


@dataclass(frozen=True, slots=True)
class PromptPart(Value):
    """A part of a recorded agent's prompt, with its text. `group` is the name it is summed up
    under, together with others of its kind.
    """

    name: str
    pointer: str
    trust: Trust
    text: str
    group: str
    screening: str = ""


@dataclass(frozen=True, slots=True)
class RecordedPrompt(Value):
    """The prompt of a recorded call; `identical`: what was kept is, to the byte, what was sent."""

    parts: tuple[PromptPart, ...]
    identical: bool


@dataclass(frozen=True, slots=True)
class PromptChange(Value):
    """The first byte in which two prompts differ, `where` it is, and what stands around it."""

    byte: int
    pointer: str
    where: str
    was: str
    now: str


@dataclass(frozen=True, slots=True)
class OmittedPiece(Value):
    """Something that the model was not told, or not as it is, and the reason."""

    kind: Literal[
        "cut", "screened", "degraded", "lost", "unresolved", "tool", "memory", "block", "unknown"
    ]
    name: str
    reason: str
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class TurnExplanation(Value):
    """Why a model answered what it did: what it was told in one call of a recorded turn.

    `rebuilt`: the prompt was put together again; `identical`: to the byte. Where it was not,
    `notes` say why, and the rest is what the entry itself says. `before` is the call that it is
    compared with: entry and step. `changed` is the first difference to that, whether or not the
    cache lost by it, `context` what stood around it and what does now; `loss` is what it lost.
    """

    turn: TurnCost
    step: int
    steps: int
    call: CallCost | None
    rebuilt: bool = False
    identical: bool = False
    pieces: tuple[PromptPiece, ...] = ()
    answer_usd: Decimal | None = None
    omitted: tuple[OmittedPiece, ...] = ()
    before: tuple[int, int] | None = None
    changed: CacheLoss | None = None
    context: tuple[str, str] | None = None
    loss: CacheLoss | None = None
    fix: str = ""
    notes: tuple[str, ...] = ()


def add_costs(costs: Iterable[Cost]) -> Cost:
    listed = tuple(costs)
    usages, paid = [one.usage for one in listed], [one.usd for one in listed]
    known = [usd for usd in paid if usd is not None]
    tokens = (sum(getattr(usage, each.name) for usage in usages) for each in fields(Usage))
    return Cost(
        sum(one.calls for one in listed),
        Usage(*tokens),
        sum(known, Decimal(0)) if known or not paid else None,
        sum(one.unpriced for one in listed),
        sum(one.free for one in listed),
        sum(one.planned for one in listed),
    )
