"""Notices of one MCP server, in a list that cannot grow without end."""

from __future__ import annotations

import logging
from collections import OrderedDict

from .told import McpNotice, NoticeKind

_LOG = logging.getLogger("mentis.act.mcp")
_LONGEST = 500


class ServerNotices:
    """Equal ones are counted; the oldest make room. Each is logged the first time."""

    def __init__(self, server: str, most: int) -> None:
        self._server = server
        self._most = most
        self._kept: OrderedDict[tuple[NoticeKind, str], int] = OrderedDict()

    def add(self, kind: NoticeKind, text: str) -> None:
        key = (kind, text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
        if key not in self._kept:
            _LOG.info("%s: %s: %s", self._server, *key)
        self._kept[key] = self._kept.pop(key, 0) + 1
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def all(self) -> tuple[McpNotice, ...]:
        return tuple(
            McpNotice(self._server, kind, text, count) for (kind, text), count in self._kept.items()
        )
