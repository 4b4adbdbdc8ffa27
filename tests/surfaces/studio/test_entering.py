"""Who comes into the studio, and what they may do there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.studio.studio_home import PERSONA, StudioHome, studio_home

TURNS = f"/mentis/v1/personas/{PERSONA}/sessions/door/turns"


def test_a_link_lets_one_browser_in_and_nobody_after_it(studio: StudioHome) -> None:
    link = f"/studio/enter?key={studio.served.new_link()}"
    tab = studio.tab()
    first = tab.get(link)
    assert first.status_code == 200
    cookie = first.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert tab.get("/studio/talk").status_code == 200
    other = studio.tab()
    assert other.get(link).status_code == 403
    assert other.cookies == {}
    assert other.get("/studio/talk").status_code == 401


def test_nothing_is_written_before_the_switch_is_on_nor_after_it_is_off(
    studio: StudioHome,
) -> None:
    tab, words = studio.owner(), {"text": "Hello"}
    assert "You are only reading" in tab.get(f"/studio/talk/{PERSONA}/door").text
    assert tab.post(TURNS, json=words).status_code == 403
    branch = f"/studio/talk/{PERSONA}/door/branch"
    assert tab.post(branch, json={"number": 0}).status_code == 403
    tab.write()
    assert tab.post(TURNS, json=words).status_code == 200
    assert tab.post(branch, json={"number": 1}).status_code == 201
    tab.write(on=False)
    assert tab.post(TURNS, json=words).status_code == 403


def test_a_viewer_never_writes_and_a_guest_sees_nothing(studio: StudioHome) -> None:
    viewer = studio.tab()
    assert viewer.enter(studio.served.new_token("viewer", scope="read")).status_code == 200
    assert "Viewer" in viewer.get("/studio/talk").text
    assert viewer.write().status_code == 403
    assert viewer.post(TURNS, json={"text": "Hello"}).status_code == 403
    guest = studio.tab()
    guest.enter(studio.served.new_token("guest", scope="edit", person="eve"))
    assert guest.get("/studio/talk").status_code == 403
    assert guest.write().status_code == 403


def test_a_browser_goes_with_its_token_and_by_leaving(studio: StudioHome) -> None:
    tab = studio.tab()
    tab.enter(studio.served.new_token("short", scope="edit"))
    assert tab.get("/studio/talk").status_code == 200
    studio.served.tokens.revoke("short")
    assert tab.get("/studio/talk").status_code == 401
    owner = studio.owner()
    kept = dict(owner.cookies)
    owner.post("/studio/leave")
    owner.cookies = kept
    assert owner.get("/studio/talk").status_code == 401
    assert studio.tab().enter("mts_nobody_made_it").status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "null"},
        {"origin": "URL", "sec-fetch-site": "same-site"},
    ],
)
def test_the_cookie_counts_for_no_other_page(studio: StudioHome, headers: dict[str, str]) -> None:
    tab = studio.owner(writing=True)
    given = {name: tab.url if value == "URL" else value for name, value in headers.items()}
    refused = tab.send("POST", TURNS, given, json={"text": "Hello"})
    assert refused.status_code == 403
    assert tab.send("POST", "/studio/writing", given, form={"writing": "on"}).status_code == 403
    assert tab.send("POST", "/studio/leave", given).status_code == 403
    assert tab.get("/studio/talk").status_code == 200


def test_the_cookie_opens_the_studio_and_its_api_and_nothing_else(studio: StudioHome) -> None:
    tab = studio.owner(writing=True)
    assert tab.get("/mentis/v1/personas").status_code == 200
    assert tab.get("/mentis/v1/personas", sec_fetch_site="cross-site").status_code == 403
    assert tab.get("/v1/models").status_code == 401
    assert tab.get("/metrics").status_code == 401


def test_a_link_from_another_site_comes_once_more_from_here(studio: StudioHome) -> None:
    came = studio.tab().get("/studio/talk", sec_fetch_site="cross-site", sec_fetch_mode="navigate")
    assert came.status_code == 401
    assert 'http-equiv="refresh" content="0;url=/studio/talk"' in came.text
    assert "refresh" not in studio.tab().get("/studio/talk").text


def test_nobody_is_sent_to_another_site(studio: StudioHome) -> None:
    tab = studio.owner()
    for back in ("https://example.org/", "//example.org", "/studio/..//example.org", "/v1/models"):
        sent = tab.post("/studio/writing", writing="off", back=back)
        assert sent.headers["location"] == "/studio/"


def test_who_turns_on_writing_comes_back_to_what_they_looked_at(studio: StudioHome) -> None:
    tab = studio.owner()
    asked = f"/studio/mind/{PERSONA}/memories?state=quarantine"
    assert tab.get(asked).text.count(f'name="back" value="{asked}"') == 2
    assert tab.post("/studio/writing", writing="on", back=asked).headers["location"] == asked
    part = tab.get(f"/studio/done/{PERSONA}?only=different&part=done").text
    assert "part=done" not in part


def test_files_of_a_page_are_no_requests_of_whoever_reads_it(tmp_path: Path) -> None:
    with studio_home(tmp_path, web__requests_per_minute="1", web__burst="3") as home:
        tab = home.owner()
        for _ in range(9):
            assert tab.get("/studio/static/studio.js").status_code == 200
        statuses = [tab.get("/studio/talk").status_code for _ in range(4)]
    assert (statuses[0], statuses[-1]) == (200, 429)
