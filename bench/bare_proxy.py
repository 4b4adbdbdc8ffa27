"""`python -m bench.bare_proxy PORT TARGET`: the least that passes calls on, of the same stack as
the recorder (Starlette, uvicorn, httpx2): no copy, no record, no check of anything.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

_HOP = {"host", "connection", "transfer-encoding"}


def application(target: str) -> Starlette:
    client = httpx2.AsyncClient(base_url=target, timeout=None, limits=httpx2.Limits())

    async def relay(request: Request) -> Response:
        headers = {name: text for name, text in request.headers.items() if name not in _HOP}
        url = f"/{request.path_params['path']}"
        asked = client.build_request(request.method, url, headers=headers, content=request.stream())
        answer = await client.send(asked, stream=True)

        async def pieces() -> AsyncIterator[bytes]:
            try:
                async for piece in answer.aiter_raw():
                    yield piece
            finally:
                await answer.aclose()

        back = {name: text for name, text in answer.headers.items() if name not in _HOP}
        return StreamingResponse(pieces(), answer.status_code, back)

    return Starlette(routes=[Route("/{path:path}", relay, methods=["GET", "POST"])])


if __name__ == "__main__":
    uvicorn.run(
        application(sys.argv[2]),
        port=int(sys.argv[1]),
        http="h11",
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="critical",
    )
