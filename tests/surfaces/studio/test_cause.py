"""At the end of Blame: what an answer hangs on, its price first."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from tests.rounds import says
from tests.surfaces.studio.browser import StudioWindow, needs_browser
from tests.surfaces.studio.studio_home import PERSONA, SCRIPT, StudioHome

TURNS = f"/mentis/v1/personas/{PERSONA}/sessions/cause/turns"
ASK = "Which blocks does this answer hang on?"


@pytest.fixture(scope="module")
def path(studio: StudioHome) -> str:
    """The page of an answer to a talk in which a script was said."""
    tab = studio.owner(writing=True)
    studio.provider.play(says("A fine name."), says("Your dog is called Bruno."))
    tab.post(TURNS, json={"text": f"My dog is called Bruno {SCRIPT}."})
    made = tab.post(TURNS, json={"text": "What is it called?"}).json()
    return f"/studio/blame/{PERSONA}/{made['entry']['index']}"


def test_who_may_not_write_sees_why_the_question_is_off(studio: StudioHome, path: str) -> None:
    reading, writing = studio.owner().get(path).text, studio.owner(writing=True).get(path).text
    assert ASK in reading
    assert "turn on writing first" in reading
    assert "turn on writing first" not in writing
    assert ASK not in studio.owner(writing=True).get("/studio/recorded/codex/0").text


@pytest.mark.slow
@needs_browser
def test_the_price_is_shown_and_agreed_to_before_the_pieces_are_ranked(
    studio: StudioHome, visitor: StudioWindow, path: str
) -> None:
    page, found = visitor.page, visitor.page.locator("ol.causes li")
    visitor.go(path)
    expect(page.get_by_role("button", name=ASK)).to_be_disabled()
    visitor.turn_on_writing()
    asked = len(studio.provider.sent)
    visitor.click(ASK)
    visitor.see("at a price that is not known")
    visitor.click("Not now")
    expect(page.get_by_text("at a price that is not known")).to_have_count(0)
    assert len(studio.provider.sent) == asked
    visitor.click(ASK)
    visitor.press(page.get_by_role("button", name="Ask "))
    visitor.see("New answers share")
    assert found.count() >= 2
    visitor.press(found.first.get_by_role("link"))
    expect(page.locator(".section:focus")).to_have_count(1)
    assert visitor.accessibility() == []
    assert visitor.faults == []
    visitor.check_page(path)
