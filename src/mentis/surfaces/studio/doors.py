"""The paths under /studio/."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mentis.errors import MentisError, RequestRefused
from mentis.web.application import Door, Endpoint
from mentis.web.served import ServedParts

from . import talk
from .assets import PREFIX, send_asset
from .bill import bill_doors
from .blame_files import blame_doors
from .done import done_doors
from .entering import HOME, StudioEntrance
from .jump import jump_page
from .mind import mind_doors
from .pages import HEADERS, Pages, reader_of
from .prompts import prompt_doors
from .proof import proof_doors
from .search import search_page
from .what_if import what_if_doors


def doors(served: ServedParts) -> list[Door]:
    """All of them, for a home that is served."""
    pages = Pages(served)
    return [
        Door("/studio", _begin, None),
        Door(HOME, _begin, None),
        Door(f"{PREFIX}/{{name:path}}", send_asset, None),
        *StudioEntrance(served, pages).doors(),
        *pages.doors("/studio/jump", "jump.html", jump_page),
        *pages.doors("/studio/talk", "sessions.html", talk.list_page),
        *pages.doors("/studio/talk/{persona}", "sessions.html", talk.list_page),
        *pages.doors("/studio/talk/{persona}/{session}", "talk.html", talk.talk_page),
        talk.branch_door(pages),
        talk.picture_door(pages),
        *pages.doors("/studio/search", "search.html", search_page),
        *blame_doors(pages),
        *bill_doors(pages),
        *proof_doors(pages),
        *done_doors(pages),
        *prompt_doors(pages),
        *what_if_doors(pages),
        *mind_doors(pages),
        Door("/studio/{rest:path}", _missing(pages), None),
    ]


async def _begin(_request: Request) -> Response:
    return RedirectResponse("/studio/talk", 303, headers=dict(HEADERS))


def _missing(pages: Pages) -> Endpoint:
    async def missing(request: Request) -> Response:
        """A page that is not there, told as a page."""
        try:
            reader_of(request)
            raise RequestRefused(
                "there is no such page",
                hint="the screens stand at the top, and Ctrl K leads anywhere",
                status=404,
            )
        except MentisError as error:
            return pages.problem(request, error)

    return missing
