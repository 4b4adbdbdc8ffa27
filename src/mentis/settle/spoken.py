"""The words of an answer that is bound to the form `{"text": "..."}`, while they come."""

from __future__ import annotations

import json
import re
from typing import cast

_OPENING = re.compile(r'\s*\{\s*"text"\s*:\s*"')
_MAY_OPEN = re.compile(r'\s*(?:\{\s*(?:"(?:t(?:e(?:x(?:t(?:"\s*(?::\s*)?)?)?)?)?)?)?)?\Z')
# As much of a JSON text as can be read already: no escape, no pair of halves is cut in two.
_READABLE = re.compile(
    r'(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}'
    r"|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}))*"
)


class SpokenText:
    """Feed it the pieces; it gives the words in them.

    `found` says whether it is such an answer, once that is known; if it is not, `unread` is what
    came so far.
    """

    def __init__(self) -> None:
        self.found: bool | None = None
        self._over = False
        self._rest = ""

    @property
    def unread(self) -> str:
        return self._rest

    def feed(self, piece: str) -> str:
        if self._over:
            return ""
        self._rest += piece
        if self.found is None and not self._opened():
            return ""
        readable = _READABLE.match(self._rest)
        if readable is None:
            return ""
        self._rest = self._rest[readable.end() :]
        self._over = self._rest.startswith('"')
        return cast("str", json.loads(f'"{readable[0]}"'))

    def _opened(self) -> bool:
        opening = _OPENING.match(self._rest)
        if opening is not None:
            self.found, self._rest = True, self._rest[opening.end() :]
        elif _MAY_OPEN.match(self._rest) is None:
            self.found = False
        return self.found is True
