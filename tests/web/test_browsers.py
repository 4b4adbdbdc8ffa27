"""Links and cookies of browsers, by a clock that is turned."""

from __future__ import annotations

from pathlib import Path

import pytest

from mentis.settings.web import WebSettings
from mentis.web.browsers import BrowserSessions, cookie_name, read_cookie
from mentis.web.tokens import Tokens


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def browsers(tmp_path: Path, clock: Clock) -> BrowserSessions:
    settings = WebSettings(browser_hours=1)
    return BrowserSessions(Tokens(tmp_path / "config", tmp_path / "home"), settings, clock)


def test_a_link_that_is_too_old_lets_nobody_in(browsers: BrowserSessions, clock: Clock) -> None:
    key = browsers.new_link()
    clock.now = WebSettings.link_seconds + 1
    assert browsers.enter(key) is None
    clock.now = 0
    assert browsers.enter(key) is None


def test_a_browser_is_signed_out_after_its_time(browsers: BrowserSessions, clock: Clock) -> None:
    cookie = browsers.enter(browsers.new_link())
    assert cookie is not None
    found = browsers.find(cookie)
    assert found is not None
    assert (found.scope, found.person.id) == ("read", "owner")
    browsers.set_writing(cookie, on=True)
    clock.now = 3599
    assert browsers.find(cookie) is not None
    clock.now = 3601
    assert browsers.find(cookie) is None
    assert not browsers.may_write(cookie)


def test_servers_on_two_ports_have_two_cookies() -> None:
    headers = {"host": "127.0.0.1:8377", "cookie": "mentis-studio-8377=a; mentis-studio-9=b"}
    assert read_cookie(headers) == "a"
    assert cookie_name({"host": "studio.example.org"}) == "mentis-studio-web"
    assert read_cookie({**headers, "cookie": "a[b=c; mentis-studio-8377=a"}) in ("", "a")
