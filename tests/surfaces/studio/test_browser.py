"""The studio in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from tests.rounds import says
from tests.surfaces.studio.browser import StudioWindow, needs_browser
from tests.surfaces.studio.studio_home import PERSONA, SCRIPT, StudioHome

pytestmark = needs_browser


def test_a_person_comes_in_talks_answers_anew_and_sees_why(
    studio: StudioHome, visitor: StudioWindow
) -> None:
    studio.provider.play(says(f"Good morning, {SCRIPT}"), says("Good evening."))
    page = visitor.page
    visitor.click("New conversation", role="link")
    visitor.turn_on_writing()
    page.get_by_label("Message to").fill(f"Hello {SCRIPT}")
    visitor.key("Enter")
    visitor.see(f"Good morning, {SCRIPT}")
    visitor.click("Answer again")
    visitor.see("2 of 2")
    visitor.click("The version before")
    visitor.see("1 of 2")
    visitor.click("The next version")
    visitor.click("Why this answer?", role="link")
    visitor.see("Byte for byte what was sent")
    visitor.key("j")
    expect(page.locator("[data-why] dl")).to_be_visible()
    assert visitor.faults == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", ["/studio/talk", f"/studio/talk/{PERSONA}", "/studio/blame", "/studio/recorded/codex/0"]
)
def test_pages_fit_are_readable_and_quiet(visitor: StudioWindow, path: str) -> None:
    visitor.check_page(path)
