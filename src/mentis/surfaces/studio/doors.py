"""The paths under /studio/."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mentis.web.application import Door
from mentis.web.served import ServedParts

from . import talk
from .assets import PREFIX, send_asset
from .blame import blame_doors
from .entering import HOME, Entrance
from .pages import HEADERS, Pages


def doors(served: ServedParts) -> list[Door]:
    """All of them, for a home that is served."""
    pages = Pages(served)
    return [
        Door("/studio", _begin, None),
        Door(HOME, _begin, None),
        Door(f"{PREFIX}/{{name:path}}", send_asset, None),
        *Entrance(served, pages).doors(),
        *pages.doors("/studio/talk", "sessions.html", talk.list_page),
        *pages.doors("/studio/talk/{persona}", "sessions.html", talk.list_page),
        *pages.doors("/studio/talk/{persona}/{session}", "talk.html", talk.talk_page),
        talk.branch_door(pages),
        *blame_doors(pages),
    ]


async def _begin(_request: Request) -> Response:
    return RedirectResponse("/studio/talk", 303, headers=dict(HEADERS))
