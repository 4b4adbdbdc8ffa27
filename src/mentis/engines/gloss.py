"""A text in German, French, Portuguese or Spanish, word by word into English.

The default model reads English. Word order and grammar are lost here, and it needs neither: what is
left of a sentence is enough to find what it is about. English stays as it is; only a name such as
`plan.txt` is called a file, in every language.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files

from mentis.values.function_words import FUNCTION_WORDS, fold
from mentis.values.value import Value

LANGUAGES = ("de", "fr", "pt", "es")
# A name with a dot, slash, at-sign or underscore inside is a path or an address: it stays.
_WORD = re.compile(r"\w+(?:[./@_]\w+)+|[^\W_]+(?:-[^\W_]+)*|[^\w\s]")
# The model does not know that a name with such an ending is a file.
_FILE = re.compile(
    r"\b[\w-]+\.(?:md|txt|py|js|ts|rs|go|java|json|ya?ml|toml|ini|cfg|log|xml|html|css|sh|bak|db)\b",
    re.IGNORECASE,
)
# Letters that give a language away, and what one of them weighs against a word.
_LETTERS: Mapping[str, str] = {"de": "äöüß", "fr": "èêëîïôûùœç", "pt": "ãõâôçà", "es": "ñ¿¡"}
_LETTER_WEIGHT = 0.5
_QUESTION_ROWS = 10  # the rows of words.tsv whose words count although they are function words
_SHORTEST_STEM = 5
_LONGEST = 8_000  # characters


@dataclass(frozen=True, slots=True)
class Glossary(Value):
    """Foreign words, folded, and the English for each; `english` holds all words on that side."""

    words: Mapping[str, Mapping[str, str]]
    stems: Mapping[str, Mapping[str, str]]
    english: frozenset[str]
    digest: str


def gloss(text: str) -> str:
    """The text for a model that reads English; as it came when it is English or nothing we know."""
    found = _WORD.findall(text[:_LONGEST])
    folded = [fold(word) for word in found]
    language = detect(text, folded)
    read = text if language == "en" else " ".join(_glossed(found, folded, language))
    return _FILE.sub(r"file \g<0>", read)


def detect(text: str, folded: Sequence[str]) -> str:
    """The language most words speak for; English when none does."""
    glossary = load_glossary()
    votes: dict[str, float] = dict.fromkeys(("en", *LANGUAGES), 0.0)
    for word in folded:
        speakers = [name for name in votes if word in FUNCTION_WORDS[name]]
        known = [name for name in LANGUAGES if word in glossary.words[name]]
        if word in glossary.english:
            known.append("en")
        for name in speakers:
            votes[name] += 1 / len(speakers)
        for name in known:
            votes[name] += 0.7 / len(known)
    lowered = text[:_LONGEST].casefold()
    for language, letters in _LETTERS.items():
        votes[language] += _LETTER_WEIGHT * sum(letter in lowered for letter in letters)
    return max(votes, key=lambda name: votes[name])


def _glossed(found: Sequence[str], folded: Sequence[str], language: str) -> Iterator[str]:
    glossary = load_glossary()
    words, stems = glossary.words[language], glossary.stems[language]
    for word, plain in zip(found, folded, strict=True):
        english = words.get(plain)
        if english is not None:
            yield english
        elif plain in glossary.english or not plain.isalpha():
            yield word
        elif plain not in FUNCTION_WORDS[language]:
            yield _derived(plain, words, stems, compounds=language == "de") or word


def _derived(
    word: str, words: Mapping[str, str], stems: Mapping[str, str], *, compounds: bool
) -> str | None:
    """By its parts, where a language joins words; else by the longest beginning it shares."""
    if compounds:
        for cut in range(len(word) - 3, 3, -1):
            first, rest = word[:cut], word[cut:]
            second = words.get(rest)
            english = words.get(first) or words.get(first[:-1])  # -s- or -n- may join the two
            if second and english:
                return f"{english} {second}"
    for length in range(len(word), max(_SHORTEST_STEM, len(word) - 3) - 1, -1):
        if english := stems.get(word[:length]):
            return english
    return None


@cache
def load_glossary() -> Glossary:
    folder = files("mentis.engines") / "data"
    learned = (folder / "learned.json").read_text(encoding="utf-8")
    written = (folder / "words.tsv").read_text(encoding="utf-8")
    words = _learned(learned)
    for language, found in _written(written).items():
        words[language].update(found)
    english = frozenset(
        fold(part) for found in words.values() for text in found.values() for part in text.split()
    )
    digest = sha256(f"{learned}\0{written}".encode()).hexdigest()
    stems = {language: _stems(found) for language, found in words.items()}
    return Glossary(words, stems, english, digest)


def _learned(content: str) -> dict[str, dict[str, str]]:
    packed: Mapping[str, str] = json.loads(content)["words"]
    found: dict[str, dict[str, str]] = {}
    for language in LANGUAGES:
        pairs = (entry.partition("=") for entry in packed[language].split())
        skipped = FUNCTION_WORDS[language]
        found[language] = {word: english for word, _, english in pairs if word not in skipped}
    return found


def _written(content: str) -> dict[str, dict[str, str]]:
    """Rows written by hand. The first row that has a word decides it."""
    found: dict[str, dict[str, str]] = {language: {} for language in LANGUAGES}
    rows = [line.split("\t") for line in content.splitlines() if not line.startswith("#")]
    for number, (english, *columns) in enumerate(rows):
        for language, column in zip(LANGUAGES, columns, strict=True):
            for word in map(fold, column.split()):
                telling = number < _QUESTION_ROWS or word not in FUNCTION_WORDS[language]
                if telling and len(word) > 2:
                    found[language].setdefault(word, english)
    return found


def _stems(words: Mapping[str, str]) -> dict[str, str]:
    """Every beginning of a word that belongs to one meaning only, or to the shortest word."""
    stems: dict[str, str] = {}
    for word in sorted(words, key=lambda word: (len(word), word)):
        for length in range(max(_SHORTEST_STEM, len(word) - 2), len(word) + 1):
            stems.setdefault(word[:length], words[word])
    return stems
