"""The same messages answered in two ways: what is asked, checked, counted, and kept."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.rounds import BERLIN, Rounds, asking_home, calls, opened, says

from mentis import Agent, create_home
from mentis.app.home_costs import home_costs
from mentis.compare.cases import read_cases
from mentis.compare.checks import load_functions
from mentis.compare.compare_data import comparison_data
from mentis.costs.report import CostQuestion
from mentis.errors import (
    BadInput,
    BudgetReached,
    LibraryError,
    ProviderUnreachable,
    ReplayError,
    RouteError,
    UsageError,
)
from mentis.library.archive import export_set
from mentis.prompts.prompts import Prompts
from mentis.values.comparison import CompareSide
from mentis.values.rendering import Rendering
from mentis.values.route import Route

BRIEF = CompareSide(blocks={"style": "Be brief."})
NAME = {"message": "Who are you?", "contains": "Ada", "name": "name"}
SCRIPTS = """
[routes.default]
replies = ["I am Ada.", "Red.", "I am Ada.", "Green."]
[routes.other]
replies = ["Who knows.", "Blue.", "I am Ada.", "Blue."]
[recall]
embedder = "off"
"""
PRICED = "\nfacts = {input_price = 1000.0, output_price = 1000.0}\nmax_tokens = 10\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two routes that play scripts: they cost nothing."""
    made = create_home(tmp_path / "home")
    with (made / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write(SCRIPTS)
    return made


@pytest.fixture
async def agent(home: Path) -> AsyncGenerator[Agent]:
    async with Agent.open(home) as opened_agent:
        yield opened_agent


async def test_two_routes_are_counted_side_by_side_and_nothing_is_written(agent: Agent) -> None:
    found = await agent.compare([NAME, "A colour?"], b={"route": "other"}, repeat=2)
    a, b = found.sides
    assert (a.plan.label, b.plan.label) == ("as it is", "route other")
    # A is asked both messages twice, one after the other, and so is B.
    assert [one.text for one in found.cases[0].answers[0]] == ["I am Ada.", "Red."]
    assert [one.text for one in found.cases[0].answers[1]] == ["Who knows.", "Blue."]
    assert [str(one.passed) for one in (a, b)] == [
        "Proportion(passed=1, total=2)",
        "Proportion(passed=0, total=2)",
    ]
    assert found.cases[0].answers[1][0].faults == ("does not contain 'Ada'",)
    assert found.winner == "", "two answers each tell nothing"
    assert (a.usd, found.plan.free) == (Decimal(0), True)
    assert not agent.entries()
    assert not agent.session_names()


async def test_another_text_of_a_block_is_told_and_how_the_prompts_differ(tmp_path: Path) -> None:
    home, provider = asking_home(tmp_path / "home"), Rounds(says("I am Ada."), says("I am."))
    async with opened(home, provider) as agent:
        found = await agent.compare([NAME], b=BRIEF, confirm=True)
    (difference,) = found.plan.differences
    assert difference.where == "system, style"
    assert difference.diff.startswith("--- system, style of A\n+++ system, style of B\n")
    assert "+Be brief." in difference.diff
    told = [json.dumps(one["messages"]) for one in provider.sent]
    assert ["Be brief." in one for one in told] == [False, True]
    assert [one.passed.passed for one in found.sides] == [1, 0]


async def test_a_prompt_set_is_told_as_if_the_home_had_it_and_the_home_keeps_its_own(
    home: Path, tmp_path: Path
) -> None:
    archive = tmp_path / "set.zip"
    with Prompts.open(home) as prompts:
        prompts.editor.save("style", variants={"default": "Speak in rhymes."})
        archive.write_bytes(export_set(prompts.loaded_library))
        prompts.editor.undo("style")
        before = prompts.loaded_library.library.revision
    async with Agent.open(home) as agent:
        plan = await agent.plan_comparison(["Hi"], b=CompareSide(prompts=str(archive)))
        assert agent.library.revision == before
    assert "+Speak in rhymes." in "".join(one.diff for one in plan.differences)
    assert plan.sides[1].label == "prompts set.zip"


async def test_another_model_is_asked_on_the_same_route(tmp_path: Path) -> None:
    home, provider = asking_home(tmp_path / "home"), Rounds(says("Hi."), says("Hi."))
    async with opened(home, provider) as agent:
        found = await agent.compare(["Hi"], b=CompareSide(model="larger"), confirm=True)
    assert [one["model"] for one in provider.sent] == ["m", "larger"]
    assert found.plan.notes == ("both sides are told the same prompt",)
    assert found.difference is None, "no message has a check"


async def test_what_costs_needs_a_yes_and_its_calls_are_recorded(tmp_path: Path) -> None:
    home = asking_home(tmp_path / "home")
    toml = (home / "mentis.toml").read_text(encoding="utf-8")
    (home / "mentis.toml").write_text(toml.replace('model = "m"\n', f'model = "m"{PRICED}'))
    provider = Rounds(says("I am Ada."), says("No."))
    async with opened(home, provider) as agent:
        plan = await agent.plan_comparison([NAME], b=BRIEF)
        assert plan.usd is not None
        assert plan.usd > 0
        for agreed in ({}, {"max_usd": plan.usd / 2}, {"max_usd": plan.usd / 2, "confirm": True}):
            with pytest.raises(UsageError, match="asks m 2 times, for at most"):
                await agent.compare([NAME], b=BRIEF, **agreed)  # pyright: ignore[reportArgumentType]
        assert not provider.sent
        found = await agent.compare([NAME], b=BRIEF, max_usd=plan.usd)
        assert found.sides[0].usd == Decimal("0.11"), "100 tokens in, 10 out, each at a tenth cent"
        assert not agent.entries(), "they belong to no conversation of the agent"
    report = home_costs(home, CostQuestion())
    assert report.total.calls == 2


async def test_answers_that_are_kept_are_judged_again_without_asking(
    home: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept.json"
    async with Agent.open(home) as agent:
        first = await agent.compare([NAME], b=CompareSide("other"), repeat=2, keep=kept)
    nobody = Rounds()  # breaks if it is asked
    async with Agent.open(home, provider=nobody) as agent:
        again = await agent.compare([NAME], b=CompareSide("other"), replay=kept)
        strict = {**NAME, "regex": "^Who"}
        other = await agent.compare([strict], b=CompareSide("other"), repeat=2, replay=kept)
    assert again.replayed
    old, new = comparison_data(first), comparison_data(again)
    assert {**old, "replayed": True} == new
    assert other.cases[0].answers[1][0].faults == ("does not contain 'Ada'",)
    assert other.sides[1].passed.passed == 0
    assert not nobody.sent


async def test_kept_answers_of_another_prompt_are_refused(home: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    async with Agent.open(home) as agent:
        await agent.compare([NAME], keep=kept)
        with pytest.raises(ReplayError, match="no answer"):
            await agent.compare([NAME], a=BRIEF, replay=kept)
        with pytest.raises(ReplayError, match="no answer"):
            await agent.compare([NAME], repeat=2, replay=kept)
    (tmp_path / "other.json").write_text("{}")
    async with Agent.open(home) as agent:
        with pytest.raises(BadInput, match="no kept answers"):
            await agent.compare([NAME], replay=tmp_path / "other.json")


async def test_recordings_of_a_route_are_compared_without_a_network(
    home: Path, tmp_path: Path
) -> None:
    toml = (home / "mentis.toml").read_text(encoding="utf-8")
    record = '\n[record]\nfolder = "tape"\n'
    (home / "mentis.toml").write_text(toml + record, encoding="utf-8")
    async with Agent.open(home) as agent:
        await agent.compare([NAME], repeat=2)
    tape = '\n[routes.tape]\nfolder = "tape"\nreplays = "scripted"\nmatch = "order"\n'
    (home / "mentis.toml").write_text(toml + tape, encoding="utf-8")
    async with Agent.open(home) as agent:
        found = await agent.compare([NAME], CompareSide("tape"), repeat=2)
    assert [one.text for one in found.cases[0].answers[0]] == ["I am Ada.", "Red."]
    assert found.plan.free


async def test_what_an_answer_asks_for_is_not_done_and_a_failure_is_no_answer(
    tmp_path: Path,
) -> None:
    home = asking_home(tmp_path / "home")
    failed = ProviderUnreachable("nobody is there")
    provider = Rounds(calls(BERLIN), failed)
    async with opened(home, provider) as agent:
        found = await agent.compare([NAME], repeat=2, confirm=True)
    first, second = found.cases[0].answers[0]
    assert first.asked_for == ("temperature",)
    assert (second.failure, second.passed) == ("nobody is there", False)
    assert (found.sides[0].unanswered, found.sides[0].passed.total) == (1, 2)
    assert len(provider.sent) == 2, "no result went back"


class Crowd:
    """Answers calls only when so many have come, the last one first; and how many came at once."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._waiting: list[anyio.Event] = []
        self.sent: list[dict[str, Any]] = []
        self.most = 0
        self._open = 0

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        del route
        body = json.loads(rendering.body())
        self.sent.append(body)
        self._open += 1
        self.most = max(self.most, self._open)
        if len(self.sent) > 1:  # the first one goes alone
            await self._crowd()
        try:
            yield self._play(f"seed {body['seed']}")
        finally:
            self._open -= 1
            if self._waiting:
                self._waiting.pop().set()

    async def _crowd(self) -> None:
        mine = anyio.Event()
        self._waiting.append(mine)
        if self._open == self._size:
            self._waiting.pop().set()
        await mine.wait()

    async def _play(self, text: str) -> AsyncIterator[str]:
        for event in says(text):
            yield json.dumps(event)


async def test_calls_go_side_by_side_up_to_the_bound_of_the_route_in_the_order_of_the_plan(
    tmp_path: Path,
) -> None:
    home, kept = asking_home(tmp_path / "home"), tmp_path / "kept.json"
    toml = (home / "mentis.toml").read_text(encoding="utf-8")
    bound = 'model = "m"\nseed = 0\nconcurrency = 3\n'
    (home / "mentis.toml").write_text(toml.replace('model = "m"\n', bound), encoding="utf-8")
    crowd = Crowd(3)
    with anyio.fail_after(60):
        async with opened(home, crowd) as agent:
            found = await agent.compare(["Hi"], repeat=7, keep=kept, confirm=True)
    told = [f"seed {n}" for n in range(7)]
    assert crowd.most == 3
    assert [one.text for one in found.cases[0].answers[0]] == told
    async with opened(home, Rounds()) as agent:
        again = await agent.compare(["Hi"], repeat=7, replay=kept)
    assert [one.text for one in again.cases[0].answers[0]] == told


async def test_calls_side_by_side_cannot_go_over_a_budget_together(tmp_path: Path) -> None:
    home = asking_home(tmp_path / "home")
    async with opened(home, Rounds()) as agent:
        most = (await agent.plan_comparison(["Hi"])).sides[0].usage
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        # Room for the first call, which uses 110 tokens, and for one and a half that are planned.
        file.write(f"[budgets]\nday_tokens = {110 + (most.input + most.output) * 3 // 2}\n")
        file.write("[routes.seeded]\nurl = 'http://127.0.0.1:9/v1'\nmodel = 'm'\nseed = 7\n")
    crowd = Crowd(3)
    with anyio.fail_after(60):
        async with opened(home, crowd) as agent:
            with pytest.raises(BudgetReached, match="day"):
                await agent.compare(["Hi"], {"route": "seeded"}, repeat=3, confirm=True)
    assert len(crowd.sent) <= 2


async def test_every_time_has_a_seed_of_its_own_where_the_route_has_one(tmp_path: Path) -> None:
    home, provider = asking_home(tmp_path / "home"), Rounds(says("a"), says("b"))
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write("[routes.seeded]\nurl = 'http://127.0.0.1:9/v1'\nmodel = 'm'\nseed = 7\n")
    async with opened(home, provider) as agent:
        await agent.compare(["Hi"], CompareSide("seeded"), repeat=2, confirm=True)
    assert [one["seed"] for one in provider.sent] == [7, 8]


async def test_functions_and_schemas_judge_answers(agent: Agent, tmp_path: Path) -> None:
    file = tmp_path / "checks.py"
    file.write_text(
        "def short(answer):\n    return len(answer) < 7 or f'{len(answer)} letters'\n"
        "def broken(answer):\n    return answer.nothing\n"
    )
    case: dict[str, Any] = {
        "message": "Hi",
        "function": ["short", "broken"],
        "schema": {"type": "object", "properties": {"a": {"type": "string"}}},
        "lacks": "Ada",
    }
    found = await agent.compare([case], functions=load_functions(file))
    lacks, schema, short, broken = found.cases[0].answers[0][0].faults
    assert lacks == "contains 'Ada'"
    assert schema.startswith("schema: it is not JSON")
    assert (short, broken[:22]) == ("short: 9 letters", "broken: AttributeError")
    with pytest.raises(BadInput, match="no function 'polite'"):
        await agent.compare([{"message": "Hi", "function": "polite"}])


async def test_the_same_run_is_the_same_to_the_byte(home: Path) -> None:
    async def run() -> str:
        async with Agent.open(home) as agent:
            found = await agent.compare([NAME, "Hi"], b=CompareSide("other"), repeat=2)
        return json.dumps(comparison_data(found))

    assert await run() == await run()


async def test_what_cannot_be_compared_is_refused_before_anybody_is_asked(agent: Agent) -> None:
    with pytest.raises(RouteError, match="no route 'nowhere'"):
        await agent.compare(["Hi"], b=CompareSide("nowhere"))
    with pytest.raises(LibraryError, match="nosuch"):
        await agent.compare(["Hi"], b=CompareSide(blocks={"nosuch": "x"}))
    with pytest.raises(BadInput, match="cannot be read"):
        await agent.compare(["Hi"], b=CompareSide(prompts="nosuch.zip"))
    with pytest.raises(BadInput, match="rout"):
        await agent.compare(["Hi"], b={"rout": "other"})
    with pytest.raises(UsageError, match="0 times"):
        await agent.compare(["Hi"], repeat=0)


def test_a_file_holds_texts_json_lines_or_a_list() -> None:
    plain = read_cases("Hello\n\nWho are you?\n", "talk.txt")
    assert [(one.name, one.message) for one in plain] == [("1", "Hello"), ("2", "Who are you?")]
    lines = read_cases('"Hello"\n{"message": "Hi", "regex": ["a", "b"]}\n', "talk.jsonl")
    assert [check.value for check in lines[1].checks] == ["a", "b"]
    assert read_cases('["Hello"]', "talk.json") == read_cases("Hello", "talk.txt")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no messages"),
        ('{"message": "Hi", "contain": "x"}', "'contain' is no check"),
        ('{"message": "Hi", "regex": "("}', "no regular expression"),
        ('{"message": "Hi", "contains": 3}', "contains is 3"),
        ('{"message": "Hi", "schema": {"type": 3}}', "message 1"),
        ('{"text": "Hi"}', "'text' is no check"),
        ("{", "line 1"),
        ("7", "neither a text nor an object"),
    ],
)
def test_a_file_that_is_wrong_is_named_with_the_line(text: str, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        read_cases(text, "talk.jsonl")
