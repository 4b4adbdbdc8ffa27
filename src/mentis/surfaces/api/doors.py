"""The paths under /mentis/v1/, made from the table of operations."""

from __future__ import annotations

import json
from functools import cache

from anyio import Lock, to_thread
from starlette.requests import Request
from starlette.responses import Response

from mentis.stores.files.home import Home
from mentis.web.application import Door
from mentis.web.served import ServedParts

from .endpoint import door_of
from .events import HomeEvents
from .openapi import openapi_document
from .operation import PREFIX, ApiDesk
from .table import OPERATIONS


def doors(served: ServedParts) -> list[Door]:
    """All of them, for a home that is served."""
    home = Home(served.pool.path)
    events = HomeEvents(home, served.parts, served.settings, served.state)
    desk = ApiDesk(served.pool, served.tokens, served.parts, events)
    editing = Lock()
    made = [door_of(operation, desk, editing) for operation in OPERATIONS]
    return [Door(f"{PREFIX}/openapi.json", _document, "read"), *made]


async def _document(_request: Request) -> Response:
    return Response(await to_thread.run_sync(_written), media_type="application/json")


@cache
def _written() -> bytes:
    return json.dumps(openapi_document(), ensure_ascii=False).encode()
