"""Coming in and going: the one-time link, a token instead of it, the switch for writing."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mentis.errors import AccessDenied, MentisError
from mentis.web.application import Door
from mentis.web.browsers import check_same_origin, cookie_name, read_cookie
from mentis.web.served import ServedParts

from .pages import HEADERS, Pages, read_form, reader_of

HOME = "/studio/"
_SEE_OTHER = 303


@dataclass(frozen=True, slots=True)
class StudioEntrance:
    """The doors that need no token, and the way out."""

    served: ServedParts
    pages: Pages

    def doors(self) -> list[Door]:
        return [
            Door(f"{HOME}enter", self.use_link, None),
            Door(f"{HOME}enter", self.use_token, None, ("POST",)),
            Door(f"{HOME}writing", self.switch, None, ("POST",)),
            Door(f"{HOME}leave", self.leave, None, ("POST",)),
        ]

    async def use_link(self, request: Request) -> Response:
        """The key is used up with the first look at it."""
        cookie = self.served.browsers.enter(request.query_params.get("key", ""))
        if cookie is None:
            return self._refused(request, "This link was used already, or it is too old.")
        return self._let_in(request, cookie)

    async def use_token(self, request: Request) -> Response:
        check_same_origin(request.method, request.headers)
        given = (await read_form(request)).get("token", "")
        cookie = self.served.browsers.enter_with_token(given.strip())
        if cookie is None:
            return self._refused(request, "This token is not known here.")
        return self._let_in(request, cookie)

    async def switch(self, request: Request) -> Response:
        """Let this browser write, or only read."""
        browsers, cookie = self.served.browsers, read_cookie(request.headers)
        try:
            reader_of(request)
            form = await read_form(request)
            if not browsers.may_write(cookie):
                raise AccessDenied(
                    "whoever came with this token only reads",
                    hint="come with a token of the scope chat or edit",
                    status=403,
                )
        except MentisError as error:
            return self.pages.problem(request, error)
        browsers.set_writing(cookie, on=form.get("writing") == "on")
        return _back(form.get("back", ""))

    async def leave(self, request: Request) -> Response:
        try:
            reader_of(request)
        except MentisError as error:
            return self.pages.problem(request, error)
        self.served.browsers.leave(read_cookie(request.headers))
        response = _back("")
        response.delete_cookie(cookie_name(request.headers), httponly=True, samesite="strict")
        return response

    def _refused(self, request: Request, words: str) -> Response:
        told = {"problem": words, "again": ""}
        return self.pages.html(request, "enter.html", told, status=403)

    def _let_in(self, request: Request, cookie: str) -> Response:
        """By a page and not by a redirect: after one that began elsewhere no cookie would come."""
        response = self.pages.html(request, "enter.html", {"problem": "", "again": HOME})
        response.set_cookie(
            cookie_name(request.headers),
            cookie,
            max_age=int(self.served.settings.browser_hours * 3600),
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return response


def _back(path: str) -> Response:
    """To a page of the studio, and to nowhere else."""
    safe = path.startswith(HOME) and "//" not in path and "\\" not in path
    return RedirectResponse(path if safe else HOME, _SEE_OTHER, headers=dict(HEADERS))
