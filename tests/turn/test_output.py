"""Typed answers: of every kind of type, corrected on a miss, after tools, replayed, in pieces."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from mentis import Agent, Parts, ToolDeclaration, create_home, tool
from mentis.errors import BadInput, OutputInvalid
from mentis.turn.output import output_form
from mentis.turn.turn import TypedResult
from mentis.values.output import OUTPUT_TOOL
from mentis.values.rendering import Rendering
from mentis.values.reply import AgainDelta, Delta, EndDelta, OutputDelta
from mentis.values.route import Route

pytestmark = pytest.mark.anyio
NATIVE_MODEL, PLAIN_MODEL = "gpt-5.6", "some-model"


class Weather(BaseModel):
    """How it is outside."""

    city: str
    degrees: int
    wind: int = 0


@dataclass
class Town:
    name: str
    people: int


class Trip(TypedDict, total=False):
    start: str
    stops: list[str]


SCHEMA: Mapping[str, object] = {
    "title": "Weather",
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
    "required": ["city", "degrees"],
}


class Rounds:
    """One answer for each call, and what it was sent."""

    def __init__(self, *rounds: Sequence[object]) -> None:
        self._rounds = list(rounds)
        self.sent: list[dict[str, Any]] = []

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        self.sent.append(json.loads(rendering.body()))
        yield _play(self._rounds.pop(0))


async def _play(events: Sequence[object]) -> AsyncIterator[str]:
    for event in events:
        yield json.dumps(event)


def says(*pieces: str) -> list[object]:
    told: list[object] = [{"choices": [{"delta": {"content": piece}}]} for piece in pieces]
    return [*told, {"choices": [{"delta": {}, "finish_reason": "stop"}]}]


def calls(name: str, *pieces: str) -> list[object]:
    events: list[object] = []
    for number, piece in enumerate(pieces):
        function = {"arguments": piece} | ({} if number else {"name": name})
        call = {"index": 0, "function": function} | ({} if number else {"id": f"id-{name}"})
        events.append({"choices": [{"delta": {"tool_calls": [call]}}]})
    return [*events, {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}]


@tool
def temperature(city: str) -> str:
    """How warm it is somewhere.

    Args:
        city: Where.
    """
    return f"17 degrees in {city}"


LOOKUP = ToolDeclaration("lookup", "Looks something up.")


def opened(
    home: Path, provider: Rounds, *, model: str = NATIVE_MODEL, tools: bool = False, **more: str
) -> Agent:
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write(f'\n[routes.default]\nurl = "http://127.0.0.1:9/v1"\nmodel = "{model}"\n')
        file.write('[recall]\nembedder = "off"\n')
    chosen = {f"MENTIS_{name.upper()}": value for name, value in more.items()}
    parts = Parts(environ={**os.environ, **chosen})
    given = [temperature, LOOKUP] if tools else []
    return Agent.open(home, tools=given, provider=provider, parts=parts)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


BERLIN = '{"city": "Berlin", "degrees": 17}'
KINDS: list[tuple[object, str, object]] = [
    (Weather, BERLIN, Weather(city="Berlin", degrees=17)),
    (Town, '{"name": "Ulm", "people": 3}', Town("Ulm", 3)),
    (Trip, '{"start": "Ulm"}', {"start": "Ulm"}),
    (Weather | Town, '{"value": {"name": "Ulm", "people": 3}}', Town("Ulm", 3)),
    (list[Town], '{"value": [{"name": "Ulm", "people": 3}]}', [Town("Ulm", 3)]),
    (Literal["yes", "no"], '{"value": "no"}', "no"),
    (Weather | None, '{"value": null}', None),
    (SCHEMA, BERLIN, {"city": "Berlin", "degrees": 17}),
    ({"type": "array", "items": {"type": "integer"}}, '{"value": [1, 2]}', [1, 2]),
]


@pytest.mark.parametrize("model", [NATIVE_MODEL, PLAIN_MODEL])
@pytest.mark.parametrize("case", KINDS, ids=lambda one: str(one[0])[:30])
async def test_every_kind_of_type_comes_back_as_itself(
    home: Path, model: str, case: tuple[object, str, object]
) -> None:
    kind, answer, meant = case
    given = says(answer) if model == NATIVE_MODEL else calls(OUTPUT_TOOL, answer)
    async with opened(home, Rounds(given), model=model) as agent:
        result = await agent.chat("Tell me.", output=cast("type[object]", kind))
        assert agent.replay(result.entry.index).identical
        assert agent.verify().intact
    assert (result.output, result.stop) == (meant, "answer")
    assert json.loads(result.text) == json.loads(answer)
    assert result.outcomes == ()


async def test_a_plain_turn_has_no_output(home: Path) -> None:
    async with opened(home, Rounds(says("Hello."))) as agent:
        result = await agent.chat("Hi")
    assert not isinstance(result, TypedResult)
    assert not hasattr(result, "output")


async def test_an_answer_in_a_fence_is_taken(home: Path) -> None:
    async with opened(home, Rounds(says(f"Here:\n```json\n{BERLIN}\n```"))) as agent:
        result = await agent.chat("How warm?", output=Weather)
    assert result.output.degrees == 17


async def test_a_null_for_what_has_a_default_is_that_default(home: Path) -> None:
    given = says('{"city": "Berlin", "degrees": 17, "wind": null}')
    async with opened(home, Rounds(given)) as agent:
        result = await agent.chat("How warm?", output=Weather)
    assert result.output == Weather(city="Berlin", degrees=17)


async def test_a_miss_is_told_in_words_and_corrected(home: Path) -> None:
    provider = Rounds(says('{"city": "Berlin", "degrees": "warm"}'), says(BERLIN))
    deltas: list[Delta] = []
    async with opened(home, provider) as agent:
        result = await agent.chat("How warm?", output=Weather, on_delta=deltas.append)
        assert agent.replay(result.entry.index).identical
    assert result.output.degrees == 17
    assert result.text == BERLIN
    asked = provider.sent[1]["messages"][-1]["content"]
    assert "degrees: Input should be a valid integer" in asked
    assert "response_format" in provider.sent[1]
    (again,) = [one for one in deltas if isinstance(one, AgainDelta)]
    assert not again.keeps


async def test_a_miss_of_the_tool_that_answers_is_corrected_with_its_form(home: Path) -> None:
    provider = Rounds(calls(OUTPUT_TOOL, '{"city": "Berlin"}'), calls(OUTPUT_TOOL, BERLIN))
    async with opened(home, provider, model=PLAIN_MODEL) as agent:
        result = await agent.chat("How warm?", output=Weather)
    assert result.output.degrees == 17
    asked = provider.sent[1]["messages"][-1]["content"]
    assert "final_answer: degrees: Field required" in asked
    (line,) = [one for one in asked.splitlines() if one.startswith("Actions you may use here:")]
    assert OUTPUT_TOOL in line
    assert '"degrees"' in asked  # its form


async def test_plain_words_where_a_tool_answers_are_corrected_too(home: Path) -> None:
    provider = Rounds(says("It is warm."), calls(OUTPUT_TOOL, BERLIN))
    async with opened(home, provider, model=PLAIN_MODEL) as agent:
        assert (await agent.chat("How warm?", output=Weather)).output.city == "Berlin"


async def test_a_miss_that_stays_one_is_an_error_and_in_the_record(home: Path) -> None:
    provider = Rounds(says("warm"), says("very warm"), says("warmer"))
    deltas: list[Delta] = []
    async with opened(home, provider) as agent:
        with pytest.raises(OutputInvalid, match="it is not JSON") as caught:
            await agent.chat("How warm?", output=Weather, on_delta=deltas.append)
        entry, talk = agent.entries()[-1], agent.history()
        assert agent.verify().intact
        assert agent.replay(entry.index).identical
    assert cast("dict[str, object]", entry.body["turn"])["failure"] == "output-invalid"
    assert talk[-1].text == caught.value.facts["text"]
    assert len(provider.sent) <= 3
    assert deltas[-1] == EndDelta("error", None)


async def test_tools_are_used_before_the_answer_is_given_in_its_form(home: Path) -> None:
    provider = Rounds(calls("temperature", '{"city": "Berlin"}'), says(BERLIN))
    async with opened(home, provider, tools=True) as agent:
        result = await agent.chat("How warm?", output=Weather)
        replays = [agent.replay(result.entry.index, step=step).identical for step in (1, 2)]
    assert result.output.degrees == 17
    assert [outcome.state for outcome in result.outcomes] == ["done"]
    assert replays == [True, True]
    assert provider.sent[0]["response_format"] == provider.sent[1]["response_format"]


async def test_the_tool_that_answers_ends_the_turn_and_is_not_done(home: Path) -> None:
    provider = Rounds(
        calls("temperature", '{"city": "Berlin"}'), calls(OUTPUT_TOOL, BERLIN), says("Bye.")
    )
    async with opened(home, provider, model=PLAIN_MODEL, tools=True) as agent:
        result = await agent.chat("How warm?", output=Weather)
        await agent.chat("Thanks.")
        replays = [agent.replay(result.entry.index, step=step).identical for step in (1, 2)]
    assert (result.output.degrees, result.stop, len(result.steps)) == (17, "answer", 2)
    assert [outcome.action.type for outcome in result.outcomes] == ["temperature"]
    assert [sent["tool_choice"] for sent in provider.sent[:2]] == ["required", "required"]
    assert replays == [True, True]
    # The next turn is told the answer as words: there is no call that a result is missing for.
    told = provider.sent[2]["messages"]
    assert [one["content"] for one in told if one["role"] == "assistant"][-1] == BERLIN.replace(
        ": ", ":"
    ).replace(", ", ",")


async def test_an_answer_beside_other_calls_waits_for_their_results(home: Path) -> None:
    both = calls("temperature", '{"city": "Berlin"}')
    early = {"index": 1, "id": "z", "function": {"name": OUTPUT_TOOL, "arguments": BERLIN}}
    both.insert(1, {"choices": [{"delta": {"tool_calls": [early]}}]})
    later = '{"city": "Berlin", "degrees": 18}'
    provider = Rounds(both, calls(OUTPUT_TOOL, later))
    async with opened(home, provider, model=PLAIN_MODEL, tools=True) as agent:
        result = await agent.chat("How warm?", output=Weather)
    assert result.output.degrees == 18


async def test_a_turn_that_leaves_calls_to_the_caller_has_no_output_yet(home: Path) -> None:
    provider = Rounds(calls("lookup", "{}"), says(BERLIN))
    async with opened(home, provider, tools=True) as agent:
        first = await agent.chat("How warm?", output=Weather)
        assert (first.stop, first.parsed) == ("calls", ())
        with pytest.raises(OutputInvalid, match="stopped with 'calls'"):
            _ = first.output
        given = {call.call_id: "17 degrees" for call in first.calls}
        result = await agent.chat(results=given, output=Weather)
    assert result.output.degrees == 17


async def test_asked_again_the_answer_has_the_form_it_had(home: Path) -> None:
    provider = Rounds(says(BERLIN), says(BERLIN))
    async with opened(home, provider) as agent:
        await agent.chat("How warm?", output=Weather)
        result = await agent.regenerate()
    assert isinstance(result, TypedResult)
    result = cast("TypedResult[object]", result)
    assert result.output == {"city": "Berlin", "degrees": 17}
    assert provider.sent[0]["response_format"] == provider.sent[1]["response_format"]


@pytest.mark.parametrize("model", [NATIVE_MODEL, PLAIN_MODEL])
async def test_a_stream_gives_the_object_as_far_as_it_has_come(home: Path, model: str) -> None:
    pieces = ('{"city": "Ber', 'lin", "deg', 'rees": 17, "wi', 'nd": 3}')
    given = says(*pieces) if model == NATIVE_MODEL else calls(OUTPUT_TOOL, *pieces)
    async with (
        opened(home, Rounds(given), model=model) as agent,
        agent.stream("How warm?", output=Weather) as answer,
    ):
        told = [delta async for delta in answer if isinstance(delta, OutputDelta)]
    assert [one.data for one in told] == [
        {"city": "Ber"},
        {"city": "Berlin"},
        {"city": "Berlin", "degrees": 17},
        {"city": "Berlin", "degrees": 17, "wind": 3},
    ]
    assert [one.output for one in told] == [
        None,  # a field that has to be there is not
        None,
        Weather(city="Berlin", degrees=17),
        Weather(city="Berlin", degrees=17, wind=3),
    ]
    assert answer.result is not None
    assert answer.result.output.wind == 3


async def test_pieces_of_what_may_be_incomplete_are_of_its_type_from_the_start(home: Path) -> None:
    given = says('{"start": "Ulm", "stops": ["A', 'alen", "Bo', 'pfingen"]}')
    deltas: list[Delta] = []
    async with opened(home, Rounds(given)) as agent:
        await agent.chat("Where?", output=Trip, on_delta=deltas.append)
    outputs = [delta.output for delta in deltas if isinstance(delta, OutputDelta)]
    assert outputs[0] == {"start": "Ulm", "stops": ["A"]}
    assert outputs[-1] == {"start": "Ulm", "stops": ["Aalen", "Bopfingen"]}


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


async def test_a_union_told_apart_by_a_member_can_be_enforced(home: Path) -> None:
    provider = Rounds(says('{"value": {"kind": "dog"}}'))
    animal = Annotated[Cat | Dog, Field(discriminator="kind")]
    async with opened(home, provider) as agent:
        result = await agent.chat("Which?", output=cast("type[Cat | Dog]", animal))
    assert result.output == Dog(kind="dog")
    assert provider.sent[0]["response_format"]["json_schema"]["strict"] is True


class Unsayable:
    """No type that pydantic knows."""


@pytest.mark.parametrize(
    "kind",
    [
        Unsayable,
        {"type": "object", "properties": 3},
        {"type": "object", "properties": {"a": {"$ref": "https://somewhere/else"}}},
        {"type": "array", "items": {"$ref": "#"}},
    ],
    ids=["class", "no-schema", "outside", "itself"],
)
def test_what_cannot_be_a_form_is_refused_before_anybody_is_asked(kind: object) -> None:
    with pytest.raises(BadInput, match="answer"):
        output_form(cast("Any", kind))
