"""`read_result`: the parts of an earlier result that was too long to be shown whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from anyio.to_thread import run_sync

from mentis.ports.blob_store import BlobStore
from mentis.values.act import ActCall
from mentis.values.action import Outcome
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust
from mentis.values.written import dump

from .arguments import Arguments, Unfit
from .kind import BuiltIn, Kind

MOST_BYTES = 6 * 1024
READ = Kind("read_result", "core", limits="6 KiB at a time, 4 KiB unless asked for more")
# Whether this agent was told of a blob by that digest: another one's results are not its own.
Told: TypeAlias = Callable[[str, str], bool]
_FURTHEST = 2**53 - 1


class ReadResult(BuiltIn):
    """`inline_bytes` is what a result may have to be shown as it is: no part is larger."""

    def __init__(
        self, words: ToolDeclaration, blobs: BlobStore, told: Told, *, inline_bytes: int = 8 * 1024
    ) -> None:
        super().__init__(READ.spec(words))
        self._blobs = blobs
        self._told = told
        self._inline_bytes = inline_bytes

    async def _act(self, call: ActCall, given: Arguments) -> Outcome:
        name = given.text("digest", most=100)
        start = given.whole("start", 0, _FURTHEST, 0)
        length = given.whole("length", 1, MOST_BYTES, 4096)
        content = await run_sync(self._read, call.agent, name, start, length)
        if content is None:
            return self._failed(call, "not_found", f"no result is kept as {name!r}")
        if start and not content:
            raise Unfit(f"start: the result ends before byte {start}")
        return self._done(call, self._part(content, start, length), Trust.UNTRUSTED, source=name)

    def _read(self, agent: str, name: str, start: int, length: int) -> bytes | None:
        if not self._told(agent, name):
            return None
        # As many more as a last character may have, and one to know whether anything follows.
        return self._blobs.read(name, start=start, length=length + 4)

    def _part(self, content: bytes, start: int, length: int) -> dict[str, object]:
        """Cut between characters, and short enough when written as JSON."""
        while True:
            piece = _whole_characters(content, length)
            end, more = start + len(piece), len(piece) < len(content)
            part: dict[str, object] = {
                "start": start,
                "next": end if more else None,
                "text": piece.decode("utf-8", "replace"),
            }
            if length <= 1 or len(dump(part)) <= self._inline_bytes:
                return part
            length //= 2


def _whole_characters(content: bytes, length: int) -> bytes:
    """`length` bytes, or up to three more, so that no character is cut; binary is cut anywhere."""
    end = min(length, len(content))
    for longer in range(end, min(end + 4, len(content) + 1)):
        if longer == len(content) or content[longer] & 0xC0 != 0x80:
            return content[:longer]
    return content[:end]
