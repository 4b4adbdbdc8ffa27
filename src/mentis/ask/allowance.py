"""Allowance of one turn, together with the turns of other agents that it asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from threading import RLock

from mentis.settings.sections import BudgetSettings
from mentis.values.route import Route

from .calls import planned_usage
from .inquiry import UsedOn


class TurnAllowance:
    """The budgets of one turn. What the turns inside it use counts here too, and they may use no
    more than is left; days and agents are counted by each agent for itself. Whoever looks what is
    left and plans with it holds the `lock`, which is one for all of them.
    """

    def __init__(self, budgets: BudgetSettings, outer: TurnAllowance | None = None) -> None:
        whole = {"day_tokens": 0, "agent_tokens": 0, "day_usd": 0.0, "agent_usd": 0.0}
        self.budgets = budgets.model_copy(update=whole)
        self.outer = outer
        self.turns: list[TurnAllowance] = []  # that are asked for in this one
        self.own: list[UsedOn] = []  # of its own calls
        self.lock: AbstractContextManager[object] = RLock() if outer is None else outer.lock
        if outer is not None:
            outer.turns.append(self)

    def plan(self, route: Route, used: Sequence[UsedOn], *, prompt: int) -> None:
        """From now on a call is counted as what it may come to at most."""
        self.own = [*used, (route, planned_usage(prompt, route))]

    def settle(self, used: Sequence[UsedOn]) -> None:
        """No call is under way: this is what the turn came to so far."""
        self.own = [*used]

    def inner(self) -> Iterator[UsedOn]:
        """What the turns inside this one have used, or may."""
        for one in self.turns:
            yield from one.own
            yield from one.inner()

    def above(self) -> Iterator[tuple[BudgetSettings, list[UsedOn]]]:
        """Each turn that this one is part of: its budgets, and what was used in it by now."""
        level = self.outer
        while level is not None:
            yield level.budgets, [*level.own, *level.inner()]
            level = level.outer
