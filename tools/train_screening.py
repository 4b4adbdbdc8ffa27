"""Train the screening model, measure it on sources it has not seen, and write its files.

    python tools/train_screening.py DEV.jsonl [--write]

DEV.jsonl holds labelled texts (text, label, lang, source, licence); everything else lies in the
repository. The vectors are made by the default embedder, whose weights must be installed (`mentis
models install minilm-l6`). The same files give the same model. Needs numpy and nothing else. Rows
under a share-alike licence are measured and never trained on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from mentis.engines.catalogue import MINILM
from mentis.engines.embedders import GlossedMiniLm
from mentis.engines.gloss import gloss
from mentis.engines.minilm import DIMENSION, MiniLm
from mentis.engines.weights import find_weights
from mentis.recall.screening.features import BITS, BUCKETS
from mentis.recall.screening.fusion import WAYS, weighs
from mentis.recall.screening.vector import FORMAT, LENS
from screening_figures import RATES, by_language, crossed, report, thresholds, worst
from screening_fit import Floats, Matrix, train_text
from screening_parts import FRAGMENTS
from screening_rows import DATA, ORDINARY, REQUESTS, Row, gather, rows_of
from screening_votes import PATTERNS, Votes, ways


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dev", type=Path)
    parser.add_argument("--write", action="store_true", help="train on everything, write the files")
    options = parser.parse_args()
    rows = gather(options.dev)
    votes = Votes(rows, vectors_of(rows))
    told(f"{len(rows)} texts")
    votes.leave_each_out()
    languages = votes.leave_languages_out()
    scores = {way: votes.fused(names) for way, names in ways().items()}
    limits = {
        way: {one: thresholds(votes, scores[weighs(way)], rate) for one, rate in RATES[way].items()}
        for way in WAYS
    }
    figures = {
        way: report(votes, scores[weighs(way)], limits[way]["dropped"])
        | {"dropped_crosswise": crossed(votes, scores[weighs(way)], RATES[way]["dropped"])}
        for way in WAYS
    }
    for way, names in ways().items():
        figures[way]["both_by_language"] = by_language(votes, languages, names)
    print(json.dumps({"figures": figures, "thresholds": limits}, indent=1))
    high = limits["vector"]["dropped"]
    margin = scores["vector"] - np.array([high.get(row.lang, high["other"]) for row in rows])
    told("\n".join(worst(rows, margin, 40)))
    if options.write:
        write(votes, options.dev, {"thresholds": limits, "rates": RATES, "left_out": figures})


def told(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def vectors_of(rows: Sequence[Row]) -> Floats:
    """The meaning part of what each text would be stored with."""
    weights = find_weights(MINILM.name)
    model = MiniLm(weights, weights.with_name("vocab.txt"))
    known: dict[str, Floats] = {}
    for number, row in enumerate(rows):
        if row.text not in known:
            known[row.text] = model.vector(gloss(row.text)).astype(np.float64)
        if number % 1000 == 0:
            told(f"  vectors: {number}")
    return np.stack([known[row.text] for row in rows])


def write(votes: Votes, dev: Path, measured: Mapping[str, object]) -> None:
    trained = votes.trained
    models = train_text(votes.matrix, trained)
    made: dict[str, object] = {"bits": BITS}
    for name, weights in zip(("windows", "whole"), models, strict=True):
        made[name] = write_weights(votes.matrix, name, weights)
    write_vector(votes)
    made["fusion"] = {way: votes.fusion(names) for way, names in ways().items()}
    made |= measured
    made["provenance"] = provenance(dev)
    text = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
    (DATA / "model.json").write_text(text, "utf-8")


def write_weights(matrix: Matrix, name: str, weights: Floats) -> dict[str, object]:
    dense = np.zeros(BUCKETS)
    dense[matrix.used] = weights[:-1]
    scale = float(np.abs(dense).max()) / 32000
    raw = np.rint(dense / scale).astype("<i2").tobytes()
    (DATA / f"{name}.bin").write_bytes(zlib.compress(raw, 9))
    digest = hashlib.sha256(raw).hexdigest()
    return {"scale": scale, "bias": float(weights[-1]), "sha256": digest}


def write_vector(votes: Votes) -> None:
    """One line that says what it is, then the head, the lens, each attack (our own patterns first,
    whose categories are told) and each harmless text, in small numbers.
    """
    head = votes.head(votes.trained)
    scale = float(np.abs(head[:-1]).max()) / 32000
    attacks, others = votes.known(votes.trained)
    own = np.isin(votes.source, PATTERNS)
    lens = votes.lens(votes.trained)
    vectors = votes.through(lens)
    raw = np.rint(head[:-1] / scale).astype("<i2").tobytes()
    raw += np.rint(lens * LENS).astype("<i2").tobytes()
    raw += b"".join(_small(vectors[some]) for some in (own, attacks & ~own, others))
    categories = [one["category"] for one in rows_of(DATA / "patterns.jsonl")]
    fingerprint = GlossedMiniLm(Path()).fingerprint
    told_first = {
        "format": FORMAT,
        "encoder": fingerprint.partition("+")[0],
        "trained_with": fingerprint,
        "length": int(fingerprint.split("/")[1]),
        "meaning": DIMENSION,
        "normalised": "l2",
        "generator": "tools/train_screening.py",
        "scale": scale,
        "bias": float(head[-1]),
        "categories": categories,
        "attacks": int(attacks.sum()),
        "others": int(others.sum()),
        "sha256": hashlib.sha256(raw).hexdigest(),
    }
    line = json.dumps(told_first, ensure_ascii=False).encode()
    (DATA / "vector.bin").write_bytes(line + b"\n" + zlib.compress(raw, 9))


def _small(vectors: Floats) -> bytes:
    most = np.abs(vectors).max(axis=1, keepdims=True)
    return np.rint(vectors / most * 127).astype(np.int8).tobytes()


def provenance(dev: Path) -> dict[str, object]:
    used = {(one["source"], one["licence"]) for path in (dev, ORDINARY) for one in rows_of(path)}
    named = [f"{source} ({licence})" for source, licence in sorted(used) if "SA" not in licence]
    inputs = (dev, ORDINARY, REQUESTS, FRAGMENTS, DATA / "patterns.jsonl")
    return {
        "trained_with": "tools/train_screening.py",
        "vectors": GlossedMiniLm(Path()).fingerprint,
        "inputs": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in inputs},
        "sources": [
            *named,
            "patterns.jsonl and its twins (own)",
            "screening_requests.jsonl (own)",
            "screening_fragments.txt (own)",
        ],
        "not_trained_on": [
            "xquad (CC BY-SA 4.0)",
            "calibration.jsonl (own)",
            "screening_unseen.jsonl (own)",
        ],
    }


if __name__ == "__main__":
    main()
