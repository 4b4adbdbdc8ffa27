"""The screen Mind in a browser, in a mind of its own."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, expect
from tests.surfaces.studio.browser import StudioWindow, needs_browser, window
from tests.surfaces.studio.mind_home import (
    MIND,
    PAGES,
    changed,
    fill_mind,
)
from tests.surfaces.studio.studio_home import BrowserTab, StudioHome


@pytest.fixture(scope="module")
def tab(studio: StudioHome) -> BrowserTab:
    return fill_mind(studio)


@pytest.fixture
def second(browser: Browser, studio: StudioHome) -> Generator[StudioWindow]:
    with window(browser, studio) as made:
        yield made


@needs_browser
@pytest.mark.slow
def test_a_person_looks_after_a_mind(
    studio: StudioHome, tab: BrowserTab, visitor: StudioWindow
) -> None:
    changed(studio, "- Likes chess.")
    page = visitor.page
    visitor.click("Mind", role="link")
    visitor.press(page.locator(".rows a").first)
    visitor.turn_on_writing()
    page.get_by_label("Why? It is recorded.").first.fill("I asked")
    visitor.click("Accept Memory as it stands")
    visitor.see("Nothing waits.")
    visitor.click("Memories", role="link")
    page.get_by_label("State").select_option(label="In quarantine (1)")
    visitor.click("Search")
    visitor.see("Kept back:")
    visitor.press(page.get_by_text("Release it"))
    page.get_by_label("Why? It is recorded.").fill("It is a quotation")
    visitor.click("Release")
    visitor.see("Nothing is in quarantine.")
    visitor.go(f"{MIND}/memories?q=boats")
    visitor.click("Bob sells boats.", role="link")
    page.get_by_label("Why do you vouch for it?").fill("He told me")
    visitor.click("Vouch for it")
    visitor.see("you vouch for it")
    visitor.click("What comes to mind", role="link")
    page.get_by_label("A sentence to").fill("Who plays the cello?")
    visitor.click("What comes to mind?")
    visitor.see("Lena plays the cello.")
    visitor.click("Goals", role="link")
    page.get_by_label("A short name").fill("swim")
    page.get_by_label("The goal").fill("Learn to swim")
    visitor.click("Add the goal")
    expect(page.locator(".said-text", has_text="Learn to swim")).to_be_visible()
    visitor.click("Undo the last change")
    expect(page.locator(".said-text", has_text="Learn to swim")).to_have_count(0)
    visitor.click("People", role="link")
    page.get_by_label("Name").fill("Ben")
    page.get_by_label("What it should know").fill("Bakes bread.")
    visitor.click("Keep it")
    visitor.see("Bakes bread.")
    visitor.click("Diary", role="link")
    visitor.see("A quiet day")
    assert visitor.faults == []
    assert tab.get("/mentis/v1/verify").json()["intact"]


@needs_browser
@pytest.mark.slow
def test_a_second_tab_is_told_and_both_texts_are_offered(
    tab: BrowserTab, visitor: StudioWindow, second: StudioWindow
) -> None:
    del tab
    for one in (visitor, second):
        one.turn_on_writing()
        one.go(f"{MIND}/files/soul")
        expect(one.page.locator("form.editor[data-ready]")).to_be_visible()
    visitor.page.get_by_label("Text of Soul").fill("- From the first tab.")
    visitor.click("Save")
    expect(visitor.page.locator("details.field").first).to_be_visible()
    second.page.get_by_label("Text of Soul").fill("- From the second tab.")
    second.click("Save")
    second.see("It was changed meanwhile")
    second.see("- From the first tab.")
    expect(second.page.get_by_label("Text of Soul")).to_have_value("- From the second tab.")
    second.page.get_by_label("Also if more than half").check()
    second.click("Save mine over it")
    expect(second.page.locator(".clash")).to_have_count(0)
    assert [fault for fault in second.faults if "412" not in fault] == []


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize("path", ["/studio/mind", *PAGES])
def test_pages_of_mind_fit_are_readable_and_quiet(
    tab: BrowserTab, visitor: StudioWindow, path: str
) -> None:
    del tab
    visitor.turn_on_writing()
    visitor.check_page(path)
