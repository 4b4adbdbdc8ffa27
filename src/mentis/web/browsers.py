"""People in a browser: one-time links, and the cookie that each is exchanged for.

A cookie stands for a token's rights, and for reading alone until its owner lets it write. All of it
is in memory: a server that starts anew knows no links and no cookies.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from mentis.errors import AccessDenied
from mentis.settings.web import WebSettings

from .tokens import OWNER, AccessToken, TokenPerson, Tokens

# Where a cookie counts: pages of the studio, and the API that they call.
COOKIE_PATHS = ("/studio/", "/mentis/v1/")
# Files of the program, the same for everybody. A page loads several, so none counts as a request
# of whoever reads it: a page without its script would be worse than one that comes later.
FILE_PATHS = ("/studio/static/",)
_READING = ("GET", "HEAD")
_MOST = 1000  # links and cookies at a time; the oldest go first


@dataclass(slots=True)
class BrowserSession:
    """One browser. `made` is of a one-time link: no file knows its token, so none can revoke it."""

    token: AccessToken
    until: float
    made: bool
    writing: bool = False


class BrowserSessions:
    """Those of one server. A secret is kept as its digest alone."""

    def __init__(
        self, tokens: Tokens, settings: WebSettings, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._tokens = tokens
        self._settings = settings
        self._now = now
        self._links: dict[str, float] = {}
        self._sessions: dict[str, BrowserSession] = {}

    def new_link(self) -> str:
        """A key that lets one browser in, once, with the rights of whoever sits at the machine."""
        key = secrets.token_urlsafe(32)
        _make_room(self._links)
        self._links[_digest(key)] = self._now() + self._settings.link_seconds
        return key

    def enter(self, key: str) -> str | None:
        """The cookie for a key; None for one that was used, is too old, or that nobody made."""
        until = self._links.pop(_digest(key), None)
        if until is None or until < self._now():
            return None
        return self._begin(_owner_token(), made=True)

    def enter_with_token(self, secret: str) -> str | None:
        """The cookie for a token of the home."""
        token = self._tokens.find(secret)
        return None if token is None else self._begin(token, made=False)

    def leave(self, cookie: str) -> None:
        self._sessions.pop(_digest(cookie), None)

    def set_writing(self, cookie: str, *, on: bool) -> None:
        """Whether this browser may do what its token allows, or only read."""
        session = self._session(cookie)
        if session is not None:
            session.writing = on

    def find(self, cookie: str) -> AccessToken | None:
        """Its token, with the scope that counts now."""
        session = self._session(cookie)
        if session is None:
            return None
        return session.token if session.writing else replace(session.token, scope="read")

    def may_write(self, cookie: str) -> bool:
        """Whether the switch is of any use to this browser: a viewer never writes."""
        session = self._session(cookie)
        return session is not None and session.token.allows("chat")

    def _begin(self, token: AccessToken, *, made: bool) -> str:
        cookie = secrets.token_urlsafe(32)
        _make_room(self._sessions)
        until = self._now() + self._settings.browser_hours * 3600
        self._sessions[_digest(cookie)] = BrowserSession(token, until, made)
        return cookie

    def _session(self, cookie: str) -> BrowserSession | None:
        key = _digest(cookie)
        session = self._sessions.get(key)
        if session is None:
            return None
        if session.until < self._now() or not self._stands(session):
            del self._sessions[key]
            return None
        return session

    def _stands(self, session: BrowserSession) -> bool:
        """A token that was revoked or changed takes its browsers along."""
        return session.made or session.token in self._tokens.list()


def cookie_name(headers: Mapping[str, str]) -> str:
    """Browsers send cookies to every port of a host: each server has a name of its own."""
    port = re.search(r":(\d+)$", headers.get("host", ""))
    return f"mentis-studio-{port[1] if port else 'web'}"


def read_cookie(headers: Mapping[str, str]) -> str:
    """The cookie of this server; "" where none came."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(cookie_name(headers))
    except CookieError:  # another server's, and not ours to mend
        return ""
    return found.value if found is not None else ""


def check_same_origin(method: str, headers: Mapping[str, str]) -> None:
    """A cookie comes by itself, so only pages of this very server may use it: also none of another
    port, nor those that may call with a token.
    """
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    own = origin is not None and urlsplit(origin).netloc.lower() == headers.get("host", "").lower()
    navigates = headers.get("sec-fetch-mode") == "navigate"
    if method in _READING:
        allowed = own or (origin is None and (site in (None, "none", "same-origin") or navigates))
    else:
        allowed = own and site in (None, "same-origin")
    if not allowed:
        raise AccessDenied(
            "this page may not act for whoever is signed in to the studio",
            hint="open the studio itself, or call with a token",
            status=403,
        )


def _owner_token() -> AccessToken:
    return AccessToken("studio", "edit", TokenPerson(OWNER, OWNER, "owner"), digest="")


def _make_room(kept: dict[str, float] | dict[str, BrowserSession]) -> None:
    while len(kept) >= _MOST:
        del kept[next(iter(kept))]


def _digest(secret: str) -> str:
    return hashlib.sha256(
        b"mentis-browser-1\0" + secret.encode("utf-8", "surrogatepass")
    ).hexdigest()
