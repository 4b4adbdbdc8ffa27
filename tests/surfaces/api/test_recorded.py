"""Agents of other programs over HTTP: their calls explained, read and verified."""

from __future__ import annotations

import json

from tests.recorder.foreign import anthropic_call, user
from tests.surfaces.api.api_home import ApiClient, ApiHome

from mentis.recorder.recording import open_recording


def test_a_recorded_call_is_explained_read_and_verified_over_http(
    api: ApiHome, owner: ApiClient
) -> None:
    told = list[str]()
    with open_recording(api.home, "bot", tell=told.append) as recording:
        recording.offer(anthropic_call({"messages": [user("Is it warm?")]}))
    assert told == []
    (row,) = owner.get("/recorded").json()
    assert row["name"] == "bot"
    (session,) = owner.get("/recorded/bot/sessions").json()
    listed = owner.get(f"/recorded/bot/sessions/{session['name']}").json()["items"]
    index = listed[0]["entry"]
    why = owner.get(f"/recorded/bot/calls/{index}/why").json()
    assert [piece["pointer"] for piece in why["pieces"]] == ["/messages/0"]
    sent = owner.get(f"/recorded/bot/calls/{index}/body")
    assert json.loads(sent.content)["messages"] == [user("Is it warm?")]
    assert owner.get("/recorded/bot/verify").json()["intact"] is True
    assert owner.get("/recorded/bot/calls/99/why").status_code == 404
    assert owner.get("/recorded/nobody/calls/0/why").status_code == 404
    guest = api.client("visitor", "read", person="bob")
    for path in (f"calls/{index}/why", f"calls/{index}/body", "verify"):
        assert guest.get(f"/recorded/bot/{path}").status_code == 403
