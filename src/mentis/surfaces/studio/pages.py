"""Pages: who may see them, each as HTML or as the JSON it is made of, and the headers of both."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias
from urllib.parse import parse_qs

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import Response

from mentis.errors import AccessDenied, MentisError, RequestRefused
from mentis.home.identity import RECORDED
from mentis.web.agents import is_guest
from mentis.web.application import Door
from mentis.web.browsers import read_cookie
from mentis.web.etags import json_bytes
from mentis.web.problems import PROBLEM_TYPE, problem_json, problem_of
from mentis.web.served import ServedParts
from mentis.web.tokens import AccessToken

from .assets import asset_url
from .screens import SCREENS
from .words import FILTERS

PageData: TypeAlias = dict[str, object]
# Nothing is loaded from elsewhere, and no text of a page is ever run or styled.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "content-security-policy": POLICY,
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
_HTML = "text/html; charset=utf-8"
_JSON = ".json"
_MOST_FORM = 8192  # bytes


@dataclass(frozen=True, slots=True)
class PageCall:
    """One request for a page, and whose it is."""

    served: ServedParts
    request: Request
    token: AccessToken

    @property
    def writing(self) -> bool:
        """Whether this browser may write now."""
        return self.token.allows("chat")

    def path(self, name: str) -> str:
        return str(self.request.path_params[name])

    async def persona(self) -> str:
        """The persona that the path names, if whoever asks may see it."""
        name = self.path("persona")
        check_persona(name, await self.served.pool.personas(self.token))
        return name

    def recorded(self) -> str:
        """The recorded program that the path names; empty where it names none."""
        agent = self.request.path_params.get("agent")
        if agent is not None and self.token.agent:
            raise AccessDenied("this token is for one persona", hint="ask the owner", status=403)
        return "" if agent is None else f"{RECORDED}{agent}"

    def check_library(self) -> None:
        """AccessDenied for whoever sees one persona alone: the library is told to all of them."""
        if self.token.agent:
            raise AccessDenied(
                "prompts are of the whole home, and this token is for one persona",
                hint="come with a token of the whole home: mentis tokens new NAME",
                status=403,
            )

    def number(self, name: str, default: int | None = None) -> int | None:
        """A number of the path or the address."""
        given = self.request.path_params.get(name, self.request.query_params.get(name))
        if given is None:
            return default
        text = str(given)
        if not (text.isascii() and text.isdigit() and len(text) <= 15):
            raise RequestRefused(f"{text[:80]!r} is no number", hint="see the list", status=404)
        return int(text)


BuildPage: TypeAlias = Callable[[PageCall], Awaitable[PageData]]


@dataclass(frozen=True, slots=True)
class Pages:
    """Makes doors of pages: each has a twin in JSON, under `.json` or for whoever asks for it."""

    served: ServedParts

    def doors(
        self, path: str, template: str, build: BuildPage, *, methods: tuple[str, ...] = ("GET",)
    ) -> list[Door]:
        """A page; `part=NAME` in its address gives one block of the template alone."""

        async def answer(request: Request) -> Response:
            try:
                call = PageCall(self.served, request, reader_of(request))
                data = await build(call)
            except MentisError as error:
                return self.problem(request, error)
            if wants_json(request):
                return _json(data)
            part = request.query_params.get("part", "")
            return self.html(request, template, data, part=part)

        return [Door(path + _JSON, answer, None, methods), Door(path, answer, None, methods)]

    def html(
        self,
        request: Request,
        template: str,
        data: Mapping[str, object],
        *,
        part: str = "",
        status: int = 200,
    ) -> Response:
        cookie = read_cookie(request.headers)
        told = {
            **data,
            "page": {
                "path": request.url.path,
                "back": _address(request),
                "signed_in": request.state.token is not None,
                "writing": request.state.token is not None and request.state.token.allows("chat"),
                "may_write": bool(cookie) and self.served.browsers.may_write(cookie),
                "home": self.served.pool.path.name,
            },
        }
        page = _templates().get_template(template)
        if part and part in page.blocks:
            context = page.new_context(told)
            text = "".join(page.blocks[part](context))
        else:
            text = page.render(told)
        # What is kept may hold half a surrogate pair, which no page can: a mark stands for it.
        body = text.encode("utf-8", "replace")
        return Response(body, status, headers=dict(HEADERS), media_type=_HTML)

    def render(self, template: str, data: Mapping[str, object]) -> str:
        """A text of its own, for a file."""
        return _templates().get_template(template).render(data)

    def problem(self, request: Request, error: MentisError) -> Response:
        """As every error is told: in JSON for programs, as a page for people."""
        found = problem_of(error)
        if wants_json(request):
            body = problem_json(found)[1]
            return Response(body, found.status, headers=dict(HEADERS), media_type=PROBLEM_TYPE)
        if found.status == 401:
            # A link in another site's page brings no cookie along: come once more, from here.
            foreign = request.headers.get("sec-fetch-site") in ("cross-site", "same-site")
            again = str(request.url.path) if foreign and request.method == "GET" else ""
            return self.html(request, "enter.html", {"problem": "", "again": again}, status=401)
        return self.html(request, "problem.html", {"problem": found}, status=found.status)


def _address(request: Request) -> str:
    """The whole page, with what was asked of it, where only a part is made now."""
    asked = request.url.remove_query_params("part").query
    return f"{request.url.path}?{asked}" if asked else request.url.path


def reader_of(request: Request) -> AccessToken:
    """Whoever asks, if they may see the home: a guest, or a token for one talk, sees none of it."""
    token: AccessToken | None = request.state.token
    if token is None:
        raise AccessDenied(
            "the studio does not know this browser",
            hint="open the link that `mentis studio` prints, or come with a token",
            status=401,
        )
    if is_guest(token) or token.session:
        raise AccessDenied("the studio is for the owner of the home", hint="ask them", status=403)
    return token


def check_persona(name: str, known: Sequence[str]) -> None:
    """404 for one that is not there, or not for whoever asks."""
    if name not in known:
        hint = f"there are: {', '.join(known) or 'none'}"
        raise RequestRefused(f"there is no persona {name[:80]!r}", hint=hint, status=404)


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form that a page sent."""
    body = await request.body()
    if len(body) > _MOST_FORM:
        raise RequestRefused("the form is too long", hint="send less", status=413)
    return {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}


def wants_json(request: Request) -> bool:
    accepted = request.headers.get("accept", "")
    named = request.url.path.endswith(_JSON)
    return named or ("application/json" in accepted and "text/html" not in accepted)


def _json(data: Mapping[str, object]) -> Response:
    return Response(json_bytes(data), headers=dict(HEADERS), media_type="application/json")


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("mentis.surfaces.studio"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(FILTERS)
    names: dict[str, Any] = made.globals  # typed by its first members
    names.update(asset=asset_url, screens=SCREENS)
    return made
