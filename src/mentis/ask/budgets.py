"""Spending of an agent and its limits. Checked before each call, from its own record."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

from anyio import to_thread
from anyio.lowlevel import checkpoint_if_cancelled

from mentis.engines.estimate import EstimatingCounter
from mentis.errors import BudgetReached, EngineMissing
from mentis.home.database import open_database
from mentis.home.ledger import agents_here, open_store
from mentis.record.agent_record import AgentRecord
from mentis.record.clock_entries import open_jumps
from mentis.settings.sections import BudgetSettings
from mentis.settings.settings import Settings
from mentis.stores.files.home import Home
from mentis.values.entry import Entry
from mentis.values.measured import (
    ClockReading,
    MeasuredTimeline,
    day_of,
    is_settling,
    jump_words,
    reading_of,
)
from mentis.values.rendering import Rendering
from mentis.values.reply import Usage
from mentis.values.route import Route
from mentis.values.timeline import clock_time

from .allowance import TurnAllowance
from .calls import planned_usage
from .inquiry import UsedOn
from .models import Models
from .prices import NOT_INSTALLED, call_price
from .recorded_calls import calls_in, route_of
from .reservation import BudgetReservation


@dataclass(frozen=True, slots=True)
class Spending:
    """Tokens read and written; dollars only where they are asked for and a price is known."""

    turn_tokens: int = 0
    day_tokens: int = 0
    agent_tokens: int = 0
    turn_usd: Decimal = Decimal(0)
    day_usd: Decimal = Decimal(0)
    agent_usd: Decimal = Decimal(0)
    under_way: int = 0  # of the tokens: what others have begun and not recorded yet

    def and_others(self, tokens: int, usd: Decimal) -> Spending:
        """With what turns that are under way elsewhere may come to."""
        return replace(
            self,
            day_tokens=self.day_tokens + tokens,
            agent_tokens=self.agent_tokens + tokens,
            day_usd=self.day_usd + usd,
            agent_usd=self.agent_usd + usd,
            under_way=tokens,
        )

    def and_inner(self, inner: Spending) -> Spending:
        """With what agents used that this turn has asked: their days are their own."""
        return replace(
            self,
            turn_tokens=self.turn_tokens + inner.turn_tokens,
            turn_usd=self.turn_usd + inner.turn_usd,
        )

    def and_now(self, tokens: int, usd: Decimal) -> Spending:
        """With a call of the turn that is going on, which no record knows of yet."""
        return Spending(
            self.turn_tokens + tokens,
            self.day_tokens + tokens,
            self.agent_tokens + tokens,
            self.turn_usd + usd,
            self.day_usd + usd,
            self.agent_usd + usd,
            self.under_way,
        )


@dataclass(frozen=True, slots=True)
class AgentBudget:
    """The budgets of one agent for one turn or tick. What a call may come to is reserved, so that
    no other process of this agent counts on it too; whoever began lets it go once it is recorded.
    """

    record: AgentRecord
    models: Models
    settings: Settings
    reserve: BudgetReservation
    allowance: TurnAllowance | None = None

    @asynccontextmanager
    async def reserving(
        self, route: Route, prompt: int, used: Sequence[UsedOn]
    ) -> AsyncGenerator[None]:
        check = partial(self._check_all, route, used, prompt=prompt)
        if self._is_plain():
            await checkpoint_if_cancelled()  # what was interrupted by now is not asked
            check()
        else:
            await to_thread.run_sync(check)
        yield

    def _is_plain(self) -> bool:
        """Whether only what this turn used is counted, so that nothing blocks."""
        allowance = self.allowance
        alone = allowance is None or (allowance.outer is None and not allowance.turns)
        return alone and not _lasts(self.settings.model.budgets)

    def _check_all(self, route: Route, used: Sequence[UsedOn], *, prompt: int) -> None:
        """Of this turn, and of those that it is part of."""
        allowance = self.allowance
        if allowance is None:
            self.check(route, used, prompt=prompt)
            return
        with allowance.lock:
            allowance.settle(used)
            self.check(route, used, prompt=prompt)
            for budgets, together in allowance.above():
                spent = _spent_in(together, priced=_in_money(budgets))
                try:
                    check_budgets(budgets, spent, route, prompt=prompt)
                except BudgetReached as error:
                    told = f"{error.message}, in the turn of the agent that asks"
                    budget = error.facts.get("budget")
                    raise BudgetReached(told, hint=error.hint, budget=budget) from error
            allowance.plan(route, used, prompt=prompt)

    def check(self, route: Route, used: Iterable[UsedOn], *, prompt: int) -> None:
        """Nothing is sent that could go over a budget. Without budgets the record is not read. It
        blocks.
        """
        self.record.require_writable()
        budgets = self.settings.model.budgets
        if not (_lasts(budgets) or budgets.turn_tokens or budgets.turn_usd):
            return
        priced = _in_money(budgets)
        own = _spent_in(used, priced=priced)
        inner = Spending()
        if self.allowance is not None:
            inner = _spent_in(self.allowance.inner(), priced=budgets.turn_usd > 0)
        if not _lasts(budgets):
            check_budgets(budgets, own.and_inner(inner), route, prompt=prompt)
            return
        with self.reserve.alone(self.settings.model.store.busy_seconds):
            # First what is under way: a turn that ends meanwhile is counted twice, and never not.
            others = self.reserve.others()
            spent = self._recorded(route, priced=priced).and_others(*others)
            spent = spent.and_now(own.turn_tokens, own.turn_usd)
            try:
                check_budgets(budgets, spent.and_inner(inner), route, prompt=prompt)
            except BudgetReached as error:
                self._record_clock()
                raise self._with_jump(error) from None
            most = planned_usage(prompt, route)
            usd = price_of(most, route) if priced else Decimal(0)
            self.reserve.keep(own.turn_tokens + most.input + most.output, own.turn_usd + usd)

    def _recorded(self, route: Route, *, priced: bool) -> Spending:
        models = self.models
        own = (route, *models.fallbacks, *([models.correction] if models.correction else ()))
        routes = (*own, *self.settings.every_route())
        entries = self.record.ledger.entries(self.record.agent)
        return spending_in(entries, self.record.reading(), priced=priced, routes=routes)

    def _with_jump(self, error: BudgetReached) -> BudgetReached:
        """Where the clock jumped, a limit of the day may be reached by what it showed before."""
        jumps = open_jumps(self.record) if "day" in str(error.facts.get("budget")) else ()
        if not jumps:
            return error
        settle = "if the clock is right now: `mentis ledger settle-clock --reason ...`"
        told = f"{error.hint}; {jump_words(jumps[-1])}, and nobody has settled that: {settle}"
        return BudgetReached(error.message, hint=told, budget=error.facts.get("budget"))

    def _record_clock(self) -> None:
        """Entries that are ahead of the clock count until the record says what it showed after
        them, and a tick that is refused leaves no entry.
        """
        latest = self.record.latest(1)
        if latest and clock_time(latest[0]) > self.record.now():
            self.record.append("clock", {})


def check_call(
    settings: Settings,
    home: Home,
    rendering: Rendering,
    *,
    route: Route,
    now: ClockReading,
    environ: Mapping[str, str],
    under_way: Sequence[tuple[int, Decimal]] = (),
) -> tuple[int, Decimal]:
    """A call outside any turn is no agent's, so it is held to what each of them spent already, to
    what such calls did, and to what those `under_way` may come to (tokens, dollars). Says the same
    of this one.
    """
    budgets, spent = settings.model.budgets, [Spending()]
    if home.database.exists():
        with open_database(home, settings, environ) as database:
            database.require_writable()
    if _lasts(budgets):
        priced, routes = _in_money(budgets), (route, *settings.every_route())
        with (
            open_database(home, settings, environ) as database,
            closing(open_store(settings, database, environ)) as ledger,
        ):
            agents = agents_here(ledger, settings, home, None)
            records = (ledger.entries(agent) for agent in agents)
            spent += [
                spending_in(entries, now, priced=priced, routes=routes) for entries in records
            ]
    prompt = EstimatingCounter().count(rendering.body().decode()).tokens
    others = sum(one for one, _ in under_way), sum((usd for _, usd in under_way), Decimal(0))
    for one in spent:
        check_budgets(budgets, one.and_others(*others), route, prompt=prompt)
    most = planned_usage(prompt, route)
    return most.input + most.output, price_of(most, route) if _in_money(budgets) else Decimal(0)


def spending_in(
    entries: Iterable[Entry], now: ClockReading, *, priced: bool, routes: Sequence[Route] = ()
) -> Spending:
    """The sums over a record: what was reported, and what was planned where nothing was.

    `routes` are those of today: where they set a price of their own, it holds for the record too.
    """
    today = MeasuredTimeline[tuple[int, Decimal]](day_of(now.shown), now, by_day=True)
    agent_tokens, agent_usd = 0, Decimal(0)
    for entry in entries:
        used: list[tuple[int, Decimal]] = []
        for call in calls_in(entry):
            tokens, usd = call.usage.input + call.usage.output, Decimal(0)
            if priced:
                usd = call.usd
                if usd is None:
                    usd = price_of(call.usage, route_of(call, routes), entry=entry.index)
            used.append((tokens, usd))
            agent_tokens, agent_usd = agent_tokens + tokens, agent_usd + usd
        if is_settling(entry):
            today.settle(reading_of(entry))
        today.add(reading_of(entry), *used)
    spent = Spending(agent_tokens=agent_tokens, agent_usd=agent_usd)
    for _, (tokens, usd) in today.dated_items():
        spent = replace(spent, day_tokens=spent.day_tokens + tokens, day_usd=spent.day_usd + usd)
    return spent


def check_budgets(budgets: BudgetSettings, spent: Spending, route: Route, *, prompt: int) -> None:
    """Raise BudgetReached if this call could go over a limit: its prompt and its longest answer."""
    most = planned_usage(prompt, route)
    call = most.input + most.output
    for name in ("turn_tokens", "day_tokens", "agent_tokens"):
        limit, used = getattr(budgets, name), getattr(spent, name)
        if limit and used + call > limit:
            elsewhere = spent.under_way if name != "turn_tokens" else 0
            others = f" ({elsewhere} of it under way elsewhere)" if elsewhere else ""
            raise _reached(name, f"{used}{others} + {call}", f"{limit} tokens")
    if not _in_money(budgets):
        return
    cost = price_of(most, route)
    for name in ("turn_usd", "day_usd", "agent_usd"):
        limit, paid = getattr(budgets, name), getattr(spent, name)
        if limit and paid + cost > Decimal(str(limit)):
            said = f"{paid:.4f} + {cost:.4f}"
            raise _reached(name, said, f"{limit} US dollars (estimated)")


def price_of(usage: Usage, route: Route, *, entry: int | None = None) -> Decimal:
    """US dollars at list price, an estimate: discounts and taxes are not known here.

    `entry` is the one of the record that the usage is from, if it is not of a call to be made.
    """
    price = call_price(route, usage)
    if price.usd is not None:
        return Decimal(str(price.usd))
    if price.told == NOT_INSTALLED:
        raise EngineMissing(
            "a budget in dollars is set, and the price table is not installed",
            hint="install mentis[prices], or set the budgets in dollars to 0",
        )
    where = "" if entry is None else f", which entry {entry} of the record used"
    facts = f'routes."{route.name}".facts' if "/" in route.name else f"routes.{route.name}.facts"
    raise BudgetReached(
        f"a budget in dollars is set, and no price is known for {route.model} "
        f"on route {route.name!r}{where}",
        hint=f"set input_price and output_price (or free = true) in {facts}, "
        "or the budgets in dollars to 0",
        route=route.name,
        model=route.model,
        entry=entry,
    )


def _spent_in(used: Iterable[UsedOn], *, priced: bool) -> Spending:
    spent = Spending()
    for place, usage in used:
        usd = price_of(usage, place) if priced else Decimal(0)
        spent = spent.and_now(usage.input + usage.output, usd)
    return spent


def _lasts(budgets: BudgetSettings) -> bool:
    """Whether a budget goes beyond one turn, so that the record has to be read."""
    return any((budgets.day_tokens, budgets.agent_tokens, budgets.day_usd, budgets.agent_usd))


def _in_money(budgets: BudgetSettings) -> bool:
    return any((budgets.turn_usd, budgets.day_usd, budgets.agent_usd))


def _reached(name: str, sum_: str, limit: str) -> BudgetReached:
    return BudgetReached(
        f"this call could use more than budgets.{name} allows: {sum_} of {limit}",
        hint=f"raise budgets.{name}, wait for the next day if it is a daily one, or ask for less",
        budget=name,
    )
