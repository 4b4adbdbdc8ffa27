from __future__ import annotations

import pytest

from mentis.act.dispatch import dispatch
from mentis.ports.act_handler import RecordingHandler
from mentis.values.action import Action, Outcome
from mentis.values.tool import ToolDeclaration

pytestmark = pytest.mark.anyio


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
