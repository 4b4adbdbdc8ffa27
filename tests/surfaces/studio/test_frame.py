"""The frame of every page: going anywhere, the keys of a page, the way past the top."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from tests.rounds import says
from tests.surfaces.studio.browser import StudioWindow, needs_browser
from tests.surfaces.studio.studio_home import PERSONA, SCRIPT, BrowserTab, StudioHome

API = f"/mentis/v1/personas/{PERSONA}/sessions"


@pytest.fixture(scope="module")
def tab(studio: StudioHome) -> BrowserTab:
    """Somebody who talked about the garden once."""
    tab = studio.owner(writing=True)
    studio.provider.play(says("It grows."))
    assert tab.post(f"{API}/green/turns", json={"text": f"The garden {SCRIPT}"}).status_code == 200
    return tab


def places(tab: BrowserTab, asked: str) -> list[tuple[str, str]]:
    found = tab.get(f"/studio/jump.json?q={asked}").json()["places"]
    return [(one["kind"], one["path"]) for one in found]


def test_a_part_of_a_name_leads_to_screens_personas_and_conversations(tab: BrowserTab) -> None:
    assert ("screen", "/studio/blame") in places(tab, "lam")
    assert ("persona", f"/studio/talk/{PERSONA}") in places(tab, PERSONA[1:])
    assert ("conversation", f"/studio/talk/{PERSONA}/green") in places(tab, "GARDEN")
    assert ("conversation", f"/studio/talk/{PERSONA}/green") in places(tab, "gree")
    assert places(tab, "nothing-is-called-that") == []
    assert len(places(tab, "")) > 2


def test_a_number_leads_to_what_a_model_was_told_in_that_entry(tab: BrowserTab) -> None:
    entry = tab.get(f"/studio/talk/{PERSONA}/green.json").json()["exchanges"][0]["entry"]
    assert places(tab, str(entry))[0] == ("request", f"/studio/blame/{PERSONA}/{entry}")
    assert places(tab, "99999") == []


def test_places_are_named_as_text_and_only_to_those_who_may_see_them(
    studio: StudioHome, tab: BrowserTab
) -> None:
    page = tab.get("/studio/jump?q=garden")
    assert "&lt;script&gt;" in page.text
    assert "<script>alert" not in page.text
    assert "<html" not in tab.get("/studio/jump?q=garden&part=places").text
    other = studio.tab()
    other.enter(studio.served.new_token("nobody", scope="read", agent="somebody"))
    assert {kind for kind, _ in places(other, "a")} == {"screen"}
    assert studio.tab().get("/studio/jump.json?q=a").status_code == 401


def test_every_script_names_the_version_of_what_it_imports(tab: BrowserTab) -> None:
    waiting = re.findall(r'src="(/studio/static/[^"]+)"', tab.get("/studio/prompts/style").text)
    known = set[str]()
    while waiting:
        address = waiting.pop()
        if address in known or not re.search(r"\.js\b", address):
            continue
        known.add(address)
        sent = tab.get(address)
        assert "immutable" in sent.headers["cache-control"], address
        if "/vendor/" not in address:
            told = re.findall(r'^import (?:.*from )?"\./(.+?)"', sent.text, re.MULTILINE)
            waiting += [f"/studio/static/{name}" for name in told]
    names = {address.partition("?")[0].rpartition("/")[2] for address in known}
    assert names >= {"studio.js", "frame.js", "talk.js", "prompt_block.js", "prompt_shared.js"}


@needs_browser
@pytest.mark.slow
def test_keys_lead_anywhere_and_are_listed(tab: BrowserTab, visitor: StudioWindow) -> None:
    page = visitor.page
    visitor.key("?")
    visitor.see("Keys of this page")
    visitor.click("Close")
    visitor.key("Control+k")
    page.keyboard.type("garden")
    found = page.get_by_role("dialog").get_by_role("link", name="The garden")
    expect(found).to_be_visible()
    visitor.key("ArrowDown")
    expect(found).to_be_focused()
    visitor.key("Enter")
    page.wait_for_url("**/green")
    visitor.key("Control+k")
    expect(page.get_by_role("dialog").get_by_role("link", name="Blame")).to_be_visible()
    assert visitor.accessibility() == []
    visitor.key("Escape")
    visitor.click("Go to", role="link")
    page.keyboard.type("blame")
    visitor.key("Enter")
    page.wait_for_url("**/studio/blame")
    visitor.key("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    visitor.key("Enter")
    visitor.key("Control+k")
    page.keyboard.type("nothing-is-called-that")
    visitor.see("Nothing is called that")
    visitor.check_page("/studio/jump?q=a")
