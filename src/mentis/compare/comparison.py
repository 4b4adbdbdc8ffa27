"""Asks each side as often as wanted, judges every answer, and counts."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial, reduce
from operator import add

import anyio

from mentis.ask.calls import planned_usage, prompt_tokens, total
from mentis.ask.lone_calls import AskAttempt
from mentis.ask.prices import call_price
from mentis.errors import ModelError, WorldError
from mentis.values.comparison import (
    CompareCase,
    ComparedCase,
    ComparedSide,
    ComparePlan,
    Comparison,
    JudgedAnswer,
    PlannedSide,
)
from mentis.values.proportion import Proportion
from mentis.values.reply import Reply, Usage
from mentis.values.route import Backend, Route

from .checks import OwnCheck, check_functions, faults_of
from .plan import PreparedComparison, PreparedSide

_IN_ORDER: tuple[Backend, ...] = ("embedded", "scripted", "replay")
# Told after each answer: how many there are, and how many there will be.
OnAnswer = Callable[[int, int], None]


@dataclass(slots=True)
class _Run:
    ask: AskAttempt
    functions: Mapping[str, OwnCheck]
    on_answer: OnAnswer
    calls: int
    done: int = 0

    async def column(
        self, side: PreparedSide, plan: ComparePlan, *, alone: bool
    ) -> list[tuple[JudgedAnswer, ...]]:
        """All answers of one side. The first call goes alone: the others find in the provider's
        cache what it put there. Calls begin in the order of the plan.
        """
        places = [
            (number, time) for number in range(len(plan.cases)) for time in range(plan.repeat)
        ]
        made = dict[tuple[int, int], JudgedAnswer]()
        waiting = iter(places)

        async def work(places: Iterator[tuple[int, int]]) -> None:
            for number, time in places:
                made[number, time] = await self.answer(side, plan.cases[number], number, time)

        await work(iter([next(waiting)]))
        workers = 1 if alone else _at_once(side.models.route)
        if workers == 1:
            await work(waiting)
        else:
            await _together(partial(work, waiting), min(workers, len(places)))
        return [
            tuple(made[number, time] for time in range(plan.repeat))
            for number in range(len(plan.cases))
        ]

    async def answer(
        self, side: PreparedSide, case: CompareCase, number: int, time: int
    ) -> JudgedAnswer:
        """Nothing that the answer asks for is done. A failure of the world is an answer less."""
        attempt = side.attempt(number, time)
        try:
            reply = (await self.ask(side.models, attempt)).reply
        except (WorldError, ModelError) as error:
            made = JudgedAnswer("", "error", failure=error.message, usd=None)
        else:
            used = reply.usage or planned_usage(
                prompt_tokens(side.prompts[number].trace), attempt.route
            )
            priced = call_price(attempt.route, used)
            usd = None if priced.usd is None else Decimal(str(priced.usd))
            made = _judged(reply, case, self.functions, usage=used, usd=usd)
        self.done += 1
        self.on_answer(self.done, self.calls)
        return made


def _at_once(route: Route) -> int:
    """What plays its answers in their order is asked in that order, and one engine in this process
    answers one at a time.
    """
    return 1 if route.backend in _IN_ORDER else route.concurrency


async def _together(work: Callable[[], Coroutine[object, object, None]], workers: int) -> None:
    """The first failure ends all, and is raised as it came."""
    failure: BaseException | None = None
    try:
        async with anyio.create_task_group() as tasks:
            for _ in range(workers):
                tasks.start_soon(work)
    except BaseExceptionGroup as group:
        failure = group.exceptions[0]
    if failure is not None:
        raise failure


def _judged(
    reply: Reply,
    case: CompareCase,
    functions: Mapping[str, OwnCheck],
    *,
    usage: Usage,
    usd: Decimal | None,
) -> JudgedAnswer:
    faults = tuple(faults_of(reply.text, case.checks, functions))
    asked_for = tuple(action.type for action in reply.actions)
    return JudgedAnswer(reply.text, reply.stop, faults, asked_for=asked_for, usage=usage, usd=usd)


async def run_comparison(
    prepared: PreparedComparison,
    ask: AskAttempt,
    *,
    functions: Mapping[str, OwnCheck],
    on_answer: OnAnswer,
    replayed: bool = False,
) -> Comparison:
    """One side after the other, so that each prompt begins as the one before it did; on each, as
    many calls at a time as its route allows. Answers stand in the order of the plan.
    """
    plan = prepared.plan
    check_functions(plan.cases, functions)
    run = _Run(ask, functions, on_answer, plan.calls)
    columns = [await run.column(side, plan, alone=replayed) for side in prepared.sides]
    cases = tuple(
        ComparedCase(case, tuple(column[number] for column in columns))
        for number, case in enumerate(plan.cases)
    )
    sides = tuple(_counted(planned, cases, n) for n, planned in enumerate(plan.sides))
    return Comparison(plan, cases, sides, replayed)


def _counted(planned: PlannedSide, cases: tuple[ComparedCase, ...], side: int) -> ComparedSide:
    answers = [one for case in cases for one in case.answers[side]]
    sent = [one for one in answers if not one.failure]
    known = [one.usd for one in sent if one.usd is not None]
    return ComparedSide(
        planned,
        reduce(add, (case.passed(side) for case in cases), Proportion(0, 0)),
        len(answers) - len(sent),
        total([one.usage for one in sent]) or Usage(),
        sum(known, Decimal(0)) if len(known) == len(sent) else None,
    )
