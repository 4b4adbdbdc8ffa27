"""The turn that is going on, for the acts that are done in it: agents that are asked for by agents
belong to it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mentis.ask.allowance import TurnAllowance
from mentis.ask.ask import OnDelta
from mentis.values.recalled import Stimulus

if TYPE_CHECKING:
    from .turn import TurnResult


@dataclass(frozen=True, slots=True)
class TurnContext:
    """`depth` is how many turns ask for this one, `most` how many may. `inner` are the turns of
    other agents that it has asked for, as they end.
    """

    stimulus: Stimulus
    session: str
    allowance: TurnAllowance | None
    tell: OnDelta
    depth: int
    most: int
    inner: list[TurnResult] = field(default_factory=list["TurnResult"])


_CURRENT: ContextVar[TurnContext | None] = ContextVar("mentis_turn", default=None)


def current_turn() -> TurnContext | None:
    """The turn whose act this is; None where it is done outside of any."""
    return _CURRENT.get()


@contextmanager
def going_on(context: TurnContext) -> Generator[None]:
    before = _CURRENT.get()
    _CURRENT.set(context)
    try:
        yield
    finally:
        _CURRENT.set(before)
