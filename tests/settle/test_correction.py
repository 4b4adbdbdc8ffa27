"""When something failed: what is asked for again, and when nothing is."""

from __future__ import annotations

import json
import re

import pytest

from mentis.library.load import load_shipped
from mentis.settle.correction import (
    AskedMessage,
    Attempts,
    Correction,
    Failure,
    Stop,
    failures_of,
    plan_correction,
    without_repeats,
)
from mentis.settle.readers import read_all, reader_for
from mentis.values.action import Action, Outcome
from mentis.values.reply import Reply, ReplyProblem
from mentis.values.tool import ToolDeclaration

SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
SEND = ToolDeclaration("send", "Send it.", SCHEMA)
LOOK = ToolDeclaration("look", "Look.")
ASKED = AskedMessage("Tell Bo and Cy.", (SEND, LOOK))
FIRST = Action("send", {"to": "Bo"}, call_id="c1")
SECOND = Action("send", {"tu": "Cy"}, call_id="c2")
REPLY = Reply("Sending.", "tool_use", (FIRST, SECOND))
OUTCOMES = (Outcome(FIRST, "done"), Outcome(SECOND, "invalid", reason="'to' is missing"))


def plan(
    reply: Reply = REPLY, *failures: Failure, budget: int = 3, calls: int = 1
) -> Correction | Stop:
    attempts = Attempts(budget, calls)
    return plan_correction(
        reply, failures or failures_of(reply, OUTCOMES), asked=ASKED, attempts=attempts
    )


def correction(planned: Correction | Stop) -> Correction:
    assert isinstance(planned, Correction)
    return planned


def test_only_the_call_that_failed_is_asked_for_though_another_has_the_same_type() -> None:
    planned = correction(plan())
    assert planned.block == "correction_partial"
    assert planned.done == (FIRST,)
    assert [failure.call_id for failure in planned.failed] == ["c2"]
    assert planned.values == {
        "original_message": "Tell Bo and Cy.",
        "previous_reply": 'Sending.\nsend {"to":"Bo"}\nsend {"tu":"Cy"}',
        "failures": ("send: 'to' is missing",),
        "already_done": ('send {"to":"Bo"}',),
        "allowed_actions": ("send", "look"),
        "action_schema": f"send: {json.dumps(SCHEMA)}",
        "decoder_hint": "",
    }


def test_when_nothing_was_done_the_whole_answer_is_asked_for() -> None:
    reply = Reply("", "tool_use", (SECOND,))
    planned = correction(plan(reply, Failure("action", "no", "c2", "send")))
    assert (planned.block, planned.done) == ("correction", ())


def test_an_answer_that_is_not_json_is_corrected_with_the_place_where_it_broke() -> None:
    reply = read_all(reader_for("text", tools=[SEND]), ['{"actions": [}'])
    planned = correction(plan(reply, *failures_of(reply, ())))
    assert planned.block == "correction_json"
    assert "line 1, column 14" in str(planned.values["decoder_hint"])


def test_broken_arguments_bring_the_schema_of_the_tool_and_the_raw_text() -> None:
    error = ReplyProblem("bad-arguments", "arguments of 'send': not JSON", '{"to"', "c9", "send")
    reply = Reply("", "tool_use", errors=(error,))
    planned = correction(plan(reply, *failures_of(reply, ())))
    assert planned.block == "correction"
    assert planned.values["previous_reply"] == 'send {"to"'
    assert str(planned.values["action_schema"]).startswith("send: ")


def test_a_broken_rule_goes_through_the_same_plan() -> None:
    reply = Reply("Window.", "end", (FIRST,))
    planned = correction(plan(reply, Failure("rule", "the goal is empty")))
    assert (planned.block, planned.values["failures"]) == ("correction", ("the goal is empty",))


def test_only_allowed_names_are_offered_again() -> None:
    asked = AskedMessage("x", (SEND, LOOK), allowed=("look",))
    failure = Failure("action", "not here", "c2", "send")
    planned = plan_correction(REPLY, [failure], asked=asked, attempts=Attempts(3))
    assert correction(planned).values["allowed_actions"] == ("look",)
    assert correction(planned).values["action_schema"] == ""


def test_every_call_of_the_model_counts_against_one_budget() -> None:
    attempts = Attempts(3)
    texts = iter(("a", "b", "c", "d"))
    made = 1
    while True:
        reply = Reply(next(texts), "end", (SECOND,))
        planned = plan_correction(
            reply, [Failure("action", "no", "c2", "send")], asked=ASKED, attempts=attempts
        )
        if isinstance(planned, Stop):
            break
        attempts, made = planned.attempts, made + 1
    assert (planned.reason, made) == ("budget", 3)


def test_the_same_answer_twice_stops_whatever_its_call_ids() -> None:
    first = correction(plan())
    again = Reply("Sending.", "tool_use", (FIRST, Action("send", {"tu": "Cy"}, call_id="new")))
    planned = plan_correction(
        again, [Failure("action", "no", "new", "send")], asked=ASKED, attempts=first.attempts
    )
    assert planned == Stop("same-answer", (Failure("action", "no", "new", "send"),))


@pytest.mark.parametrize("state", ["refused", "timeout", "crashed", "unavailable", "unknown"])
def test_what_the_model_cannot_mend_is_not_asked_for(state: str) -> None:
    outcome = Outcome(SECOND, state, reason="no")  # pyright: ignore[reportArgumentType]  # one of its words
    planned = plan(REPLY, *failures_of(REPLY, (outcome,)))
    assert isinstance(planned, Stop)
    assert planned.reason == "not-fixable"


def test_what_cannot_be_mended_is_neither_done_nor_asked_for_beside_what_can() -> None:
    third = Action("look", {}, call_id="c3")
    reply = Reply("", "tool_use", (FIRST, SECOND, third))
    planned = correction(plan(reply, *failures_of(reply, (*OUTCOMES, Outcome(third, "refused")))))
    assert planned.done == (FIRST,)
    assert [failure.call_id for failure in planned.failed] == ["c2"]


@pytest.mark.parametrize(
    ("reply", "failures", "reason"),
    [
        (REPLY, (), "nothing-failed"),
        (Reply("", "interrupted"), (Failure("json", "x"),), "broken"),
        (Reply("", "error"), (Failure("json", "x"),), "broken"),
    ],
)
def test_reasons_to_stop(reply: Reply, failures: tuple[Failure, ...], reason: str) -> None:
    planned = plan_correction(reply, failures, asked=ASKED, attempts=Attempts(3))
    assert isinstance(planned, Stop)
    assert planned.reason == reason


def test_a_blocked_answer_is_a_failure_that_nobody_asks_again_about() -> None:
    reply = read_all(reader_for("text", tools=[SEND]), ['{"system_message": "x"}'])
    planned = plan_correction(reply, failures_of(reply, ()), asked=ASKED, attempts=Attempts(3))
    assert isinstance(planned, Stop)
    assert planned.reason == "not-fixable"


def test_a_corrected_answer_that_repeats_what_was_done_loses_exactly_that() -> None:
    fixed = Action("send", {"to": "Cy"}, call_id="d2")
    again = Action("send", {"to": "Bo"}, call_id="d1")
    reply = without_repeats(Reply("", "tool_use", (again, fixed, again)), (FIRST,))
    assert reply.actions == (fixed, again)
    assert [(note.code, note.call_id) for note in reply.notes] == [("already-done", "d1")]


def test_the_shipped_blocks_get_a_value_for_each_of_their_placeholders() -> None:
    library = load_shipped()
    given = correction(plan()).values
    for name in ("correction", "correction_partial", "correction_json"):
        block = library.block(name)
        assert block is not None
        used = re.findall(r"\{\{(\w+)\}\}", block.variants["default"].content)
        assert used
        assert set(used) <= set(given)
