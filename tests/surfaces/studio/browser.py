"""A real browser at the studio, driven by Playwright. Debian's chromium is enough."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    expect,
    sync_playwright,
)
from tests.surfaces.studio.studio_home import StudioHome

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(BROWSER is None, reason="NO BROWSER: apt-get install chromium")
WIDTHS = (1280, 390)
_HEIGHT = 800
_MARGIN = 12  # pixels
PATIENCE = 60_000  # milliseconds: a machine may have other work
# Run before every page's own scripts: a page that something was clicked on, and that is about to
# be replaced, is not taken for the one that follows it.
_LEAVING = """
const leave = (away) => { window.leaving = away; };
navigation.addEventListener("navigate", (event) => {
  if (!event.destination.sameDocument && event.downloadRequest === null) leave(true);
});
navigation.addEventListener("navigateerror", () => leave(false));
window.addEventListener("submit", (event) => {
  const sends = (event.submitter?.formMethod || event.target.method) !== "dialog";
  if (!event.defaultPrevented && sends) leave(true);
});
"""
_READY = """() => !window.leaving && document.readyState === "complete"
  && !document.querySelector("main :not(:defined), .htmx-request")
  && [...document.querySelectorAll("mentis-editor")].every((one) => one.shadowRoot)"""
expect.set_options(timeout=PATIENCE)


@dataclass
class StudioWindow:
    """A page of somebody who came in. `faults` are red lines of its console, and every dialog."""

    page: Page
    url: str
    faults: list[str] = field(default_factory=list[str])

    def go(self, path: str) -> None:
        self.page.goto(self.url + path)
        self.settle()

    def reload(self) -> None:
        self.page.reload()
        self.settle()

    def settle(self) -> None:
        """Until the page that stays is the one that is shown, and hears keys and clicks."""
        self.page.wait_for_function(_READY)

    def click(self, label: str, *, role: str = "button") -> None:
        """What a person sees under this name."""
        self.press(self.page.get_by_role(role, name=label, exact=True).first)  # pyright: ignore[reportArgumentType]  # a long literal

    def press(self, place: Locator) -> None:
        """A click, and wherever it leads to."""
        place.click()
        self.settle()

    def key(self, keys: str) -> None:
        """A key of the page that is shown, and wherever it leads to."""
        self.settle()
        self.page.keyboard.press(keys)
        self.settle()

    def see(self, text: str) -> None:
        """The words are there, and the page that shows them stays."""
        expect(self.page.get_by_text(text).first).to_be_visible()
        self.settle()

    def turn_on_writing(self) -> None:
        """By the switch at the top, which loads the page anew."""
        switch = self.page.get_by_role("banner").get_by_role("switch")
        self.press(switch)
        expect(switch).to_be_checked()

    def accessibility(self) -> list[str]:
        """What axe finds serious or critical here."""
        axe: Any = Axe()  # has no types
        found: list[dict[str, Any]] = axe.run(self.page).response["violations"]
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in serious]

    def margin(self) -> float:
        """How far from the edge the text of a page begins."""
        heading = self.page.get_by_role("heading", level=1).first
        return heading.evaluate("one => one.getBoundingClientRect().left")

    def check_page(self, path: str) -> None:
        """A page fits both widths, is readable in both themes, and its console stays empty."""
        for theme in ("light", "dark"):
            self.page.emulate_media(color_scheme=theme)  # pyright: ignore[reportArgumentType]
            for width in WIDTHS:
                self.page.set_viewport_size({"width": width, "height": _HEIGHT})
                self.go(path)
                over = self.page.evaluate("document.documentElement.scrollWidth")
                assert over <= width, f"{path} is {over} wide at {width}"
                assert self.margin() >= _MARGIN, f"{path} begins at the edge at {width}"
            assert self.accessibility() == [], f"{path}, {theme}"
        self.page.set_viewport_size({"width": WIDTHS[0], "height": _HEIGHT})
        assert self.faults == [], path


@contextmanager
def chromium() -> Generator[Browser]:
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        try:
            yield running
        finally:
            running.close()


@contextmanager
def window(browser: Browser, studio: StudioHome) -> Generator[StudioWindow]:
    """Somebody who followed a one-time link, in a profile of their own."""
    with profile(browser) as context:
        made = StudioWindow(context.new_page(), studio.served.url)
        _listen(made)
        made.go(f"/studio/enter?key={studio.served.new_link()}")
        made.page.wait_for_url("**/studio/talk")
        made.settle()
        yield made


@contextmanager
def profile(browser: Browser) -> Generator[BrowserContext]:
    """A browser of nobody yet: its pages say when they are about to go."""
    context = browser.new_context(viewport={"width": WIDTHS[0], "height": _HEIGHT})
    context.set_default_timeout(PATIENCE)
    context.add_init_script(_LEAVING)
    try:
        yield context
    finally:
        context.close()


def _listen(made: StudioWindow) -> None:
    def told(message: ConsoleMessage) -> None:
        if message.type == "error":
            made.faults.append(message.text[:500])

    made.page.on("console", told)
    made.page.on("pageerror", lambda error: made.faults.append(str(error)[:500]))
    made.page.on("dialog", lambda dialog: made.faults.append(f"dialog: {dialog.message}"))
