"""Unpacks bodies: gzip and deflate, and brotli and zstd where their packages are there (the extra
`serve` brings them). A few packed bytes may hold very many plain ones, so there is a limit.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def unpack(content: bytes, packing: str, limit: int) -> bytes | None:
    """What `content-encoding` says was done last is undone first. None where nobody here can, where
    it is damaged, and where it is longer than `limit`.
    """
    for name in reversed([one.strip() for one in packing.lower().split(",")]):
        if name in ("", "identity") or not content:
            continue
        if name not in _UNPACKERS:
            return None
        plain = _UNPACKERS[name](content, limit)
        if plain is None or len(plain) > limit:
            return None
        content = plain
    return content


def _inflate(content: bytes, limit: int) -> bytes | None:
    for bits in (32 + zlib.MAX_WBITS, -zlib.MAX_WBITS):  # with a head of its own, or bare
        unpacker = zlib.decompressobj(bits)
        try:
            return unpacker.decompress(content, limit + 1)
        except zlib.error:
            continue
    return None


def _unbrotli(content: bytes, limit: int) -> bytes | None:
    brotli = _module("brotli", "brotlicffi")
    if brotli is None:
        return None
    unpacker, plain = brotli.Decompressor(), b""
    try:
        plain = unpacker.process(content, output_buffer_limit=limit + 1)
        while len(plain) <= limit and not unpacker.is_finished():
            piece = unpacker.process(b"", output_buffer_limit=limit + 1)
            if not piece:
                break  # it broke off: what came is kept
            plain += piece
    except brotli.error:
        return None
    return plain


def _unzstd(content: bytes, limit: int) -> bytes | None:
    zstd = _module("compression.zstd", "backports.zstd")
    if zstd is None:
        return None
    plain = b""
    try:
        while content and len(plain) <= limit:  # one frame after the other
            unpacker = zstd.ZstdDecompressor()
            plain += unpacker.decompress(content, max_length=limit + 1)
            content = unpacker.unused_data
    except zstd.ZstdError:
        return None
    return plain


def _module(*names: str) -> Any:  # noqa: ANN401  # a module
    for name in names:
        try:
            return import_module(name)
        except ModuleNotFoundError:
            continue
    return None


_UNPACKERS: Mapping[str, Callable[[bytes, int], bytes | None]] = {
    "gzip": _inflate,
    "x-gzip": _inflate,
    "deflate": _inflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
