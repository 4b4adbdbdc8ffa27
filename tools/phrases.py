"""Writes src/mentis/recall/data/phrases.bin: the vectors of phrases.jsonl, a byte for each number.

`python tools/phrases.py`. Needs the weights of minilm-l6 (`mentis models install minilm-l6`).
The phrases are English, so the vectors do not change with the gloss.
"""

from __future__ import annotations

import json
import zlib
from functools import partial
from pathlib import Path

import anyio
import numpy as np

from mentis.engines.embedders import open_embedder
from mentis.recall.phrasebook import asked, digest

TARGET = Path(__file__).resolve().parent.parent / "src/mentis/recall/data/phrases.bin"


def main() -> None:
    entries = asked()
    embedder, _ = open_embedder("minilm")
    texts = [text for one in entries for text in one.texts]
    rows = np.array(anyio.run(partial(embedder.embed, texts)), dtype=np.float32)
    small = (rows * (127 / np.abs(rows).max(axis=1, keepdims=True))).round().astype(np.int8)
    header = {
        "model": embedder.fingerprint.partition("+")[0],
        "dimension": str(rows.shape[1]),
        "digest": digest(entries),
    }
    line = json.dumps(header, sort_keys=True).encode()
    TARGET.write_bytes(line + b"\n" + zlib.compress(small.tobytes(), 9))
    print(f"{len(texts)} texts of {len(entries)} entries, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
