"""A packed answer, unpacked a piece at a time: one that was cut short is told, not taken as short.

Plain answers are asked for; a server that packs them all the same is read, but not trusted.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from mentis.errors import ProviderUnreachable
from mentis.values.route import Route

if TYPE_CHECKING:
    from zlib import _Decompress  # pyright: ignore[reportPrivateUsage]  # a name for types only

PACKINGS = frozenset({"gzip", "x-gzip"})
_GZIP = 16 + zlib.MAX_WBITS
_AT_ONCE = 65_536  # a few packed bytes may hold very many plain ones


async def unpack(pieces: AsyncIterator[bytes], route: Route) -> AsyncIterator[bytes]:
    """The plain bytes, or the error that says where they end."""
    unpacker, began = zlib.decompressobj(_GZIP), False
    try:
        async for piece in pieces:
            began = began or bool(piece)
            for plain in _plain(unpacker, piece):
                yield plain
    except zlib.error as error:
        raise _broken(route, f"it is not packed as it says: {error}") from error
    if began and not unpacker.eof:
        raise _broken(route, "it breaks off")


def _plain(unpacker: _Decompress, piece: bytes) -> Iterator[bytes]:
    while piece and not unpacker.eof:
        plain = unpacker.decompress(piece, _AT_ONCE)
        piece = unpacker.unconsumed_tail
        if plain:
            yield plain


def _broken(route: Route, why: str) -> ProviderUnreachable:
    return ProviderUnreachable(
        f"route {route.name!r}: the packed answer of {route.url} cannot be read: {why}",
        hint="the connection, or a proxy on the way, cut it short: try again",
        url=route.url,
    )
