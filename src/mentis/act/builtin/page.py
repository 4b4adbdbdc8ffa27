"""A page fetched from the web: as much of it as was asked for, as text if it is text."""

from __future__ import annotations

import codecs
from contextlib import aclosing
from dataclasses import dataclass
from email.message import Message
from typing import TYPE_CHECKING

from mentis.values.value import Value

if TYPE_CHECKING:
    import httpx2

_TEXTUAL = ("json", "xml", "javascript", "ecmascript", "yaml", "toml", "x-www-form-urlencoded")
# Of the decoders Python has, some are no encodings of pages, and some can be made to run for long.
_CHARSETS = ("utf", "iso8859", "cp125", "ascii", "koi8", "shift_jis", "euc", "gb", "big5")


@dataclass(frozen=True, slots=True)
class WebPage(Value):
    """`steps` are the addresses that led here, the last one is where it was found.

    `text` is None for what is no text. `lossy`: bytes that its charset does not have were replaced.
    """

    steps: tuple[str, ...]
    status: int
    type: str
    charset: str = ""
    length: int | None = None
    received: int = 0
    truncated: bool = False
    packed: str = ""
    text: str | None = None
    lossy: bool = False

    @property
    def url(self) -> str:
        return self.steps[-1]

    def to_object(self) -> dict[str, object]:
        """The facts, then the text."""
        return {
            "url": self.url,
            "redirected_from": list(self.steps[:-1]),
            "status": self.status,
            "type": self.type,
            "charset": self.charset,
            "length": self.length,
            "bytes": self.received,
            "truncated": self.truncated,
            "packed": self.packed,
            "lossy": self.lossy,
            "text": self.text,
        }


async def read_page(response: httpx2.Response, steps: tuple[str, ...], *, most: int) -> WebPage:
    """Never more than `most` bytes, whatever the server says or sends.

    What comes packed although that was not asked for stays packed: nobody knows how large it is.
    """
    kind, charset = _content_type(response.headers.get("content-type", ""))
    content, truncated = await _body(response, most)
    packed = response.headers.get("content-encoding", "").strip().lower()
    packed = "" if packed == "identity" else packed
    declared = response.headers.get("content-length", "")
    text = None if packed else _text(kind, content, charset, whole=not truncated)
    return WebPage(
        steps=steps,
        status=response.status_code,
        type=kind,
        charset=charset,
        length=int(declared) if declared.isascii() and declared.isdecimal() else None,
        received=len(content),
        truncated=truncated,
        packed=packed,
        text=text,
        lossy=text is not None and "\ufffd" in text,
    )


async def _body(response: httpx2.Response, most: int) -> tuple[bytes, bool]:
    content = bytearray()
    pieces = response.aiter_raw()
    async with aclosing(pieces):
        async for piece in pieces:
            content += piece[: most + 1 - len(content)]
            if len(content) > most:
                return bytes(content[:most]), True
    return bytes(content), False


def _content_type(header: str) -> tuple[str, str]:
    """The type, and a charset that is known: UTF-8 unless it says another one."""
    message = Message()
    message["content-type"] = header or "application/octet-stream"
    try:
        name = codecs.lookup(message.get_content_charset("utf-8")).name
    except LookupError:
        name = ""
    known = name.replace("-", "").startswith(tuple(each.replace("-", "") for each in _CHARSETS))
    return message.get_content_type(), name if known and name != "utf-7" else "utf-8"


def _text(kind: str, content: bytes, charset: str, *, whole: bool) -> str | None:
    if not (kind.startswith("text/") or kind.partition("/")[2].endswith(_TEXTUAL)):
        return None
    if b"\0" in content and not charset.startswith(("utf-16", "utf-32")):
        return None
    if content.startswith(codecs.BOM_UTF8):
        charset = "utf-8-sig"
    # A character that the cut went through is left out, not replaced.
    return codecs.getincrementaldecoder(charset)("replace").decode(content, final=whole)
