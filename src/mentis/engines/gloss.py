"""A text in German, French, Portuguese or Spanish, word by word into English.

The default model reads English. Word order and grammar are lost here, and it needs neither: what is
left of a sentence is enough to find what it is about. English stays as it is; only a name such as
`plan.txt` is called a file, and an address is called one, in every language.
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
# The model does not know that a name with such an ending is a file. Here and below a match begins
# with the whole name and gives nothing of it back: a long text takes its length, not the square.
_FILE = re.compile(
    r"(?<![\w-])(-*+)(\w[\w-]*+\."
    r"(?:md|txt|py|js|ts|rs|go|java|json|ya?ml|toml|ini|cfg|log|xml|html|css|sh|bak|db)\b)",
    re.IGNORECASE,
)
# Nor that these are addresses.
_MAIL = re.compile(r"(?<![\w.+-])([.+-]*+)(\w[\w.+-]*+@[\w-]++(?:\.[\w-]++)++)")
_PAGE = re.compile(
    r"(?<![\w@./-])(?:https?://\S+"
    r"|(?:[\w-]+\.)+(?:com|org|net|io|eu|uk|de|at|ch|fr|be|es|mx|pt|br)\b(?:/\S*)?)(?!@)",
    re.IGNORECASE,
)
# Letters that give a language away, and what one of them weighs against a word.
_LETTERS: Mapping[str, str] = {"de": "äöüß", "fr": "èêëîïôûùœç", "pt": "ãõâôçà", "es": "ñ¿¡"}
_LETTER_WEIGHT = 0.5
_QUESTION_ROWS = 10  # the rows of words.tsv whose words count although they are function words
_SHORTEST_STEM = 5
_SHORTEST_PART = 3  # letters of a word inside a compound
# What a verb carries at its end: muéstramelo, dime, cuéntaselo.
_ENCLITICS = re.compile(r"(?:(?:me|te|se|nos)?(?:lo|la|los|las|le|les)|me|te|se|nos|os)$")
# What joins the parts of a German word, the longest first.
_JOINTS = ("es", "en", "s", "n", "")
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
    return _named(read[:_LONGEST]) + read[_LONGEST:]


def _named(text: str) -> str:
    named = _PAGE.sub(r"web page url \g<0>", _MAIL.sub(r"\1email address \2", text))
    return _FILE.sub(r"\1file \2", named)


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
    for word, plain in zip(found, folded, strict=True):
        if word[0].isalnum():
            yield from _word(word, plain, language)


def _word(word: str, plain: str, language: str) -> Iterator[str]:
    """The English for a word, the word itself when it has none, nothing when it says nothing."""
    glossary = load_glossary()
    words = glossary.words[language]
    if english := words.get(plain):
        yield english
    elif plain in FUNCTION_WORDS[language]:
        return
    elif "-" in plain and plain.replace("-", "").isalpha():
        for part, said in zip(word.split("-"), plain.split("-"), strict=True):
            yield from _word(part, said, language)
    elif plain in glossary.english or not plain.isalpha():
        yield word
    else:
        yield _derived(plain, language, noun=word[0].isupper()) or word


def _derived(word: str, language: str, *, noun: bool) -> str | None:
    """By the word without its ending, by its parts, or by the longest beginning it shares."""
    glossary = load_glossary()
    words, stems = glossary.words[language], glossary.stems[language]
    bare = _ENCLITICS.sub("", word) if language == "es" else word
    if bare != word and len(bare) > 2:
        return words.get(bare) or _by_stem(bare, stems) or _by_stem(word, stems)
    if language == "de":
        whole = _by_stem(word, stems) or _participle(word, stems)
        return whole or (_compound(word, glossary) if noun else None)
    return _by_stem(word, stems)


def _by_stem(word: str, stems: Mapping[str, str]) -> str | None:
    for length in range(len(word), max(_SHORTEST_STEM, len(word) - 3) - 1, -1):
        if english := stems.get(word[:length]):
            return english
    return None


def _participle(word: str, stems: Mapping[str, str]) -> str | None:
    """gekocht by kochen, abgeschlossen by schlossen."""
    _, found, rest = word.partition("ge")
    return _by_stem(rest, stems) if found and len(rest) >= _SHORTEST_STEM else None


def _compound(word: str, glossary: Glossary) -> str | None:
    """Two known words, joined; else its end alone, which says what kind of thing it is."""
    words, stems = glossary.words["de"], glossary.stems["de"]
    end = None
    for cut in range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1):
        second = words.get(word[cut:]) or _by_stem(word[cut:], stems)
        if second is None:
            continue
        if first := _joined(word[:cut], words, glossary.english):
            return f"{first} {second}"
        end = end or (second if len(word) - cut >= _SHORTEST_STEM else None)
    return end


def _joined(part: str, words: Mapping[str, str], english: frozenset[str]) -> str | None:
    for joint in _JOINTS:
        bare = part.removesuffix(joint)
        if part.endswith(joint) and (found := words.get(bare) or (bare in english and bare)):
            return found
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
