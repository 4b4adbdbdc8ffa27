"""A Python function is an act: told by its signature and words, and never more than an outcome."""

from __future__ import annotations

import dataclasses
import functools
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, cast
from uuid import UUID

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from pydantic import AfterValidator, BaseModel, Field
from typing_extensions import TypedDict

from mentis.act.doing import do
from mentis.act.functions import FunctionAct, act
from mentis.act.registry import Registry
from mentis.act.returned import text_of
from mentis.act.threads import MOST_LEFT
from mentis.errors import ActFailed, BadInput, Defect, HomeMissing, StoreDown
from mentis.values.act import ActCall
from mentis.values.action import Action, Outcome
from mentis.values.trust import Trust

pytestmark = pytest.mark.anyio


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Person(BaseModel):
    name: str
    title: str = ""


UNSAYABLE = object()


class Options(TypedDict, total=False):
    width: float


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
    ),
    max_leaves=8,
)


def call(**payload: object) -> ActCall:
    return ActCall(Action("it", payload), "key-1", session="main")


async def outcome_of(function: Callable[..., object], **payload: object) -> Outcome:
    if isinstance(function, FunctionAct):
        return await function.handle(call(**payload))
    return await act(description="Does.")(function).handle(call(**payload))


@act(scope="agent", external_effects=True, idempotent=True, timeout_seconds=3, endpoint="wall")
def paint(  # noqa: PLR0917  # as many as there are kinds of types
    colour: Colour,
    where: Point,
    who: Person,
    call: ActCall,
    size: Literal["s", "l"] = "s",
    options: Options | None = None,
    tags: Annotated[list[str], "Words to find it by."] = [],  # noqa: B006
    times: Annotated[int, Field(ge=1, description="How often.")] = 1,
    until: datetime | None = None,
    data: dict[str, int] | None = None,
    title: str = "none",
    odd: int = cast("int", UNSAYABLE),
) -> object:
    """Paint something
    on a wall.

    Args:
        colour: Which colour.
        times: Not told: the annotation says it.
        call: Not told at all.
    """
    return {"colour": colour, "where": where, "who": who, "until": until, "key": call.key}


def test_the_declaration_is_made_of_signature_and_docstring() -> None:
    spec = paint.spec
    assert (spec.name, spec.scope, spec.endpoint, spec.timeout_seconds, spec.source) == (
        "paint",
        "agent",
        "wall",
        3,
        "python",
    )
    assert spec.declaration.external_effects
    assert spec.declaration.idempotent
    assert spec.declaration.description == "Paint something on a wall."
    assert spec.declaration.parameters == snapshot(
        {
            "$defs": {
                "Colour": {"enum": ["red", "blue"], "type": "string"},
                "Options": {
                    "additionalProperties": False,
                    "properties": {"width": {"type": "number"}},
                    "type": "object",
                },
                "Person": {
                    "properties": {
                        "name": {"type": "string"},
                        "title": {"default": "", "type": "string"},
                    },
                    "required": ["name"],
                    "type": "object",
                },
                "Point": {
                    "additionalProperties": False,
                    "properties": {
                        "x": {"type": "integer"},
                        "y": {"default": 0, "type": "integer"},
                    },
                    "required": ["x"],
                    "type": "object",
                },
            },
            "additionalProperties": False,
            "properties": {
                "colour": {"$ref": "#/$defs/Colour", "description": "Which colour."},
                "where": {"$ref": "#/$defs/Point"},
                "who": {"$ref": "#/$defs/Person"},
                "size": {"enum": ["s", "l"], "type": "string", "default": "s"},
                "options": {"anyOf": [{"$ref": "#/$defs/Options"}, {"type": "null"}]},
                "tags": {
                    "description": "Words to find it by.",
                    "items": {"type": "string"},
                    "type": "array",
                    "default": [],
                },
                "times": {
                    "description": "How often.",
                    "minimum": 1,
                    "type": "integer",
                    "default": 1,
                },
                "until": {"anyOf": [{"format": "date-time", "type": "string"}, {"type": "null"}]},
                "data": {
                    "anyOf": [
                        {"additionalProperties": {"type": "integer"}, "type": "object"},
                        {"type": "null"},
                    ]
                },
                "title": {"type": "string", "default": "none"},
                "odd": {"type": "integer"},
            },
            "required": ["colour", "where", "who"],
            "type": "object",
        }
    )
    assert Registry([paint]).handler("paint") is paint


def test_a_function_stays_callable_as_it_was() -> None:
    @act
    def add(a: int, b: int = 2) -> int:
        """Add two numbers."""
        return a + b

    assert add(1) == 3
    assert add.spec.name == "add"
    assert add.__doc__ == "Add two numbers."


async def test_arguments_are_what_the_types_say_and_the_call_is_given() -> None:
    outcome = await paint.handle(
        call(colour="red", where={"x": 1}, who={"name": "Ada"}, until="2026-01-02T00:00:00Z")
    )
    assert outcome == Outcome(
        outcome.action,
        "done",
        text='{"colour": "red", "where": {"x": 1, "y": 0}, "who": {"name": "Ada", "title": ""}, '
        '"until": "2026-01-02T00:00:00Z", "key": "key-1"}',
        key="key-1",
        source="python",
    )


async def test_what_only_the_types_know_is_still_checked_and_told_to_the_model() -> None:
    def even(value: int) -> int:
        if value % 2:
            raise ValueError("is odd")
        return value

    @act(description="Halves.")
    def halve(number: Annotated[int, AfterValidator(even)]) -> int:
        return number // 2

    assert (await outcome_of(halve, number=4)).text == "2"
    refused = await outcome_of(halve, number=3)
    assert (refused.state, refused.reason) == ("invalid", "number: Value error, is odd")
    extra = await outcome_of(halve, number=2, other=1)
    assert (extra.state, extra.reason) == ("invalid", "other: Extra inputs are not permitted")


async def test_async_functions_methods_partials_and_callable_objects_are_acts_too() -> None:
    async def later(word: str) -> str:
        await anyio.lowlevel.checkpoint()
        return word * 2

    async def several(word: str, times: int) -> str:
        return word * times

    class Voice:
        def say(self, word: str) -> str:
            return f"{word}!"

        async def __call__(self, word: str) -> str:
            return f"{word}?"

    assert (await outcome_of(later, word="a")).text == "aa"
    assert (await outcome_of(Voice().say, word="a")).text == "a!"
    named = act(name="ask", description="Asks.")(Voice())
    assert (await named.handle(call(word="a"))).text == "a?"
    part = act(name="part", description="Partly.")(functools.partial(several, times=3))
    assert (await part.handle(call(word="b"))).text == "bbb"


def without_type(a, b: int) -> None:  # noqa: ANN001  # pyright: ignore[reportMissingParameterType, reportUnknownParameterType]  # what is refused
    """Do it."""


def many(*numbers: int) -> None:
    """Do it."""


def loose(**numbers: int) -> None:
    """Do it."""


def placed(a: int, /) -> None:
    """Do it."""


def no_words(a: int) -> None: ...


def unknown_name(a: Nowhere) -> None:  # noqa: F821  # pyright: ignore[reportUndefinedVariable, reportUnknownParameterType]  # what is refused
    """Do it."""


class NoSchema:
    """What pydantic knows nothing of."""


def no_type_of_json(a: NoSchema) -> None:
    """Do it."""


def no_json(a: Callable[[], int]) -> None:
    """Do it."""


REFUSED: list[tuple[Callable[..., object], str]] = [
    (without_type, "parameter 'a' of without_type has no type"),
    (many, r"takes \*numbers"),
    (loose, r"takes \*\*numbers"),
    (placed, "takes a: 'int'"),
    (no_words, "no_words has no description"),
    (lambda: None, "has no name"),
    (unknown_name, "Nowhere"),
    (no_type_of_json, "no JSON Schema can be made"),
    (no_json, "no JSON Schema can be made"),
]


@pytest.mark.parametrize(("function", "why"), REFUSED)
def test_a_function_a_model_could_not_call_is_refused_at_once(
    function: Callable[..., object], why: str
) -> None:
    with pytest.raises(BadInput, match=why):
        act(function)


@pytest.mark.parametrize(
    "options",
    [
        {"timeout_seconds": "10"},
        {"concurrency": "4"},
        {"concurrency": 1.5},
        {"external_effects": "no"},
        {"idempotent": 1},
        {"endpoint": 5},
        {"name": 5},
        {"description": 5},
        {"modes": 5},
        {"modes": "chat"},
    ],
    ids=repr,
)
def test_an_option_of_the_wrong_type_is_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=f"{next(iter(options))} is "):
        act(**options)(no_options)


def no_options() -> None:
    """Does nothing."""


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (None, ""),
        ("as it is", "as it is"),
        (3, "3"),
        ({"a": [1, None, True]}, '{"a": [1, null, true]}'),
        ((Point(1), Colour.RED), '[{"x": 1, "y": 0}, "red"]'),
        (UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (datetime(2026, 1, 1, tzinfo=UTC), '"2026-01-01T00:00:00Z"'),
        (Path("a/b"), '"a/b"'),
        ({1}, "[1]"),
        (Action("a", {}), '{"type": "a", "payload": {}, "origin": "native", "call_id": ""}'),
        ("Größe".encode(), "Größe"),
        (b"\xff\x00", '{"bytes": 2, "base64": "/wA="}'),
    ],
)
async def test_a_result_is_text(result: object, text: str) -> None:
    outcome = await outcome_of(lambda_with(result))
    assert (outcome.state, outcome.text) == ("done", text)


def lambda_with(result: object) -> Callable[[], object]:
    def give() -> object:
        return result

    return give


def in_a_circle() -> list[object]:
    found: list[object] = []
    found.append(found)
    return found


def too_deep() -> list[object]:
    found: list[object] = []
    for _ in range(100_000):
        found = [found]
    return found


def numbers() -> Iterator[int]:
    while True:
        yield 1


async def coroutine() -> None: ...


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (lambda: float("nan"), "not JSON compliant"),
        (lambda: {"a": [float("-inf")]}, "not JSON compliant"),
        (in_a_circle, "Circular"),
        (too_deep, "nested too deeply"),
        (object, "object has no JSON form"),
        (lambda: {"a": b"x"}, "bytes inside"),
        (lambda: {(1, 2): 3}, "keys must be"),
        (lambda: "\ud800", "surrogate"),
        (lambda: ["\ud800"], "surrogate"),
        (numbers, "a generator is not a result"),
        (coroutine, "a coroutine is not a result"),
    ],
)
async def test_a_result_without_a_text_is_a_crash_with_its_reason(
    result: Callable[[], object], why: str
) -> None:
    def give() -> object:
        return result()

    outcome = await outcome_of(give)
    assert (outcome.state, outcome.text) == ("crashed", "")
    assert why in outcome.reason


@given(JSON)
def test_what_json_can_say_comes_back_as_it_was(value: object) -> None:
    text = text_of(value)
    assert value == (text if isinstance(value, str) else json.loads(text or "null"))


async def test_an_outcome_of_its_own_keeps_its_words_but_not_a_trust_it_gave_itself() -> None:
    given = Outcome(Action("other", {}), "refused", reason="no", trust=Trust.OWNER, source="me")
    outcome = await outcome_of(lambda_with(given))
    expected = Outcome(outcome.action, "refused", reason="no", key="key-1", source="python")
    assert outcome == expected
    assert outcome.action.type == "it"


class Wordless(Exception):
    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize("waits", [False, True], ids=["in a thread", "async"])
@pytest.mark.parametrize(
    ("error", "state", "reason"),
    [
        (ZeroDivisionError("by zero"), "crashed", "ZeroDivisionError: by zero"),
        (ActFailed("the printer is off"), "unavailable", "the printer is off"),
        (ActFailed("not on Sundays", state="refused"), "refused", "not on Sundays"),
        (
            ActFailed("no", state=cast("Any", "done")),
            "crashed",
            "no (with 'done', no failure's state)",
        ),
        (BadInput("no such day"), "invalid", "no such day"),
        (HomeMissing("no home"), "refused", "no home"),
        (StoreDown("it is down"), "unavailable", "it is down"),
        (Defect("odd"), "crashed", "defect: odd"),
        (SystemExit(3), "crashed", "SystemExit: 3"),
        (Wordless(), "crashed", "Wordless"),
        (ValueError("x" * 5000), "crashed", f"ValueError: {'x' * 1988}…"),
        (ValueError("\ud800"), "crashed", "ValueError: \\ud800"),
    ],
)
async def test_what_a_function_raises_is_an_outcome(
    error: BaseException, state: str, reason: str, *, waits: bool
) -> None:
    def fail() -> None:
        raise error

    async def fail_later() -> None:
        raise error

    outcome = await outcome_of(fail_later if waits else fail)
    assert (outcome.state, outcome.reason, outcome.text) == (state, reason, "")


async def test_what_a_function_prints_goes_to_the_log_and_not_to_standard_output(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    began, go_on = threading.Event(), threading.Event()

    def talk() -> str:
        print("from the thread")  # noqa: T201
        sys.stdout.write("x" * 10_000)
        sys.stdout.flush()
        print("after", sys.stdout.encoding, file=sys.stdout)  # noqa: T201
        assert sys.stdout.writable()
        sys.stdout.close()
        began.set()
        go_on.wait(20)
        return str(sys.stdout.isatty())

    async def chat() -> None:
        print("from the task")  # noqa: T201

    real = sys.stdout
    with caplog.at_level(logging.INFO, "mentis.act"):
        async with anyio.create_task_group() as group:
            group.start_soon(outcome_of, act(name="talk", description="Talks.")(talk))
            await anyio.to_thread.run_sync(began.wait)
            print("beside it", flush=True)  # noqa: T201
            await outcome_of(act(name="chat", description="Talks.")(chat))
            go_on.set()
    assert sys.stdout is real
    assert capsys.readouterr().out == "beside it\n"
    assert "act chat printed: from the task" in caplog.text
    assert "act talk printed: from the thread\nxxx" in caplog.text
    assert "characters more" in caplog.text


async def test_a_function_that_never_returns_is_left_behind_and_takes_no_place_from_others() -> (
    None
):
    let_go = threading.Event()
    started = threading.Semaphore(0)

    def ever() -> None:
        started.release()
        let_go.wait(60)

    stuck = act(name="ever", description="Never ends.")(ever)
    for _ in range(MOST_LEFT):
        async with anyio.create_task_group() as group:
            group.start_soon(stuck.handle, call())
            await anyio.to_thread.run_sync(started.acquire)
            group.cancel_scope.cancel()
    refused = await stuck.handle(call())
    assert refused.state == "unavailable"
    assert refused.reason == f"{MOST_LEFT} calls of ever were cut off and are still running"
    assert (await outcome_of(lambda_with("fine"))).text == "fine"
    let_go.set()
    with anyio.fail_after(20):
        while (await stuck.handle(call())).state != "done":
            await anyio.lowlevel.checkpoint()


async def test_what_never_returns_ends_as_a_timeout_once_its_time_is_over() -> None:
    let_go = threading.Event()

    def ever() -> None:
        let_go.wait(60)

    stuck = act(description="Never ends.", timeout_seconds=0.02)(ever)
    outcome = await do(stuck, call(), stuck.spec)
    assert outcome.state == "timeout"
    let_go.set()


async def test_a_thousand_calls_at_once_all_have_their_outcome() -> None:
    def double(number: int) -> int:
        return number * 2

    doubled = act(description="Doubles.")(double)
    outcomes: dict[int, Outcome] = {}

    async def one(number: int) -> None:
        outcomes[number] = await doubled.handle(call(number=number))

    async with anyio.create_task_group() as group:
        for number in range(1000):
            group.start_soon(one, number)
    assert {number: outcome.text for number, outcome in outcomes.items()} == {
        number: str(number * 2) for number in range(1000)
    }


HANGS = """
import anyio, time
from mentis.act.functions import act
from mentis.values.act import ActCall
from mentis.values.action import Action

@act
def ever() -> None:
    "Never ends."
    time.sleep(3600)

async def main() -> None:
    with anyio.move_on_after(0.05) as scope:
        await ever.handle(ActCall(Action("ever", {}), "k"))
    print(scope.cancelled_caught)

anyio.run(main)
"""


def test_a_function_that_never_returns_does_not_keep_the_process_from_ending() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_making_a_registry_of_plain_handlers_loads_no_pydantic() -> None:
    code = "import sys, mentis.act.functions, mentis.act.registry; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_types_of_the_function_around_it_may_be_named() -> None:
    @dataclasses.dataclass
    class Inner:
        a: int

    @act
    def take(inner: Inner) -> int:
        """Take it."""
        return inner.a

    properties: Any = take.spec.declaration.parameters["properties"]
    assert properties == {"inner": {"$ref": "#/$defs/Inner"}}
