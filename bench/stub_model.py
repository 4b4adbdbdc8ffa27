"""`python -m bench.stub_model PORT`: a model that answers at once, streamed in many pieces.

How many is said by the path: `/v1/chat/completions` gives PIECES, `/N/v1/...` gives N. It is the
same for whoever asks, and as cheap as a server can be, so that what stands in front of it is what
is measured.
"""

from __future__ import annotations

import asyncio
import json
import sys

PIECES = 100
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def _chunk(event: object) -> bytes:
    data = b"data: " + (event if isinstance(event, bytes) else json.dumps(event).encode()) + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(data), data)


def _event(delta: dict[str, object], stop: str | None = None) -> dict[str, object]:
    choice = {"index": 0, "delta": delta, "finish_reason": stop}
    told = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {**told, "choices": [choice]}


_PIECE = _chunk(_event({"content": "word "}))
_USAGE = {"prompt_tokens": 5000, "completion_tokens": PIECES, "total_tokens": 5000 + PIECES}
_LAST = (
    _chunk(_event({}, "stop"))
    + _chunk({**_event({}), "choices": [], "usage": _USAGE})
    + _chunk(b"[DONE]")
    + b"0\r\n\r\n"
)


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            first = head.split(b"/", 2)[1]
            length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
            await _drop_body(reader, int(length) if length.strip() else None)
            writer.write(_HEAD + _chunk(_event({"role": "assistant", "content": ""})))
            for _ in range(int(first) if first.isdigit() else PIECES):
                writer.write(_PIECE)
                await writer.drain()
            writer.write(_LAST)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def _drop_body(reader: asyncio.StreamReader, length: int | None) -> None:
    if length is not None:
        await reader.readexactly(length)
        return
    while size := int(await reader.readuntil(b"\r\n"), 16):
        await reader.readexactly(size + 2)
    await reader.readexactly(2)


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]), backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
