"""Agents of other programs over HTTP: their calls explained, read and verified."""

from __future__ import annotations

import io
import json
import zipfile

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
    cost = owner.get("/recorded/bot/cost?by=turn").json()
    assert (cost["agents"], cost["total"]["calls"]) == (["recorded/bot"], 1)
    assert cost == owner.get("/cost?persona=recorded/bot&by=turn").json()
    assert owner.get("/recorded/nobody/cost").status_code == 404
    bundle = owner.get("/recorded/bot/export")
    assert (bundle.status_code, bundle.headers["content-type"]) == (200, "application/zip")
    assert "entries.jsonl" in zipfile.ZipFile(io.BytesIO(bundle.content)).namelist()
    assert owner.get("/recorded/nobody/export").status_code == 404
    guest = api.client("visitor", "read", person="bob")
    for path in (f"calls/{index}/why", f"calls/{index}/body", "verify", "cost", "export"):
        assert guest.get(f"/recorded/bot/{path}").status_code == 403


def test_whoever_may_see_one_persona_sees_its_cost_and_no_other(
    api: ApiHome, owner: ApiClient
) -> None:
    assert owner.post("/personas/ada/sessions/bill/turns", {"text": "Hello"}).status_code == 200
    one = api.client("one", "read", agent="ada")
    told = one.get("/personas/ada/cost?newest=1").json()
    assert [turn["agent"].rpartition("/")[2] for turn in told["turns"]] == ["ada"]
    assert told["total"]["calls"] == 1
    assert one.get("/cost").status_code == 403
    assert one.get("/recorded/bot/cost").status_code == 403
