"""A turn as files: its request to the byte, a command that sends it, and its page on its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from mentis.call.curl import curl_command
from mentis.costs.blame_data import blame_data
from mentis.errors import MentisError, RequestRefused
from mentis.values.blame import TurnBlame
from mentis.web.application import Door, Endpoint

from .assets import asset_text
from .blame import blame_page, block_page, find_turn, list_page, turn_links
from .pages import HEADERS, PageCall, Pages, reader_of

_MOST = 4_000_000  # characters of a request in a page that is kept
_TURNS = ("/studio/blame/{persona}/{entry}", "/studio/recorded/{agent}/{entry}")
_Send = Callable[[PageCall], Awaitable[Response]]


def blame_doors(pages: Pages) -> list[Door]:
    """Lists of turns, one turn, the history of a block in it, and the turn as files."""
    made = [
        *pages.doors("/studio/blame", "turns.html", list_page),
        *pages.doors("/studio/blame/{persona}", "turns.html", list_page),
        *pages.doors("/studio/recorded/{agent}", "turns.html", list_page),
        *pages.doors(f"{_TURNS[0]}/block/{{block}}", "block.html", block_page),
    ]
    for turn in _TURNS:
        made += [
            Door(f"{turn}/request", _answer(pages, _send_request), None),
            Door(f"{turn}/curl", _answer(pages, _send_curl), None),
            Door(f"{turn}/page", _answer(pages, _page_sender(pages)), None),
            *pages.doors(turn, "blame.html", blame_page),
        ]
    return made


def _answer(pages: Pages, send: _Send) -> Endpoint:
    async def answer(request: Request) -> Response:
        try:
            return await send(PageCall(pages.served, request, reader_of(request)))
        except MentisError as error:
            return pages.problem(request, error)

    return answer


async def _send_request(call: PageCall) -> Response:
    """The request to the byte, to be kept."""
    found = await find_turn(call)
    if found.body is None:
        raise _unknown()
    return _file(call, found.body, "application/json", "json")


async def _send_curl(call: PageCall) -> Response:
    """A command that sends the same request; a variable stands for the key."""
    found = await find_turn(call)
    if found.body is None or found.route is None:
        raise _unknown()
    command = curl_command(found.route, found.wire, found.body, address=found.address)
    if not command:
        raise _unknown()
    return Response(command, headers=dict(HEADERS), media_type="text/plain; charset=utf-8")


def _page_sender(pages: Pages) -> _Send:
    async def send(call: PageCall) -> Response:
        """All that the page shows, in one file that needs nothing else."""
        found = await find_turn(call)
        text = await to_thread.run_sync(_whole_page, pages, call, found)
        return _file(call, text.encode("utf-8", "replace"), "text/html; charset=utf-8", "html")

    return send


def _whole_page(pages: Pages, call: PageCall, found: TurnBlame) -> str:
    data = {**blame_data(found, most=_MOST), **turn_links(call)}
    return pages.render("blame_file.html", {**data, "style": asset_text("studio.css")})


def _file(call: PageCall, content: bytes, media_type: str, ending: str) -> Response:
    who = call.request.path_params.get("persona") or call.request.path_params["agent"]
    plain = "".join(one for one in str(who) if one.isascii() and (one.isalnum() or one in "-_"))
    name = f"{plain or 'turn'}-{call.number('entry')}.{ending}"
    named = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, headers={**HEADERS, **named}, media_type=media_type)


def _unknown() -> RequestRefused:
    return RequestRefused(
        "the request cannot be put together again",
        hint="the page of the turn says why",
        status=404,
    )
