"""A person's approvals, in memory."""

from __future__ import annotations

import hashlib
import hmac

from mentis.values.digest import Digest


class AcceptedInMemory:
    def __init__(self, secret: bytes = b"in memory") -> None:
        self._accepted: dict[tuple[str, str], Digest] = {}
        self._secret = secret

    def accept(self, agent: str, key: str, what: Digest) -> None:
        self._accepted[agent, key] = what

    def is_accepted(self, agent: str, key: str, what: Digest) -> bool:
        return self._accepted.get((agent, key)) == what

    def forget(self, agent: str, key: str) -> bool:
        return self._accepted.pop((agent, key), None) is not None

    def seal(self, text: str) -> str:
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()
