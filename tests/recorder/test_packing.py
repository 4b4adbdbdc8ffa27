"""Packed bodies are read where that is possible, and never grow without a limit."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

import pytest

from mentis.recorder.packing import unpack
from mentis.recorder.reading import read_call

from .foreign import OPENAI, call_copy

TEXT = b'{"model": "m", "input": "h\xc3\xa9llo"}' * 200


def packer(*names: str) -> ModuleType:
    for name in names:
        try:
            return import_module(name)
        except ModuleNotFoundError:
            continue
    raise AssertionError(f"none of {names}: the extra serve brings it")


def brotli(content: bytes) -> bytes:
    return packer("brotli", "brotlicffi").compress(content)


def zstd(content: bytes) -> bytes:
    return packer("compression.zstd", "backports.zstd").compress(content)


def bare_deflate(content: bytes) -> bytes:
    return zlib.compress(content)[2:-4]


PACKERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "zlib": ("deflate", zlib.compress),
    "bare": ("deflate", bare_deflate),
    "brotli": ("br", brotli),
    "zstd": ("zstd", zstd),
}


@pytest.mark.parametrize("kind", PACKERS)
def test_a_packed_body_is_read_and_a_bomb_is_not(kind: str) -> None:
    name, pack = PACKERS[kind]
    assert unpack(pack(TEXT), name, 100_000) == TEXT
    assert unpack(pack(TEXT), name, len(TEXT)) == TEXT
    assert unpack(pack(bytes(5_000_000)), name, 100_000) is None
    assert unpack(b"\x00 nothing of the kind", name, 100_000) is None


@pytest.mark.parametrize("kind", ["gzip", "brotli", "zstd"])
def test_of_a_packed_body_that_broke_off_is_read_what_came(kind: str) -> None:
    name, pack = PACKERS[kind]
    packed = pack(bytes(range(256)) * 400)
    found = unpack(packed[: len(packed) - 12], name, 1_000_000)
    assert found is not None
    assert (bytes(range(256)) * 400).startswith(found)


def test_packed_twice_is_read_twice() -> None:
    assert unpack(zstd(gzip.compress(TEXT)), "gzip, zstd", 100_000) == TEXT


def test_frames_of_zstd_may_follow_each_other() -> None:
    assert unpack(zstd(b"a") + zstd(b"b"), "zstd", 100) == b"ab"


@pytest.mark.parametrize(
    ("packing", "missing"), [("compress", ()), ("br", ("brotli", "brotlicffi"))]
)
def test_a_body_that_cannot_be_read_is_not_kept_and_says_why(
    monkeypatch: pytest.MonkeyPatch, packing: str, missing: tuple[str, ...]
) -> None:
    packed = brotli(b"a secret")
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    headers = [(b"content-encoding", packing.encode())]
    call = read_call(call_copy(OPENAI, "/v1/responses", packed, b"{}", headers=headers), ())
    assert (call.request.content, call.request.length) == (None, len(packed))
    assert call.request.left_out == f"packed as {packing!r}, which is not read"
