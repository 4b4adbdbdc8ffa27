"""What an answer hangs on, over HTTP: the price first, then the ranking."""

from __future__ import annotations

from tests.rounds import says
from tests.surfaces.api.api_home import PERSONA, ApiHome

TURNS = f"/personas/{PERSONA}/sessions/cause/turns"


def test_the_price_is_told_first_and_nothing_is_asked_before_somebody_agrees(api: ApiHome) -> None:
    owner, reader = api.client("asker"), api.client("looker", "read")
    api.provider.play(says("Good morning."))
    entry = owner.post(TURNS, {"text": "Hello"}).json()["entry"]["index"]
    path = f"/personas/{PERSONA}/entries/{entry}/cause"
    plan = reader.get(f"{path}?samples=1&blocks=2").json()
    assert (plan["method"], plan["calls"], plan["most_usd"], plan["free"]) == (
        "overlap",
        3,
        None,
        False,
    )
    assert len(plan["units"]) == 2
    asked = len(api.provider.sent)
    refused = owner.post(path, {"samples": 1, "blocks": 2})
    assert (refused.status_code, refused.headers["content-type"]) == (
        402,
        "application/problem+json",
    )
    assert refused.json()["facts"]["calls"] == 3
    assert owner.post(path, {"samples": 1, "blocks": 2, "max_usd": 5}).status_code == 402
    assert reader.post(path, {"confirm": True}).status_code == 403
    assert len(api.provider.sent) == asked
    found = owner.post(path, {"samples": 1, "blocks": 2, "confirm": True})
    assert found.status_code == 200
    assert [one["fall"] for one in found.json()["causes"]] == [0, 0]
    assert len(api.provider.sent) == asked + 3
