"""Writes src/mentis/recall/data/phrases.bin: the vectors of phrases.jsonl and smalltalk.txt.

`python tools/phrases.py`, after a change to either or to the words of the gloss. Needs the weights
of minilm-l6 (`mentis models install minilm-l6`). What is said is kept in the directions in which it
differs most, a byte for each number; a task is then compared with thousands of phrases in less time
than with one thousand whole.
"""

from __future__ import annotations

import json
import zlib
from functools import partial
from pathlib import Path

import anyio
import numpy as np
from numpy.typing import NDArray

from mentis.engines.embedders import open_embedder
from mentis.recall.phrasebook import digest, load_phrases, small_talk

TARGET = Path(__file__).resolve().parent.parent / "src/mentis/recall/data/phrases.bin"
DIRECTIONS = 192


def main() -> None:
    entries, talk = load_phrases(), small_talk()
    embedder, _ = open_embedder("minilm")
    texts = [text for one in entries for text in one.texts]
    rows = np.array(anyio.run(partial(embedder.embed, [*texts, *talk])), dtype=np.float32)
    _, _, found = np.linalg.svd(rows, full_matrices=False)
    directions = in_bytes(found[:DIRECTIONS])
    said = rows @ (directions / np.linalg.norm(directions, axis=1, keepdims=True)).T
    counts = np.array([len(one.texts) for one in entries])
    first = np.cumsum(counts) - counts
    scale = float(np.abs(said).max()) / 127
    header = {
        "model": embedder.fingerprint.partition("+")[0],
        "dimension": str(rows.shape[1]),
        "directions": str(DIRECTIONS),
        "scale": f"{scale:.9g}",
        "digest": digest(entries, talk),
    }
    parts = (directions, in_bytes(rows[first]), (said / scale).round())
    data = b"".join(part.astype(np.int8).tobytes() for part in parts)
    TARGET.write_bytes(json.dumps(header, sort_keys=True).encode() + b"\n" + zlib.compress(data, 9))
    print(f"{len(rows)} texts of {len(entries)} entries, {TARGET.stat().st_size} bytes")


def in_bytes(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Each row stretched to whole numbers up to 127; its length is restored by who reads it."""
    return (rows * (127 / np.abs(rows).max(axis=1, keepdims=True))).round()


if __name__ == "__main__":
    main()
