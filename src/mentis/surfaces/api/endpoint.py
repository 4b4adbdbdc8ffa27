"""Doors of operations: who may come in, what is read, what is answered, and in which form."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from anyio import Lock, to_thread
from starlette.requests import Request
from starlette.responses import Response

from mentis.codec.forms import to_object
from mentis.errors import AccessDenied, MentisError, RequestRefused, StoreConflict
from mentis.values.reply import Delta, EndDelta, OutputDelta, ReasoningDelta
from mentis.web.agents import is_guest
from mentis.web.application import Door, token_of
from mentis.web.etags import etag_of, json_bytes
from mentis.web.problems import with_status
from mentis.web.streams import Emit, Streamed, sse, while_there
from mentis.web.tokens import AccessToken

from .events import problem_event
from .operation import (
    PREFIX,
    ApiCall,
    ApiDesk,
    ApiOperation,
    FileAnswer,
    Handler,
    ListPage,
    PageQuery,
)
from .paging import check_cursor, list_tag, write_cursor
from .reading import read_body, read_query

_EVENTS = "text/event-stream"
_UNFORESEEN = 428  # an edit without the word which state it is of
_STALE = 412


def door_of(operation: ApiOperation, desk: ApiDesk, editing: Lock) -> Door:
    """The door of one operation. `editing` lets one edit happen after the other."""

    async def answer(request: Request) -> Response:
        token = token_of(request)
        check_reach(operation, token)
        await _check_persona(operation, desk, token, request.path_params)
        path = _checked_path(operation, request.path_params)
        call = ApiCall(desk, token, path, last_event=request.headers.get("last-event-id", ""))
        given = await _given(operation, request)
        work = partial(_work, operation.handler, call, given)
        if operation.edits is not None:
            async with editing:
                return await _edited(operation, call, request, given)
        if operation.live and _EVENTS in request.headers.get("accept", ""):
            return _streamed(operation, call, given)
        return _written(operation, request, await while_there(request, work))

    return Door(PREFIX + operation.path, answer, operation.scope, (operation.method,))


def check_reach(operation: ApiOperation, token: AccessToken) -> None:
    """Guests, and tokens for one session, reach only what is theirs; tokens for one persona nothing
    that is of the whole home.
    """
    if operation.guests:
        return
    if is_guest(token) or token.session:
        whom = "guests" if is_guest(token) else "tokens that are for one conversation"
        raise AccessDenied(f"this is not for {whom}", hint="ask the owner", status=403)
    if token.agent and "persona" not in operation.parameters:
        raise AccessDenied(
            f"token {token.name!r} is for the persona {token.agent!r} alone",
            hint="use a token of the whole home: mentis tokens new NAME",
            status=403,
        )


async def _check_persona(
    operation: ApiOperation, desk: ApiDesk, token: AccessToken, path: Mapping[str, object]
) -> None:
    if "persona" not in operation.parameters:
        return
    known = await desk.pool.personas(token)
    if path["persona"] not in known:
        raise RequestRefused(
            f"there is no persona {path['persona']!r}",
            hint=f"there are: {', '.join(known) or 'none'}",
            status=404,
        )


def _checked_path(operation: ApiOperation, given: Mapping[str, Any]) -> dict[str, str]:
    for name in ("index", "number", "revision"):
        text = str(given.get(name, "0"))
        if not (text.isascii() and text.isdigit() and len(text) <= 15):
            raise RequestRefused(
                f"{text[:80]!r} is no number", hint="it is counted from 0", status=404
            )
    return {name: str(given[name]) for name in operation.parameters}


async def _given(operation: ApiOperation, request: Request) -> dict[str, object]:
    given: dict[str, object] = {}
    query = read_query(operation.query, request.query_params.multi_items())
    if isinstance(query, PageQuery) and query.cursor:
        check_cursor(query.cursor, list_tag(request.url.path, query))
    if "query" in _wanted(operation):
        given["query"] = query
    if operation.takes:
        given["raw"] = await request.body()
        if not given["raw"]:
            raise RequestRefused(
                "there is no body", hint=f"send {operation.takes}", status=422, field="body"
            )
    elif operation.body is not None:
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        given["body"] = read_body(operation.body, await request.body(), media)
    return given


def _wanted(operation: ApiOperation) -> tuple[str, ...]:
    code = operation.handler.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


async def _work(handler: Handler, call: ApiCall, given: Mapping[str, object]) -> object:
    """Those that block get a thread."""
    if inspect.iscoroutinefunction(handler):
        return await handler(call, **given)
    return await to_thread.run_sync(partial(handler, call, **given))


# Edits


async def _edited(
    operation: ApiOperation,
    call: ApiCall,
    request: Request,
    given: Mapping[str, object],
) -> Response:
    """Look whether the resource is as the client knows it, change it, and say what it is then.

    What else may write it (a command, another process) may do so between the look and the change:
    the change is told what was seen, and looks again where it holds the lock.
    """
    assert operation.edits is not None  # noqa: S101  # for the type checker
    look = partial(_work, operation.edits, call, {})
    wanted, seen = request.headers.get("if-match", ""), await look()
    _check_match(wanted, etag_of(seen))
    if wanted.strip() != "*":
        again = partial(_check_again, operation.edits, call, wanted)
        call = replace(call, seen=seen, unchanged=again)
    try:
        done = await _work(operation.handler, call, given)
    except StoreConflict as error:  # somebody else was faster, in another process
        raise with_status(error, _STALE) from error
    response = _written(operation, request, done)
    with suppress(MentisError):  # it may be gone
        response.headers["etag"] = etag_of(await look())
    return response


def _check_again(edits: Handler, call: ApiCall, wanted: str) -> None:
    """In the thread, and below the lock, of whoever writes now."""
    _check_match(wanted, etag_of(edits(call)))


def _check_match(wanted: str, current: str) -> None:
    if not wanted.strip():
        raise RequestRefused(
            "this changes something, and If-Match does not say which state of it you know",
            hint="GET it first, and send its ETag as If-Match; `*` means whatever it is now",
            status=_UNFORESEEN,
        )
    if wanted.strip() != "*" and current not in [one.strip() for one in wanted.split(",")]:
        raise RequestRefused(
            "it was changed since you read it, and nothing was written",
            hint="GET it again, put your change on what it is now, and send the new ETag",
            status=_STALE,
            current=current,
        )


# Answers


def _written(operation: ApiOperation, request: Request, done: object) -> Response:
    if isinstance(done, Response):
        return done
    if isinstance(done, FileAnswer):
        named = {"content-disposition": f'attachment; filename="{done.name}"'}
        return Response(done.content, media_type=done.media, headers=named)
    headers: dict[str, str] = {}
    if isinstance(done, ListPage):
        query = read_query(operation.query, request.query_params.multi_items())
        done, headers = _paged(done, query, request)
    if operation.method == "GET":
        headers["etag"] = etag_of(done)
        if headers["etag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
    return Response(
        json_bytes(done), operation.status, headers=headers, media_type="application/json"
    )


def _paged(
    page: ListPage, query: object, request: Request
) -> tuple[dict[str, object], dict[str, str]]:
    if page.after is None or not isinstance(query, PageQuery):
        return {"items": page.items, "next": None}, {}
    cursor = write_cursor(list_tag(request.url.path, query), page.after)
    others = [(name, one) for name, one in request.query_params.multi_items() if name != "cursor"]
    link = f"{request.url.path}?{urlencode([*others, ('cursor', cursor)])}"
    return {"items": page.items, "next": cursor}, {"link": f'<{link}>; rel="next"'}


# Turns as they come


def _streamed(operation: ApiOperation, call: ApiCall, given: Mapping[str, object]) -> Response:
    """Its pieces as events, then `end` with what is answered otherwise; `error` if it fails."""

    async def work(emit: Emit) -> None:
        hears = replace(call, tell=partial(_tell, emit, thoughts=not is_guest(call.token)))
        done = await _work(operation.handler, hears, given)
        emit(sse(json_bytes(done).decode(), "end"))

    return Streamed(work, fail=problem_event)


def _tell(emit: Emit, delta: Delta, *, thoughts: bool) -> None:
    match delta:
        case EndDelta():
            return  # what is answered in the end says more
        case ReasoningDelta() if not thoughts:
            return
        case OutputDelta():
            told: dict[str, object] = {"data": delta.data}
        case _:
            told = {name: one for name, one in to_object(delta).items() if name != "kind"}
    emit(sse(json_bytes(told).decode(), delta.kind))
