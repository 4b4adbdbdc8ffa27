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
from mentis.values.digest import digest

from .operation import ListPage, PageQuery

T = TypeVar("T")


def list_tag(path: str, query: PageQuery) -> str:
    """The list that a cursor is of: where it is, and what was asked of it."""
    asked = query.model_dump(mode="json", exclude={"limit", "cursor"})
    return digest(json.dumps([path, asked], sort_keys=True).encode())[7:19]


def write_cursor(tag: str, after: str | int) -> str:
    told = json.dumps([tag, after]).encode()
    return base64.urlsafe_b64encode(told).decode().rstrip("=")


def check_cursor(cursor: str, tag: str) -> None:
    """RequestRefused where it is of another list: what stands after it there says nothing here."""
    if _told(cursor)[0] != tag:
        raise _unknown(cursor)


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
    return _told(cursor)[1]


def _told(cursor: str) -> tuple[object, object]:
    """The list, and what the page begins after."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True)
        tag, after = json.loads(raw)
    except (binascii.Error, ValueError, TypeError, RecursionError) as error:
        raise _unknown(cursor) from error
    return tag, after


def _unknown(cursor: str) -> RequestRefused:
    return RequestRefused(
        f"{cursor[:80]!r} is no cursor of this list",
        hint="take the `next` of a page of it, or leave it out",
        status=422,
        field="cursor",
    )
