"""The studio in a real browser."""

from __future__ import annotations

import pytest
from tests.rounds import says
from tests.surfaces.studio.chromium import BROWSER, chromium
from tests.surfaces.studio.studio_home import PERSONA, SCRIPT, StudioHome

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="NO BROWSER: apt-get install chromium"),
]


def test_a_person_comes_in_talks_answers_anew_and_sees_why(studio: StudioHome) -> None:
    studio.provider.play(says(f"Good morning, {SCRIPT}"), says("Good evening."))
    url = studio.served.url
    with chromium() as page:
        page.go(f"{url}/studio/enter?key={studio.served.new_link()}")
        page.wait("location.pathname === '/studio/talk'")
        page.click("New conversation")
        page.wait("document.querySelector('mentis-talk')")
        page.click("Read-only")
        page.wait("document.querySelector('mentis-talk:defined [data-composer]')")
        page.js("document.querySelector('#words').focus()")
        page.type(f"Hello {SCRIPT}")
        page.press("Enter", 13)
        page.wait("document.querySelector('#room .exchange')")
        assert f"Good morning, {SCRIPT}" in page.text
        page.click("Answer again")
        page.wait("document.querySelector('#room .versions')")
        assert "2 of 2" in page.text
        page.click("\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}")
        assert "1 of 2" in page.text
        page.click("\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}")
        page.click("Why this answer?")
        page.wait("document.querySelector('mentis-blame:defined .section')")
        assert "Byte for byte what was sent" in page.text
        page.press("j", 74)
        page.wait("document.querySelector('[data-why] dl')")
        for path in ("/studio/blame", f"/studio/talk/{PERSONA}", "/studio/recorded/codex/0"):
            page.go(url + path)
        for width in (390, 1280):
            page.call(
                "Emulation.setDeviceMetricsOverride",
                width=width, height=800, deviceScaleFactor=1, mobile=width < 500,
            )  # fmt: skip
            assert page.js("document.documentElement.scrollWidth") == width
        assert page.faults == []
