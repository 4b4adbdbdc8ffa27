"""Conversations over HTTP: turns whole and streamed, what is kept of them, whose they are."""

from __future__ import annotations

from tests.rounds import says
from tests.surfaces.api.api_home import PERSONA, ApiClient, ApiHome, events_in

HERE = f"/personas/{PERSONA}"


def test_a_turn_is_answered_recorded_and_found_among_the_messages(
    api: ApiHome, owner: ApiClient
) -> None:
    api.provider.play(says("It is nine."))
    made = owner.post(f"{HERE}/sessions/clock/turns", {"text": "How late is it?"})
    assert made.status_code == 200, made.text
    assert (made.json()["text"], made.json()["stop_reason"]) == ("It is nine.", "answer")
    listed = owner.get(f"{HERE}/sessions/clock/messages").json()
    assert [one["parts"][0]["text"] for one in listed["items"]] == [
        "How late is it?",
        "It is nine.",
    ]
    names = [one["name"] for one in owner.get(f"{HERE}/sessions").json()["items"]]
    assert "clock" in names


def test_a_streamed_turn_tells_its_pieces_and_ends_with_the_whole_turn(
    api: ApiHome, owner: ApiClient
) -> None:
    api.provider.play(says("Yes, gladly."))
    path = f"{HERE}/sessions/streamed/turns"
    made = owner.post(path, {"text": "Tea?"}, accept="text/event-stream")
    assert made.headers["content-type"].startswith("text/event-stream")
    told = events_in(made.text)
    assert [name for name, _ in told] == ["text", "end"]
    assert told[0][1] == {"text": "Yes, gladly."}
    assert told[1][1]["entry"]["index"] >= 0
