"""GGUF files for tests: a real header, and no tensors behind it."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

GgufValue = str | int | Sequence[str] | Sequence[float]
LLAMA: Mapping[str, GgufValue] = {
    "general.architecture": "llama",
    "general.name": "A little llama",
    "llama.context_length": 4096,
    "tokenizer.ggml.tokens": ["<s>", "</s>", "hello"],
    "tokenizer.ggml.scores": [0.0, 0.5, 1.0],
    "tokenizer.chat_template": "{{ messages }}",
}


def gguf_bytes(values: Mapping[str, GgufValue] = LLAMA, *, version: int = 3) -> bytes:
    rows = b"".join(_text(key) + _value(value) for key, value in values.items())
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(values)) + rows


def write_gguf(path: Path, values: Mapping[str, GgufValue] = LLAMA, *, padding: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gguf_bytes(values))
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size + padding)
    return path


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: GgufValue) -> bytes:
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    texts = [_text(one) if isinstance(one, str) else struct.pack("<f", one) for one in value]
    kind = 8 if isinstance(value[0], str) else 6
    return struct.pack("<IIQ", 9, kind, len(value)) + b"".join(texts)
