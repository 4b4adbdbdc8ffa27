from __future__ import annotations

from typing import cast

import anyio
import pytest

from mentis.act.dispatch import dispatch as dispatch_into
from mentis.ports.act_handler import RecordingHandler
from mentis.values.action import Action, Outcome
from mentis.values.block import Mode
from mentis.values.tool import ToolDeclaration

pytestmark = pytest.mark.anyio


async def dispatch(
    actions: list[Action], handlers: dict[str, RecordingHandler], *, mode: Mode
) -> list[Outcome]:
    outcomes: list[Outcome] = []
    await dispatch_into(actions, handlers, mode=mode, outcomes=outcomes)
    return outcomes


class Crashing(RecordingHandler):
    async def handle(self, action: Action) -> Outcome:
        raise ZeroDivisionError("by zero")


async def test_actions_run_in_their_order_and_each_has_an_outcome() -> None:
    handler = RecordingHandler(ToolDeclaration("note", "takes a note"), "noted")
    actions = [Action("note", {"n": 1}), Action("fly", {}), Action("note", {"n": 2})]
    outcomes = await dispatch(actions, {"note": handler}, mode="chat")
    assert [outcome.state for outcome in outcomes] == ["done", "not_found", "done"]
    assert handler.handled == [actions[0], actions[2]]
    assert outcomes[1].reason == "nothing here does 'fly'"


async def test_a_handler_that_raises_is_an_outcome_and_the_next_action_still_runs() -> None:
    crashing = Crashing(ToolDeclaration("crash", "raises"))
    calm = RecordingHandler(ToolDeclaration("note", "takes a note"))
    actions = [Action("crash", {}), Action("note", {})]
    outcomes = await dispatch(actions, {"crash": crashing, "note": calm}, mode="chat")
    assert [outcome.state for outcome in outcomes] == ["crashed", "done"]
    assert outcomes[0].reason == "ZeroDivisionError: by zero"


@pytest.mark.parametrize(
    ("mode", "name", "state"),
    [
        ("delivery", "note", "refused"),
        ("delivery", "message_web", "done"),
        ("beat", "message_web", "refused"),
        ("beat", "note", "done"),
        ("live", "message_web", "done"),
    ],
)
async def test_the_gate_knows_what_each_mode_allows(mode: str, name: str, state: str) -> None:
    handler = RecordingHandler(ToolDeclaration(name, "does it"))
    (outcome,) = await dispatch([Action(name, {})], {name: handler}, mode=mode)  # pyright: ignore[reportArgumentType]  # parametrised
    assert outcome.state == state
    assert bool(handler.handled) == (state == "done")


class Odd(RecordingHandler):
    """Answers with something that is no outcome, or one that cannot be recorded."""

    def __init__(self, answer: object) -> None:
        super().__init__(ToolDeclaration("odd", "answers oddly"))
        self._odd = answer

    async def handle(self, action: Action) -> Outcome:
        return cast("Outcome", self._odd)


@pytest.mark.parametrize("answer", [None, Outcome(Action("odd", {}), "done", text="\ud800")])
async def test_an_answer_that_cannot_be_recorded_is_a_crash(answer: object) -> None:
    (outcome,) = await dispatch([Action("odd", {})], {"odd": Odd(answer)}, mode="chat")
    assert outcome.state == "crashed"


class Waiting(RecordingHandler):
    async def handle(self, action: Action) -> Outcome:
        await anyio.sleep_forever()
        raise AssertionError


async def test_what_was_done_before_a_cancellation_stays_and_the_rest_is_unknown() -> None:
    note = RecordingHandler(ToolDeclaration("note", "takes a note"))
    wait = Waiting(ToolDeclaration("wait", "waits"))
    outcomes: list[Outcome] = []
    with anyio.CancelScope(deadline=anyio.current_time()) as scope:
        await dispatch_into(
            [Action("note", {}), Action("wait", {}), Action("note", {})],
            {"note": note, "wait": wait},
            mode="chat",
            outcomes=outcomes,
        )
    assert scope.cancelled_caught
    assert [outcome.state for outcome in outcomes] == ["done", "unknown"]
