"""A piece of a payload that is written once."""

from __future__ import annotations

from .written import dump

_KEPT_BYTES = 65_536


class Fragment(dict[str, object]):
    """A piece of a payload that is not changed once made, so it is written as JSON only once.

    What is large is not kept: it would be held twice, and it is mostly a picture sent once.
    """

    __slots__ = ("_encoded",)

    def encode(self) -> bytes:
        try:
            return self._encoded
        except AttributeError:
            written = dump(self)
            if len(written) <= _KEPT_BYTES:
                # A copy, for the writer leaves room behind what it wrote.
                written = self._encoded = bytes(memoryview(written))
            return written
