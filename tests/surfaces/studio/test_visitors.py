"""Whoever else comes to the studio: people whom the owner trusts, and texts that are torn."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

import pytest
from tests.recorder.foreign import anthropic_call, user
from tests.rounds import says
from tests.surfaces.studio.studio_home import PERSONA, BrowserTab, StudioHome

from mentis.recorder.recording import open_recording

API = f"/mentis/v1/personas/{PERSONA}/sessions"
TALK = f"/studio/talk/{PERSONA}"


@pytest.fixture(scope="module")
def ann(studio: StudioHome) -> BrowserTab:
    """Somebody with a token of her own, whose words count as the owner's."""
    secret = studio.served.new_token("anns", scope="chat", person="ann")
    studio.served.tokens.set_person("ann", name="Ann", trust="owner")
    tab = studio.tab()
    assert tab.enter(secret).status_code == 200
    assert tab.write().status_code == 303
    return tab


def test_a_person_begins_talks_of_their_own_and_goes_on_with_them(
    studio: StudioHome, ann: BrowserTab
) -> None:
    fresh = ann.get(f"{TALK}.json").json()["fresh"]
    page = ann.get(f"{TALK}/{fresh}")
    assert page.status_code == 200
    assert f'data-session="{fresh}"' in page.text
    studio.provider.play(says("Hello Ann."))
    assert ann.post(f"{API}/{fresh}/turns", json={"text": "I am Ann"}).status_code == 200
    assert "Hello Ann." in ann.get(f"{TALK}/{fresh}").text
    (row,) = ann.get(f"{TALK}.json").json()["personas"][0]["sessions"]
    assert row["name"] == fresh
    (beside,) = ann.get(f"{TALK}/{fresh}.json").json()["sessions"]
    assert beside["name"] == fresh
    places = ann.get("/studio/jump.json?q=I+am+Ann").json()["places"]
    assert f"{TALK}/{fresh}" in [one["path"] for one in places]
    made = ann.post(f"{TALK}/{fresh}/branch", json={"number": 1})
    assert made.status_code == 201
    assert "I am Ann" in ann.get(made.json()["path"]).text
    assert "I am Ann" not in studio.owner().get(TALK).text


def test_half_a_surrogate_pair_is_shown_as_a_mark(studio: StudioHome) -> None:
    body = {"system": "a torn \ud83d sign", "messages": [user("hi \udc00")]}
    with open_recording(studio.served.home, "torn", tell=lambda _line: None) as recording:
        recording.offer(anthropic_call(body, written=900))
    tab = studio.owner()
    page = tab.get("/studio/recorded/torn/0")
    assert page.status_code == 200
    assert "a torn ? sign" in page.text
    shown = ["/studio/recorded/torn", "/studio/recorded/torn/0/page", "/studio/search?q=torn"]
    shown += ["/studio/bill/recorded/torn/0", "/studio/proof/recorded/torn/0"]
    for path in shown:
        assert tab.get(path).status_code == 200, path


def test_an_entry_that_is_no_turn_has_no_request(studio: StudioHome) -> None:
    tab = studio.owner()
    for path in (f"/studio/blame/{PERSONA}/99999", "/studio/recorded/codex/99999"):
        for end in ("", ".json", "/curl", "/page", "/request"):
            assert tab.get(f"{path}{end}").status_code == 404, path + end
    assert tab.get(f"/studio/blame/{PERSONA}/99999/block/style").status_code == 404
    assert tab.get("/studio/recorded/nobody/0").status_code == 404


def test_whoever_leaves_while_they_send_is_no_defect(studio: StudioHome) -> None:
    """A page takes back what it asked when somebody types on."""
    tab = studio.owner()
    cookie = "; ".join(f"{name}={value}" for name, value in tab.cookies.items())
    place = urlsplit(tab.url)
    head = (
        f"POST /mentis/v1/personas/{PERSONA}/what-if HTTP/1.1\r\nhost: {place.netloc}\r\n"
        f"origin: {tab.url}\r\ncookie: {cookie}\r\ncontent-type: application/json\r\n"
        "content-length: 1000\r\n\r\n{"
    )
    with socket.create_connection((place.hostname, place.port)) as connection:
        connection.sendall(head.encode())
    secret = studio.served.new_token("figures", scope="read")
    gone = 'what-if",status="499"'
    told = ""
    for _ in range(200):
        told = tab.send("GET", "/metrics", {"authorization": f"Bearer {secret}"}).text
        if gone in told:
            break
    assert gone in told
    assert studio.served.defects == []
