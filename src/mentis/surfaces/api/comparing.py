"""Operations that answer the same messages in two ways and count what passes."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, ClassVar

from pydantic import Field, JsonValue
from typing_extensions import TypedDict

from mentis.compare.cases import make_cases
from mentis.compare.compare_data import comparison_data, plan_data
from mentis.compare.plan import AS_IT_IS, check_consent
from mentis.errors import LibraryError, RequestRefused, UsageError
from mentis.values.comparison import CompareSide
from mentis.values.prompt_difference import PromptDifference
from mentis.web.problems import with_status

from .operation import ApiCall, Example, Given, OperationTable

table = OperationTable("comparing", "Two ways to answer the same messages, side by side.")
_PERSONA = "/personas/{persona}"
_MOST = 1000  # messages of one request


class SideGiven(Given):
    """One way to answer; what is left out is as it is in the home."""

    route: str = Field(default="", description="A route, by its name in the settings.")
    model: str = Field(default="", description="Another model on that route.")
    blocks: dict[str, str] = Field(
        default_factory=dict[str, str], description="Texts that blocks would have, by their ids."
    )

    def side(self) -> CompareSide:
        return CompareSide(self.route, self.model, blocks=self.blocks)


class ComparePlanGiven(Given):
    """The messages and the two ways."""

    example: ClassVar[Example] = {
        "messages": [{"message": "Who are you?", "contains": "Ada"}],
        "b": {"blocks": {"style": "Be brief."}},
    }

    messages: list[str | dict[str, JsonValue]] = Field(
        min_length=1,
        max_length=_MOST,
        description="Texts, or objects with `message`, `name`, and the checks `contains`, `lacks`,"
        " `regex` and `schema`.",
    )
    a: SideGiven | None = Field(None, description="Without it, as things are.")
    b: SideGiven | None = Field(None, description="Without it, one side alone is measured.")
    repeat: int = Field(1, ge=1, le=100, description="How often each is asked.")


class CompareGiven(ComparePlanGiven):
    """The messages, the two ways, and what asking may cost."""

    confirm: bool = Field(False, description="Agree to the price.")
    max_usd: float | None = Field(None, ge=0, description="Go on where it costs at most that.")


class PlannedSideAnswer(TypedDict):
    """What one side would ask, and the most that it costs."""

    label: str
    route: str
    model: str
    calls: int
    prompt_tokens: int
    most: dict[str, int]
    most_usd: str | None
    price: str


class ComparisonPlanAnswer(TypedDict):
    """What would be asked, how the prompts differ, and the most that it costs."""

    agent: str
    messages: int
    repeat: int
    calls: int
    most_usd: str | None
    free: bool
    planned: list[PlannedSideAnswer]
    differences: list[PromptDifference]
    notes: list[str]


class RateAnswer(TypedDict):
    """A share that was counted, with its interval at 95 %."""

    passed: int
    total: int
    rate: float
    low: float
    high: float


class ComparedSideAnswer(RateAnswer):
    """What one side came to."""

    label: str
    route: str
    model: str
    unanswered: int
    usage: dict[str, int]
    usd: str | None


class JudgedAnswerShape(TypedDict):
    """An answer, and the checks that it failed."""

    text: str
    stop: str
    passed: bool
    faults: list[str]
    failure: str
    asked_for: list[str]
    usage: dict[str, int] | None
    usd: str | None


class CaseSideAnswer(RateAnswer):
    """The answers of one side to a message."""

    answers: list[JudgedAnswerShape]


class CaseAnswer(TypedDict):
    """A message, and what both sides answered."""

    name: str
    message: str
    checks: int
    sides: list[CaseSideAnswer]


class ComparisonAnswer(ComparisonPlanAnswer):
    """Both sides counted. `difference`: by how much more often B passes, from and to at 95 %;
    `winner` is `a` or `b` where chance alone does not explain it.
    """

    replayed: bool
    sides: list[ComparedSideAnswer]
    difference: list[float] | None
    winner: str
    cases: list[CaseAnswer]


@table.post(f"{_PERSONA}/compare/plan", ComparisonPlanAnswer, scope="read", commands=("compare",))
async def plan_comparison(call: ApiCall, body: ComparePlanGiven) -> dict[str, object]:
    """Say what a comparison would ask, how the prompts of both sides differ, and the most it costs.

    Nothing is sent or written.
    """
    agent = await call.agent()
    try:
        return plan_data(await agent.plan_comparison(**_asked(body)))
    except LibraryError as error:
        raise with_status(error, 422) from error


@table.post(
    f"{_PERSONA}/compare", ComparisonAnswer, scope="chat", commands=("compare", "eval answers")
)
async def compare_answers(call: ApiCall, body: CompareGiven) -> dict[str, object]:
    """Answer the same messages in two ways, check every answer, and count.

    Each is asked outside of any conversation, and what an answer asks for is not done. What costs
    money needs `confirm`, or a `max_usd` that covers it; without either it is refused with the
    price (402). Only those calls are recorded. Functions, prompt sets in files, and answers that
    are kept in a file are for `mentis compare` and `Agent.compare`.
    """
    agent, asked = await call.agent(), _asked(body)
    limit = None if body.max_usd is None else Decimal(str(body.max_usd))
    try:
        plan = await agent.plan_comparison(**asked)
    except LibraryError as error:
        raise with_status(error, 422) from error
    try:
        check_consent(plan, confirm=body.confirm, max_usd=limit)
    except UsageError as error:
        raise with_status(error, 402) from error
    found = await agent.compare(**asked, confirm=body.confirm, max_usd=limit)
    return comparison_data(found)


def _asked(body: ComparePlanGiven) -> dict[str, Any]:
    """A function is code of this machine: nobody names one from elsewhere."""
    if any(isinstance(one, Mapping) and "function" in one for one in body.messages):
        raise RequestRefused(
            "functions are not called over HTTP",
            hint="mentis compare --functions FILE, or Agent.compare(functions=...)",
            status=422,
        )
    return {
        "messages": make_cases(body.messages, "messages"),
        "a": AS_IT_IS if body.a is None else body.a.side(),
        "b": None if body.b is None else body.b.side(),
        "repeat": body.repeat,
    }
