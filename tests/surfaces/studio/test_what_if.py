"""What if: another text of a block, tried before it is saved."""

from __future__ import annotations

import hashlib
import re

import httpx2
import pytest
from playwright.sync_api import Browser, expect
from tests.surfaces.serve.served import PERSONA
from tests.surfaces.studio.bill_home import BROKEN, WORDS, bill_home
from tests.surfaces.studio.browser import needs_browser, window
from tests.surfaces.studio.studio_home import SCRIPT, BrowserTab, StudioHome

from mentis import Prompts

API = "/mentis/v1"
BLOCK = f"{API}/prompts/blocks/style"
TRY = f"{API}/personas/{PERSONA}/what-if"
PAGE = "/studio/what-if?block=style"
MAKE_HOME = bill_home


@pytest.fixture(scope="module")
def tab(studio: StudioHome) -> BrowserTab:
    return studio.owner()


def state_of(studio: StudioHome) -> tuple[str, int]:
    """What is on the disk of the prompts, and how long the record is."""
    files = sorted(one for one in (studio.served.home / "prompts").rglob("*") if one.is_file())
    agent = studio.served.agent()
    try:
        return hashlib.sha256(b"".join(map(_bytes, files))).hexdigest(), len(agent.entries())
    finally:
        agent.close()


def _bytes(path: object) -> bytes:
    with open(str(path), "rb") as file:  # noqa: PTH123  # of any kind of path
        return file.read()


def test_blocks_are_found_and_those_of_a_turn_are_listed_in_its_order(tab: BrowserTab) -> None:
    told = tab.get("/studio/what-if.json?q=STYL").json()
    assert [one["id"] for one in told["blocks"]] == ["spec_autofill_expression_style", "style"]
    turn = tab.get(f"/studio/what-if.json?persona={PERSONA}&entry={BROKEN}").json()
    ids = [one["id"] for one in turn["blocks"]]
    assert ids.index("constitution") < ids.index("style")
    assert all(f"entry={BROKEN}" in one["href"] for one in turn["blocks"])
    assert "No block is called that" in tab.get("/studio/what-if?q=nosuch").text


def test_the_page_holds_the_text_and_every_persona_and_route(tab: BrowserTab) -> None:
    told = tab.get("/studio/what-if.json?block=style").json()
    assert (told["text"], told["variant"]) == (WORDS, "default")
    assert {(row["persona"], row["route"]) for row in told["rows"]} == {
        (PERSONA, route) for route in ("default", "nobody", "other")
    }
    page = tab.get(f"{PAGE}&entry={BROKEN}").text
    assert SCRIPT not in page
    assert "&lt;script&gt;" in page
    assert "Six. &lt;script" in page, "the answer then"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("?block=nosuch", 404),
        ("?block=style&persona=nobody", 404),
        ("?block=style&entry=9999", 404),
        (f"?persona={PERSONA}&entry=9999", 404),
    ],
)
def test_what_is_not_there_is_told_plainly(tab: BrowserTab, path: str, status: int) -> None:
    assert tab.get(f"/studio/what-if{path}").status_code == status


def test_trying_says_what_would_change_and_writes_nothing(
    studio: StudioHome, tab: BrowserTab
) -> None:
    before = state_of(studio)
    given = {"block": "style", "text": f"Be brief. {SCRIPT}", "whole": "default"}
    told = tab.post(TRY, json=given)
    assert told.status_code == 200, told.text
    rows = {row["route"]: row for row in told.json()["effects"]}
    assert rows["default"]["where"] == "block style"
    assert rows["default"]["again"] > 0
    assert rows["default"]["again_usd"] > 0
    assert rows["nobody"]["usd"] == [None, None], "no price is known, which is not nothing"
    assert rows["default"]["prompt"][: rows["default"]["shared"]]
    assert rows["other"]["prompt"] == ""
    older = tab.post(TRY, json={**given, "entry": BROKEN}).json()
    assert older["entry"] == BROKEN
    assert tab.post(TRY, json={**given, "block": "nosuch"}).status_code == 422
    assert tab.post(TRY, json={**given, "entry": 9999}).status_code == 400
    assert state_of(studio) == before


def test_a_text_is_saved_over_the_state_in_which_it_was_shown(tab: BrowserTab) -> None:
    shown = tab.get(f"{PAGE.replace('?', '.json?')}").json()
    assert shown["etag"] == tab.get(BLOCK).headers["etag"]


def test_readers_try_and_do_not_run_or_save(studio: StudioHome, tab: BrowserTab) -> None:
    page = tab.get(PAGE).text
    assert "See what it would cost" not in page
    assert "Save the text" not in page
    one = studio.tab()
    one.enter(studio.served.new_token("one-persona", scope="edit", agent=PERSONA))
    one.write()
    mine = one.get(PAGE).text
    assert "See what it would cost" in mine
    assert "Save the text" not in mine, "a block is told to every persona"
    assert one.post(TRY, json={"block": "style", "text": "x"}).status_code == 200
    listed = one.get("/studio/what-if.json").json()
    assert 0 < listed["count"] < tab.get("/studio/what-if.json").json()["count"]
    assert "style" in [row["id"] for row in listed["blocks"]]
    for other in ("style&variant=compact", "beat_curiosity"):
        assert tab.get(f"/studio/what-if?block={other}").status_code == 200, other
        refused = one.get(f"/studio/what-if?block={other}")
        assert refused.status_code == 403, f"{other} is not told to this persona"
        assert "this token is for one persona" in refused.text
    fork = f"{API}/personas/{PERSONA}/entries/{BROKEN}/fork"
    assert tab.post(fork, json={"blocks": {"style": "x"}, "live": True}).status_code == 403
    guest = studio.tab()
    guest.enter(studio.served.new_token("a-guest", scope="edit", person="eve"))
    assert guest.get("/studio/what-if").status_code == 403
    assert guest.post(TRY, json={"block": "style", "text": "x"}).status_code == 403


def test_the_price_of_a_trial_is_told_before_it_is_run(studio: StudioHome) -> None:
    tab = studio.owner(writing=True)
    fork = f"{API}/personas/{PERSONA}/entries/{BROKEN}/fork"
    told = tab.post(fork, json={"blocks": {"style": "Be brief."}}).json()
    assert told["now"]["cost"]["usd"] > 0
    assert told["most"] == {
        "tokens": 100,
        "usd": 0.5,
        "rate": "$5000 a million tokens (facts)",
    }
    assert told["answer"] is None


@needs_browser
@pytest.mark.slow
def test_a_person_tries_a_text_runs_it_saves_it_and_undoes_it(
    studio: StudioHome, browser: Browser
) -> None:
    with window(browser, studio) as visitor:
        page = visitor.page
        visitor.click("What if", role="link")
        page.get_by_label("Find a block").fill("style")
        visitor.key("Enter")
        visitor.press(page.get_by_role("link", name="style").last)
        row = page.get_by_role("row").filter(has_text="default").first
        field = page.get_by_label("Text of the wording default")
        expect(field).to_have_value(WORDS)
        expect(row).to_contain_text("it says that already")
        field.fill("Be brief, and name the plant first.")
        visitor.see("+Be brief, and name the plant first.")
        expect(row).to_contain_text("more, once")
        expect(page.get_by_role("row").filter(has_text="nobody").first).to_contain_text(
            "price unknown"
        )
        visitor.press(page.get_by_text("The whole prompt"))
        expect(page.locator("[data-prompt] .same")).to_contain_text("What always holds")
        page.get_by_role("radio", name=f"{PERSONA} on other").check()
        expect(page).to_have_url(re.compile("route=other"))
        page.get_by_role("radio", name=f"{PERSONA} on default").check()
        visitor.turn_on_writing()
        visitor.see("What you wrote before is back")
        visitor.see("with your text")
        visitor.see("What you wrote before is back")
        page.get_by_label("Turn", exact=True).select_option(str(BROKEN))
        visitor.see("Six. <script>")
        visitor.click("See what it would cost")
        visitor.press(page.get_by_role("button", name="Run it: at most $"))
        visitor.see("A new answer.")
        page.get_by_label("Why").fill("shorter")
        visitor.click("Save the text")
        visitor.see("Saved as revision")
        assert text_of(studio) == "Be brief, and name the plant first."
        visitor.click("Undo")
        visitor.see("Your text is still here")
        assert text_of(studio) == WORDS
        visitor.click("Take the saved text back")
        expect(field).to_have_value(WORDS)
        assert visitor.faults == []
        for path in ("/studio/what-if", f"{PAGE}&entry={BROKEN}"):
            visitor.check_page(path)


@needs_browser
@pytest.mark.slow
def test_a_text_is_compared_over_messages_once_its_price_was_seen(
    studio: StudioHome, browser: Browser
) -> None:
    with window(browser, studio) as visitor:
        page = visitor.page
        visitor.turn_on_writing()
        visitor.go(PAGE)
        page.get_by_label("Text of the wording default").fill("Be brief.")
        visitor.click("See what comparing costs")
        visitor.see("Write a message first.")
        page.get_by_label("Messages, one on a line").fill("Hello\nWho are you?\n")
        page.get_by_label("Every answer has to contain").fill("never said")
        visitor.click("See what comparing costs")
        visitor.see("is asked 4 times.")
        visitor.press(page.get_by_role("button", name="Compare: at most $"))
        visitor.see("With your text answers pass as often")
        visitor.see("0 of 2")
        assert text_of(studio) == WORDS
        assert visitor.faults == []


@needs_browser
@pytest.mark.slow
def test_a_second_tab_is_told_of_a_change_and_loses_nothing(
    studio: StudioHome, browser: Browser
) -> None:
    with window(browser, studio) as visitor:
        page = visitor.page
        visitor.turn_on_writing()
        visitor.go(PAGE)
        field = page.get_by_label("Text of the wording default")
        expect(page.get_by_role("row").filter(has_text="default").first).to_contain_text("tokens")
        field.fill("Mine.")
        saved = save(studio, "Written in another tab.")
        assert saved.status_code == 200, saved.text
        visitor.click("Save the text")
        visitor.see("changed elsewhere since you opened it")
        visitor.see("Written in another tab.")
        assert text_of(studio) == "Written in another tab."
        expect(field).to_have_value("Mine.")
        visitor.click("Save mine over it")
        visitor.see("Saved as revision")
        assert text_of(studio) == "Mine."
        assert save(studio, WORDS).status_code == 200
        assert [one for one in visitor.faults if "412" not in one] == []


def save(studio: StudioHome, text: str) -> httpx2.Response:
    """As another tab would."""
    tab = studio.owner(writing=True)
    tag = tab.get(BLOCK).headers["etag"]
    return tab.send("PATCH", BLOCK, {"origin": tab.url, "if-match": tag}, json={"text": text})


def text_of(studio: StudioHome) -> str:
    with Prompts.open(studio.served.home) as prompts:
        return prompts.block("style").variants["default"].content
