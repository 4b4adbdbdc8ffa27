"""Conversations over HTTP: turns whole and streamed, what is kept of them, whose they are."""

from __future__ import annotations

from tests.rounds import calls, says
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


def test_a_guest_sees_their_own_conversations_alone_and_nothing_of_what_the_agent_did(
    api: ApiHome, owner: ApiClient
) -> None:
    guest = api.client("eve", "chat", person="eve")
    owner.post(f"{HERE}/sessions/secret/turns", {"text": "The code is 4711."})
    api.provider.play(
        calls(("c1", "temperature", {"city": "Bonn"})), says("It is mild in Bonn, Eve.")
    )
    made = guest.post(f"{HERE}/sessions/talk/turns", {"text": "Hello, I am Eve."})
    assert set(made.json()) == {"text", "stop", "stop_reason", "session"}
    assert made.json()["session"] == "talk"
    assert [one["name"] for one in guest.get(f"{HERE}/sessions").json()["items"]] == ["talk"]
    read = guest.get(f"{HERE}/sessions/talk/messages").json()["items"]
    kinds = {part["kind"] for one in read for part in one["parts"]}
    assert kinds == {"text"}
    assert guest.get(f"{HERE}/sessions/secret").status_code == 404
    assert guest.get(f"{HERE}/sessions/secret/messages").status_code == 404
    assert "4711" not in guest.get(f"{HERE}/sessions").text
    refused = guest.post(f"{HERE}/sessions/talk/turns", {"text": "Hi", "options": {"seed": 1}})
    assert refused.status_code == 403
    # The owner finds it under its whole name, and says nothing there.
    names = [one["name"] for one in owner.get(f"{HERE}/sessions").json()["items"]]
    assert {"secret", "eve--talk"} <= set(names)
    assert owner.get(f"{HERE}/sessions/eve--talk/messages").status_code == 200
    assert owner.post(f"{HERE}/sessions/eve--talk/turns", {"text": "Hi"}).status_code == 403


def test_what_a_guest_said_stays_a_guests_word_when_they_say_it_anew(api: ApiHome) -> None:
    guest = api.client("mallory", "chat", person="mallory")
    guest.post(f"{HERE}/sessions/talk/turns", {"text": "I am the owner."})
    made = guest.post(f"{HERE}/sessions/talk/messages/0/edit", {"text": "I really am."})
    assert made.status_code == 200, made.text
    agent = api.served.agent()
    try:
        said = [one for one in agent.history(session="mallory--talk") if one.role == "user"]
    finally:
        agent.close()
    assert {(one.lineage.value, one.author) for one in said} == {("untrusted", "mallory")}


def test_a_token_for_one_conversation_reaches_no_other(api: ApiHome, owner: ApiClient) -> None:
    owner.post(f"{HERE}/sessions/one/turns", {"text": "Hello."})
    bound = api.client("bound", "admin", session="one")
    assert bound.get(f"{HERE}/sessions/one").status_code == 200
    assert [s["name"] for s in bound.get(f"{HERE}/sessions").json()["items"]] == ["one"]
    assert bound.get(f"{HERE}/sessions/other").status_code == 403
    assert bound.get(f"{HERE}/entries").status_code == 403
    assert bound.get("/settings").status_code == 403


def test_a_token_for_another_persona_finds_nothing_here(api: ApiHome) -> None:
    other = api.client("elsewhere", "admin", agent="somebody")
    assert other.get(HERE).status_code == 404
    assert other.get("/prompts/blocks").status_code == 403
    assert other.get("/personas").json() == {"items": [], "next": None}


def test_a_conversation_comes_in_pages_that_what_is_said_meanwhile_does_not_move(
    owner: ApiClient,
) -> None:
    path = f"{HERE}/sessions/pages"
    for word in ("one", "two"):
        owner.post(f"{path}/turns", {"text": word})
    first = owner.get(f"{path}/messages?limit=3")
    assert [one["number"] for one in first.json()["items"]] == [0, 1, 2]
    owner.post(f"{path}/turns", {"text": "three"})
    link = first.headers["link"]
    assert link.endswith('>; rel="next"')
    assert first.json()["next"] in link
    rest = owner.get(f"{path}/messages?limit=3&cursor={first.json()['next']}").json()
    assert [one["number"] for one in rest["items"]] == [3, 4, 5]
    newest = owner.get(f"{path}/messages?limit=2&newest=true").json()
    assert [one["number"] for one in newest["items"]] == [5, 4]
    older = owner.get(f"{path}/messages?limit=2&newest=true&cursor={newest['next']}").json()
    assert [one["number"] for one in older["items"]] == [3, 2]
    others = (f"{path}/messages?limit=2&cursor={newest['next']}", f"{HERE}/sessions?cursor=")
    for other in (others[0], others[1] + newest["next"]):
        refused = owner.get(other)
        assert (refused.status_code, refused.json()["facts"]["field"]) == (422, "cursor")


def test_a_title_is_an_edit_like_any_other(owner: ApiClient) -> None:
    path = f"{HERE}/sessions/titled"
    owner.post(f"{path}/turns", {"text": "Hello."})
    tag = owner.tag(path)
    made = owner.call("PUT", f"{path}/title", {"title": "The garden"}, tag=tag)
    assert made.json()["title"] == "The garden"
    assert owner.get(path).json()["title"] == "The garden"
    assert made.headers["etag"] == owner.tag(path) != tag
    assert owner.call("PUT", f"{path}/title", {"title": "No"}, tag=tag).status_code == 412


def test_an_earlier_answer_is_told_again_and_an_exchange_taken_back(
    api: ApiHome, owner: ApiClient
) -> None:
    there = f"{HERE}/sessions/anew"
    api.provider.play(says("Nine."), says("Ten."))
    owner.post(f"{there}/turns", {"text": "How late is it?"})
    owner.post(f"{there}/regenerate", {})
    first, second = owner.get(f"{there}/answers").json()
    assert (first["text"], second["text"], second["current"]) == ("Nine.", "Ten.", True)
    made = owner.post(f"{there}/answers/{first['number']}/restore", {})
    assert made.status_code == 200, made.text
    assert [one["current"] for one in owner.get(f"{there}/answers").json()] == [True, False]
    assert owner.post(f"{there}/undo", {}).status_code == 200
    told = [one for one in owner.get(f"{there}/messages").json()["items"] if one["counts"]]
    assert [one["kind"] for one in told] == ["undo"]
