"""Comparing over HTTP: the price first, then both sides counted."""

from __future__ import annotations

from tests.rounds import says
from tests.surfaces.api.api_home import PERSONA, ApiHome

PATH = f"/personas/{PERSONA}/compare"
BODY = {
    "messages": [{"message": "Who are you?", "contains": "Ada"}, "Tell me a colour."],
    "b": {"blocks": {"style": "Be brief."}},
}


def test_the_price_is_told_first_and_nobody_is_asked_before_a_yes(api: ApiHome) -> None:
    owner, reader = api.client("comparer"), api.client("onlooker", "read")
    asked = len(api.provider.sent)
    plan = reader.post(f"{PATH}/plan", BODY).json()
    assert (plan["calls"], plan["free"], plan["most_usd"]) == (4, False, None)
    assert [one["label"] for one in plan["planned"]] == ["as it is", "block style"]
    assert "+Be brief." in plan["differences"][0]["diff"]
    refused = owner.post(PATH, BODY)
    assert (refused.status_code, refused.json()["facts"]["calls"]) == (402, 4)
    assert reader.post(PATH, {**BODY, "confirm": True}).status_code == 403
    assert len(api.provider.sent) == asked
    api.provider.play(says("I am Ada."), says("Red."), says("Nobody."), says("Blue."))
    found = owner.post(PATH, {**BODY, "confirm": True}).json()
    assert [(one["passed"], one["total"]) for one in found["sides"]] == [(1, 1), (0, 1)]
    assert found["cases"][0]["sides"][1]["answers"][0]["faults"] == ["does not contain 'Ada'"]
    assert found["winner"] == "", "one answer each tells nothing"
    assert len(api.provider.sent) == asked + 4


def test_nobody_names_a_function_or_a_file_of_the_machine_from_elsewhere(api: ApiHome) -> None:
    owner = api.client("comparer2")
    own = {"messages": [{"message": "Hi", "function": "polite"}]}
    assert owner.post(f"{PATH}/plan", own).status_code == 422
    files = {"messages": ["Hi"], "b": {"prompts": "/etc"}}
    assert owner.post(f"{PATH}/plan", files).status_code == 422
    unknown = {"messages": ["Hi"], "b": {"blocks": {"nosuch": "x"}}}
    assert owner.post(f"{PATH}/plan", unknown).status_code == 422
