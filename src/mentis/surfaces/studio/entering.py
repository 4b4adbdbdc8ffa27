"""Coming in and going: the one-time link, a token instead of it, the switch for writing."""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mentis.errors import AccessDenied, MentisError, RequestRefused
from mentis.web.application import Door
from mentis.web.browsers import check_same_origin, cookie_name, read_cookie
from mentis.web.served import ServedParts

from .pages import HEADERS, Pages, reader_of

HOME = "/studio/"
_SEE_OTHER = 303
_MOST = 8192  # bytes of a form


def entrance(served: ServedParts, pages: Pages) -> list[Door]:
    """The doors that need no token, and the way out."""
    browsers = served.browsers

    async def use_link(request: Request) -> Response:
        """The key is used up with the first look at it."""
        cookie = browsers.enter(request.query_params.get("key", ""))
        if cookie is None:
            words = "This link was used already, or it is too old."
            return pages.html(request, "enter.html", {"problem": words, "again": ""}, status=403)
        return let_in(request, cookie)

    async def use_token(request: Request) -> Response:
        check_same_origin(request.method, request.headers)
        given = (await _form(request)).get("token", "")
        cookie = browsers.enter_with_token(given.strip())
        if cookie is None:
            words = "This token is not known here."
            return pages.html(request, "enter.html", {"problem": words, "again": ""}, status=403)
        return let_in(request, cookie)

    def let_in(request: Request, cookie: str) -> Response:
        """By a page and not by a redirect: after one that began elsewhere no cookie would come."""
        response = pages.html(request, "enter.html", {"problem": "", "again": HOME})
        hours = served.settings.browser_hours
        response.set_cookie(
            cookie_name(request.headers),
            cookie,
            max_age=int(hours * 3600),
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return response

    async def switch(request: Request) -> Response:
        """Let this browser write, or only read."""
        try:
            reader_of(request)
            form, cookie = await _form(request), read_cookie(request.headers)
            if not browsers.may_write(cookie):
                raise AccessDenied(
                    "whoever came with this token only reads",
                    hint="come with a token of the scope chat or edit",
                    status=403,
                )
        except MentisError as error:
            return pages.problem(request, error)
        browsers.set_writing(cookie, on=form.get("writing") == "on")
        return _back(form.get("back", ""))

    async def leave(request: Request) -> Response:
        try:
            reader_of(request)
        except MentisError as error:
            return pages.problem(request, error)
        browsers.leave(read_cookie(request.headers))
        response = _back("")
        response.delete_cookie(cookie_name(request.headers), httponly=True, samesite="strict")
        return response

    return [
        Door(f"{HOME}enter", use_link, None),
        Door(f"{HOME}enter", use_token, None, ("POST",)),
        Door(f"{HOME}writing", switch, None, ("POST",)),
        Door(f"{HOME}leave", leave, None, ("POST",)),
    ]


def _back(path: str) -> Response:
    """To a page of the studio, and to nowhere else."""
    safe = path.startswith(HOME) and "//" not in path and "\\" not in path
    return RedirectResponse(path if safe else HOME, _SEE_OTHER, headers=dict(HEADERS))


async def _form(request: Request) -> dict[str, str]:
    body = await request.body()
    if len(body) > _MOST:
        raise RequestRefused("the form is too long", hint="send less", status=413)
    return {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
