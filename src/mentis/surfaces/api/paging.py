"""Pages of lists. A cursor names the item that the next page begins after, so that what is added or
taken away meanwhile moves nothing.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from typing import TypeVar

from mentis.errors import RequestRefused

from .operation import ListPage, PageQuery

T = TypeVar("T")


def write_cursor(after: str | int) -> str:
    return base64.urlsafe_b64encode(json.dumps(after).encode()).decode().rstrip("=")


def cursor_text(cursor: str) -> str:
    """The name that the page begins after."""
    found = _read(cursor)
    if not isinstance(found, str):
        raise _unknown(cursor)
    return found


def cursor_number(cursor: str) -> int:
    """The number that the page begins after."""
    found = _read(cursor)
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found < 2**53:
        raise _unknown(cursor)
    return found


def page_of(
    found: Sequence[T],
    query: PageQuery,
    name: Callable[[T], str],
    told: Callable[[T], object],
    *,
    is_sorted: bool = False,
) -> ListPage:
    """A page of a list whose items have names. A sorted one can be gone on with after an item that
    is there no more.
    """
    begin = _begin(found, query.cursor, name, is_sorted=is_sorted) if query.cursor else 0
    chosen = found[begin : begin + query.limit]
    more = begin + query.limit < len(found)
    return ListPage([told(one) for one in chosen], name(chosen[-1]) if more else None)


def _begin(found: Sequence[T], cursor: str, name: Callable[[T], str], *, is_sorted: bool) -> int:
    after = cursor_text(cursor)
    for place, one in enumerate(found):
        if name(one) == after:
            return place + 1
        if is_sorted and name(one) > after:
            return place
    if is_sorted:
        return len(found)
    raise RequestRefused(
        f"what the cursor stood at is not in the list any more: {after!r}",
        hint="begin again without a cursor",
        status=410,
    )


def _read(cursor: str) -> object:
    try:
        return json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError) as error:
        raise _unknown(cursor) from error


def _unknown(cursor: str) -> RequestRefused:
    return RequestRefused(
        f"{cursor[:80]!r} is no cursor of this list",
        hint="take the `next` of a page of it, or leave it out",
        status=422,
        field="cursor",
    )
