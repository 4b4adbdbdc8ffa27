"""What an answer hangs on: the pieces that are left out, how it is scored, who pays."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from decimal import Decimal
from pathlib import Path

import pytest
from tests.causes.judge import LIKELY, UNLIKELY, Judge, prompt_of
from tests.rounds import Rounds, asking_home, calls, opened, says

from mentis import Agent, create_home
from mentis.app.home_costs import home_costs
from mentis.ask.lone_calls import LoneReply
from mentis.causes.causes import find_causes
from mentis.causes.leave_outs import leave_outs
from mentis.causes.plan import CauseQuestion, prepare_causes
from mentis.causes.resampling import overlap
from mentis.causes.scoring import scored_tokens, scoring_rendering
from mentis.costs.report import CostQuestion
from mentis.engines.estimate import EstimatingCounter
from mentis.errors import ReplyError, RouteError, UsageError
from mentis.render.openai_chat import render
from mentis.values.part import TextPart, ToolCallPart, ToolResultPart
from mentis.values.rendering import Rendering
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.span import Span
from mentis.values.trust import Trust
from mentis.values.turn import Turn

LOCAL = Route("local", "embedded", "smollm2-135m")
GAP = Span("\n\n", source="layout", trust=Trust.RUNTIME)
PRICES = (
    '[routes.default]\nbackend = "openai"\nurl = "http://127.0.0.1:9/v1"\nmodel = "m"\n'
    "max_tokens = 100\nfacts = {input_price = 1.0, output_price = 10.0}\n"
    '[recall]\nembedder = "off"\n'
)


def home_of(folder: Path, settings: str = "") -> Path:
    home = create_home(folder / "home")
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n{settings}")
    return home


async def told_of_bruno(home: Path) -> Judge:
    judge = Judge("A fine name.", "Your dog is called Bruno.")
    async with Agent.open(home, provider=judge) as agent:
        await agent.chat("My dog is called Bruno.")
        await agent.chat("What is it called?")
    judge.sent.clear()
    return judge


@pytest.fixture
async def free(tmp_path: Path) -> AsyncGenerator[tuple[Agent, Judge]]:
    home = home_of(tmp_path)
    judge = await told_of_bruno(home)
    async with Agent.open(home, provider=judge) as agent:
        yield agent, judge


@pytest.fixture
async def paid(tmp_path: Path) -> AsyncGenerator[tuple[Agent, Judge]]:
    home = home_of(tmp_path, PRICES)
    judge = await told_of_bruno(home)
    async with Agent.open(home, provider=judge) as agent:
        yield agent, judge


async def test_the_message_that_says_it_comes_first_with_what_the_answer_loses(
    free: tuple[Agent, Judge],
) -> None:
    found = await free[0].cause()
    first = found.causes[0]
    assert (first.unit.name, first.unit.kind) == ("user turn 0", "message")
    assert {one.token for one in first.tokens} == {" dog", " Bruno."}  # the rest is told elsewhere
    assert first.fall == pytest.approx(2 * (LIKELY - UNLIKELY))
    assert found.value - first.value == pytest.approx(first.fall)
    section = free[0].blame().sections[first.unit.section]
    assert "My dog is called Bruno." in section.text


async def test_a_free_question_writes_nothing(free: tuple[Agent, Judge]) -> None:
    agent, _ = free
    before = [entry.hash for entry in agent.entries()]
    found = await agent.cause()
    assert found.plan.free
    assert [entry.hash for entry in agent.entries()] == before
    assert set(agent.costs(by="kind").groups[0].name.split()) == {"turn"}


async def test_pieces_are_left_out_from_the_last_to_the_first_so_that_the_prefix_is_reused(
    free: tuple[Agent, Judge],
) -> None:
    agent, judge = free
    found = await agent.cause()
    whole, *without = [prompt_of(body) for body in judge.sent]

    def shared(text: str) -> int:
        return next(n for n, (a, b) in enumerate(zip(text, whole, strict=False)) if a != b)

    kept = [shared(text) for text in without]
    assert kept == sorted(kept, reverse=True)
    assert len(kept) == len(found.causes)
    assert (found.prefilled, found.reused) == (90 * len(judge.sent), 10 * len(judge.sent))


async def test_the_answer_is_scored_by_the_same_tokens_each_time(
    free: tuple[Agent, Judge],
) -> None:
    agent, judge = free
    await agent.cause(blocks=2)
    first, *later = [body["grammar"] for body in judge.sent]
    assert first == '%llguidance {}\nstart: "Your dog is called Bruno."'
    assert set(later) == {"%llguidance {}\nstart: <[0]> <[1]> <[2]> <[3]> <[4]>"}


async def test_a_limit_leaves_out_what_shares_words_with_the_answer_and_names_the_rest(
    free: tuple[Agent, Judge],
) -> None:
    plan = free[0].plan_cause(blocks=1)
    assert [unit.name for unit in plan.units] == ["user turn 0"]
    assert "constitution" in [unit.name for unit in plan.skipped]
    assert plan.calls == 2


async def test_what_costs_is_refused_with_its_price_until_somebody_agrees(
    paid: tuple[Agent, Judge],
) -> None:
    agent, judge = paid
    plan = agent.plan_cause(blocks=2)
    assert (plan.method, plan.calls) == ("overlap", 9)
    assert plan.usd is not None
    assert plan.usd > Decimal(str(9 * 100 * 10 / 1e6))  # each answer may be 100 tokens long
    with pytest.raises(UsageError, match="9 times, for at most"):
        await agent.cause(blocks=2)
    with pytest.raises(UsageError):
        await agent.cause(blocks=2, max_usd=plan.usd / 2)
    assert judge.sent == []
    assert (await agent.cause(blocks=2, max_usd=plan.usd)).causes


async def test_new_answers_are_compared_where_a_route_tells_no_probabilities_and_paid_calls_are_recorded(  # noqa: E501
    paid: tuple[Agent, Judge], tmp_path: Path
) -> None:
    agent, judge = paid
    before = agent.entries()
    found = await agent.cause(samples=1, confirm=True)
    assert found.causes[0].unit.name == "user turn 0"
    assert (found.value, found.causes[0].value) == (1.0, 0.0)
    assert all(one.fall == 0 for one in found.causes[1:])
    assert agent.entries() == before  # of the agent itself
    whole = home_costs(tmp_path / "home", CostQuestion(by="agent"))
    recorded = {group.name: group.cost for group in whole.groups}["home/calls"]
    assert recorded.calls == len(judge.sent) == found.plan.calls
    assert found.usd == recorded.usd == Decimal("0.0002") * len(judge.sent)


async def test_a_step_without_words_is_named_and_the_last_one_is_asked_about_by_default(
    tmp_path: Path,
) -> None:
    rounds = Rounds(calls(("c1", "temperature", {"city": "Porto"})), says("It is 21 degrees."))
    async with opened(asking_home(tmp_path / "home"), rounds) as agent:
        await agent.chat("How warm is it?")
        plan = agent.plan_cause()
        assert (plan.step, plan.method) == (2, "overlap")
        assert "result of temperature" in [unit.name for unit in plan.units]
        with pytest.raises(UsageError, match="without words"):
            agent.plan_cause(step=1)


def units_of(request: PromptRequest) -> dict[str, PromptRequest]:
    found = leave_outs(request, render(request, LOCAL), EstimatingCounter())
    return {one.unit.name: one.request for one in found}


def test_a_memory_is_left_out_without_its_block_and_a_block_with_the_gap_after_it() -> None:
    block = Span("You remember:\n", block="memories")
    one = Span("Bruno is a dog.", block="memories", source="memory 1")
    two = Span("Ada paints.", block="memories", source="memory 2")
    style = Span("Be short.", block="style")
    line = Span("\n", source="layout", trust=Trust.RUNTIME)
    request = PromptRequest((style, GAP, block, one, line, two), current_text="Who is Bruno?")
    units = units_of(request)
    assert list(units) == ["style", "memories", "memory 1", "memory 2"]
    assert units["memory 1"].system_instruction == (style, GAP, block, two)
    assert units["style"].system_instruction == (block, one, line, two)


def test_a_result_is_emptied_and_its_call_stays_answered() -> None:
    call = Turn("assistant", (ToolCallPart("c1", "look", {}),))
    came = Turn("user", (ToolResultPart("c1", "look", "rain"),))
    said = Turn("user", (TextPart("Hello."),))
    request = PromptRequest(
        conversation_history=(said, call, came), current_text="So?", words={"notice_result": "R"}
    )
    units = units_of(request)
    assert list(units) == ["user turn 0", "result of look"]
    _, kept, emptied = units["result of look"].conversation_history
    assert kept == call
    assert emptied.parts == (ToolResultPart("c1", "look", ""),)


def test_two_results_of_one_tool_are_two_units() -> None:
    parts = [(f"c{n}", text) for n, text in enumerate(("rain", "sun"))]
    turns = [
        turn
        for key, text in parts
        for turn in (
            Turn("assistant", (ToolCallPart(key, "look", {}),)),
            Turn("user", (ToolResultPart(key, "look", text),)),
        )
    ]
    request = PromptRequest(conversation_history=tuple(turns), current_text="So?")
    found = leave_outs(request, render(request, LOCAL), EstimatingCounter())
    assert [one.text for one in found] == ["rain", "sun"]
    assert found[0].place < found[1].place


def test_a_server_that_scores_another_answer_is_refused() -> None:
    told = [{"id": 1, "token": "No", "bytes": [78, 111], "logprob": -1.0}]
    event = json.dumps({"choices": [{"logprobs": {"content": told}}]})
    with pytest.raises(ReplyError, match="another answer"):
        scored_tokens([event], "Yes", "gbnf")
    with pytest.raises(ReplyError):
        scored_tokens(['{"choices": [{"message": {"content": "Yes"}}]}'], "Yes", "llguidance")


def test_a_letter_in_two_tokens_is_still_the_same_answer() -> None:
    halves = [[0xC3], [0xBC]]
    told = [{"id": n, "bytes": half, "logprob": -1.0} for n, half in enumerate(halves)]
    event = json.dumps({"choices": [{"logprobs": {"content": told}}]})
    assert [one.id for one in scored_tokens([event], "ü", "gbnf")] == [0, 1]


def test_vllm_reads_the_answer_as_the_beginning_of_its_own() -> None:
    rendering = Rendering("openai-chat", {"messages": [{"role": "user", "content": "Hi"}]})
    sent = scoring_rendering(rendering, "Yes.", "prompt").payload
    assert sent["messages"] == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Yes."},
    ]
    assert (sent["continue_final_message"], sent["prompt_logprobs"]) == (True, 0)
    read = [None, {"7": {"logprob": -3.0, "decoded_token": "Hi"}}]
    read += [{"8": {"logprob": -0.5, "decoded_token": "Yes"}, "5": {"logprob": -0.1}}]
    read += [{"9": {"logprob": -0.25, "decoded_token": "."}}]
    tokens = scored_tokens([json.dumps({"prompt_logprobs": read})], "Yes.", "prompt")
    assert [(one.text, one.logprob) for one in tokens] == [("Yes", -0.5), (".", -0.25)]


def test_words_are_counted_each_as_often_as_it_is_said() -> None:
    assert overlap("Bruno!", "bruno") == 1
    assert overlap("no no", "no") == pytest.approx(2 / 3)
    assert overlap("cats", "dogs") == 0


async def test_a_fact_that_is_no_way_to_score_is_named() -> None:
    wrong = Route("local", "embedded", "m", facts={"answer_scores": "magic"})
    request = PromptRequest((Span("Be kind.", block="style"),), current_text="Hi")
    question = CauseQuestion("home/ada", 1, 1, request, "Hello.", wrong)
    with pytest.raises(RouteError, match="magic"):
        prepare_causes(question, EstimatingCounter())


async def test_an_error_on_the_way_ends_the_question() -> None:
    request = PromptRequest((Span("Be kind.", block="style"),), current_text="Hi")
    question = CauseQuestion("home/ada", 1, 1, request, "Hello.", LOCAL)

    async def refuse(_rendering: Rendering) -> LoneReply:
        raise ReplyError("nothing came")

    with pytest.raises(ReplyError):
        await find_causes(prepare_causes(question, EstimatingCounter()), refuse)
