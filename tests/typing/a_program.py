"""A program of somebody who uses Mentis and checks it strictly. Its types are looked at, not run.

`assert_type` fails in the checker where a name has become `Any` or something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never, assert_type

from pydantic import BaseModel
from typing_extensions import TypedDict

from mentis import (
    ActCall,
    ActSpec,
    AgainDelta,
    Agent,
    BudgetReached,
    CallDelta,
    CallOptions,
    Delta,
    EndDelta,
    Entry,
    LoopChoice,
    MemoryFilter,
    Outcome,
    OutputDelta,
    Parts,
    PromptRequest,
    ReasoningDelta,
    Rendering,
    Reply,
    ResultDelta,
    Sense,
    StepDelta,
    TextDelta,
    TickResult,
    ToolDeclaration,
    ToolResultPart,
    TurnResult,
    Verdict,
    create_home,
    open_acts,
    open_memories,
    tool,
)
from mentis.testing import CountingIds, FixedClock, LedgerInMemory, ScriptedProvider


@tool
def fetch_tea(cups: int, kind: str = "green") -> str:
    """Fetch some tea."""
    return f"{cups} cups of {kind} tea"


@tool(external_effects=True)
async def write_letter(to: str) -> Mapping[str, str]:
    """Write a letter."""
    return {"to": to}


assert_type(fetch_tea(2), str)


class Telescope:
    """A handler of its own, without a decorator."""

    spec = ActSpec(ToolDeclaration("point", "Points the telescope.", {"type": "object"}))

    async def handle(self, call: ActCall) -> Outcome:
        return Outcome(call.action, "done", text="pointing")


async def talk(home: Path) -> str:
    script = ScriptedProvider(["Good morning."])
    parts = Parts(
        provider=script,
        clock=FixedClock(),
        ids=CountingIds(),
        handlers=(fetch_tea, write_letter, Telescope()),
    )
    async with Agent.open(home, parts=parts) as agent:
        assert_type(agent, Agent)
        try:
            result = await agent.chat("Good morning!", session="kitchen")
        except BudgetReached as error:
            return assert_type(error.hint, str)
        assert_type(result, TurnResult)
        assert_type(result.reply, Reply)
        assert_type(result.entry, Entry)
        assert_type(result.outcomes, tuple[Outcome, ...])
        assert_type(agent.verify(), Verdict)
        assert_type(agent.render("And now?"), Rendering)
        assert_type(await agent.tick([Sense("1", "door", {"text": "It rang."})]), TickResult)
        await agent.loop(choice=LoopChoice(ticks=1)).run()
        assert_type(script.sent[0], Rendering)
        assert_type(script.sent[0].body(), bytes)
        return assert_type(result.reply.text, str)


LOOKUP = ToolDeclaration("lookup", "Looks something up.", {"type": "object"})


def shown(delta: Delta) -> str:  # noqa: PLR0911  # one for each piece
    """Every piece there is, told apart by its class."""
    match delta:
        case TextDelta() | ReasoningDelta():
            return assert_type(delta.text, str)
        case CallDelta():
            return assert_type(delta.arguments, str)
        case ResultDelta():
            return f"{delta.name}: {delta.state}"
        case StepDelta():
            return str(assert_type(delta.number, int))
        case AgainDelta():
            return ", ".join(delta.failed)
        case OutputDelta():
            return str(delta.data)
        case EndDelta():
            return delta.stop
        case _:
            assert_never(delta)


def tagged(delta: Delta) -> str:
    """The same by its tag."""
    return delta.text if delta.kind == "text" else delta.kind


async def use_tools(home: Path) -> str:
    async with Agent.open(home, tools=[fetch_tea, Telescope(), LOOKUP]) as agent:
        cool, heard = CallOptions(temperature=0.2), list[str]()
        result = await agent.chat(
            "Tea, please.", on_delta=lambda d: heard.append(shown(d)), options=cool
        )
        while result.calls:
            found = [ToolResultPart(call.call_id, call.type, "42") for call in result.calls]
            result = await agent.chat(results=found)
        if result.pending:
            again = await agent.resume(session=result.session)
            assert_type(again, TurnResult | None)
            return again.text if again else ""
        assert_type(result.steps[0].outcomes, tuple[Outcome, ...])
        assert_type(result.stop == "answer", bool)
        return assert_type(result.text, str)


async def listen(home: Path) -> str:
    async with Agent.open(home) as agent, agent.stream("Good morning!") as answer:
        async for delta in answer:
            assert_type(tagged(delta), str)
        assert_type(answer.result, TurnResult | None)
        return answer.result.text if answer.result else ""


class Weather(BaseModel):
    city: str
    degrees: int


@dataclass
class Town:
    name: str


class Trip(TypedDict):
    start: str


async def ask(agent: Agent) -> None:
    """Typed answers: each is what was asked for."""
    weather = await agent.chat("How warm is it?", output=Weather)
    assert_type(weather.output, Weather)
    assert_type(weather.text, str)
    assert_type(weather.entry, Entry)
    plain: TurnResult = weather
    assert_type(plain.reply, Reply)
    assert_type((await agent.chat("Where?", output=Town)).output, Town)
    assert_type((await agent.chat("Where to?", output=Trip)).output, Trip)
    assert_type((await agent.chat("Which?", output=Weather | Town)).output, Weather | Town)
    assert_type((await agent.chat("All?", output=list[Town])).output, list[Town])
    assert_type((await agent.chat("What?", output={"type": "object"})).output, object)
    async with agent.stream("How warm is it?", output=Weather) as answer:
        async for piece in answer:
            if piece.kind == "output":
                assert_type(piece.data, object)
        if answer.result is not None:
            assert_type(answer.result.output, Weather)
    async with agent.stream("Hello") as said:
        assert_type(said.result, TurnResult | None)


def look_back(home: Path, request: PromptRequest) -> None:
    assert_type(request.current_text, str)
    assert_type(create_home(home), Path)
    with open_acts(home, readonly=True) as acts:
        waiting, _ = acts.pending()
        for act in waiting:
            assert_type(act.call, ActCall)
    with open_memories(home) as memories:
        for memory in memories.list(MemoryFilter(kinds=("decision",))):
            assert_type(memory.text, str)
    assert_type(LedgerInMemory(), LedgerInMemory)


async def mistakes(agent: Agent) -> None:
    """Each is seen: a checker that sees none calls the comment unnecessary."""
    fetch_tea("two")  # type: ignore[arg-type]
    agent.render(2)  # type: ignore[arg-type]
    agent.shout("Good morning!")  # type: ignore[attr-defined]
    Parts(clock="noon")  # type: ignore[arg-type]
    _ = (await agent.chat("Hello")).output  # type: ignore[attr-defined]
    _ = (await agent.chat("Hello", output=Weather)).output.wind  # type: ignore[attr-defined]
