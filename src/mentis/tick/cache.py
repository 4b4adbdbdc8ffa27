"""Texts that model-backed helpers made, kept while nothing they were made from has changed."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass

from mentis.values.value import Value

_KEY_BYTES = 64  # the longest key that BLAKE2b takes


@dataclass(frozen=True, slots=True)
class HelperCacheKey(Value):
    """All that decides what a helper says: who says it, by which words, of what.

    `prompt` is the digest of its system prompt, `root` what the runtime adds of its own.
    """

    stage: str
    content: str
    prompt: str = ""
    route: str = ""
    root: tuple[str, ...] = ()


class HelperCache:
    """Bounded: what was not asked for longest goes first. `key` is the home's secret, so that
    nobody outside can tell from a key what was cached. Texts of a fallback never come here.
    """

    def __init__(self, key: bytes = b"", *, most: int = 512) -> None:
        self._key = key[:_KEY_BYTES]
        self._most = most
        self._texts: OrderedDict[bytes, str] = OrderedDict()
        self.hits = 0
        self.misses = 0

    def __len__(self) -> int:
        return len(self._texts)

    def find(self, origin: HelperCacheKey) -> str | None:
        key = self._digest(origin)
        text = self._texts.get(key)
        if text is None:
            self.misses += 1
            return None
        self._texts.move_to_end(key)
        self.hits += 1
        return text

    def keep(self, origin: HelperCacheKey, text: str) -> None:
        """A blank text says nothing, so it is not kept."""
        if not text.strip():
            return
        self._texts[self._digest(origin)] = text
        while len(self._texts) > self._most:
            self._texts.popitem(last=False)

    def _digest(self, origin: HelperCacheKey) -> bytes:
        parts = (origin.stage, origin.prompt, origin.route, *origin.root, origin.content)
        hashed = hashlib.blake2b(key=self._key, digest_size=16)
        hashed.update(len(parts).to_bytes(4, "big"))
        for part in parts:
            data = part.encode(errors="surrogatepass")
            hashed.update(len(data).to_bytes(8, "big"))
            hashed.update(data)
        return hashed.digest()
