"""Texts of the three persona memory files: templates, headings, when one counts as empty."""

from __future__ import annotations

from collections import Counter
from functools import cache
from importlib.resources import files
from itertools import takewhile
from typing import cast

from mentis.errors import PersonaError
from mentis.library.load import shipped_layer
from mentis.library.problems import did_you_mean
from mentis.values.json import JsonObject

# In the order in which a prompt tells them.
NAMES = ("memory", "soul", "relationship")
_FALLBACK = "english"
# Below this many characters a text is too short to tell a rewrite from a loss.
_SHORT = 400


def checked_name(name: str) -> str:
    """One of the three names, with or without `.md`; anything else is refused."""
    plain = name.removesuffix(".md")
    if plain in NAMES:
        return plain
    hint = did_you_mean(plain, NAMES) or f"they are: {', '.join(NAMES)}"
    raise PersonaError(f"there is no memory file {name!r}", hint=hint, name=name)


def template(name: str, language: str) -> str:
    """The text a new file starts with, in the persona's language if that is shipped."""
    texts = _templates(name)
    return texts.get(language.strip().casefold(), texts[_FALLBACK])


def is_empty(name: str, text: str) -> bool:
    """Whether nothing stands there but lines of a template, in whatever language."""
    lines = {line.strip() for line in text.removeprefix("\ufeff").splitlines()}
    return any(lines <= known for known in _template_lines(name))


def as_prompt_value(name: str, text: str) -> str:
    """Stripped, or nothing at all when the file says nothing."""
    if is_empty(name, text):
        return ""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").strip()


def heading(name: str, language: str) -> str:
    """The line that a prompt has above the file."""
    topics = (_words(each).get(f"heading_{name}") for each in (language, _FALLBACK))
    found = next((topic for topic in topics if topic), [name.capitalize()])
    return f"### {' '.join(cast('list[str]', found))}"


def drops_most(old: str, new: str) -> bool:
    """Whether more than half of a text goes: it shrinks that much, or little of it is left."""
    before, after = old.strip(), new.strip()
    if len(after) * 2 < len(before):
        return True
    return len(before) >= _SHORT and _left(before, after) * 2 < len(before)


def _left(before: str, after: str) -> int:
    """How many characters are left: at both ends, and in words between that both texts have."""
    head = _same_start(before, after)
    before, after = before[head:], after[head:]
    tail = _same_start(before[::-1], after[::-1])
    words = (text[: len(text) - tail].split() for text in (before, after))
    common = Counter(next(words)) & Counter(next(words))
    return head + tail + sum((len(word) + 1) * times for word, times in common.items())


def _same_start(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _words(language: str) -> JsonObject:
    return cast("JsonObject", shipped_layer().words.get(language.strip().casefold(), {}))


@cache
def _templates(name: str) -> dict[str, str]:
    """By language: `soul.md` is the English one, `soul.german.md` a German one."""
    folder = files("mentis.library") / "shipped" / "memory"
    found: dict[str, str] = {}
    for file in folder.iterdir():
        stem, _, language = file.name.removesuffix(".md").partition(".")
        if stem == name:
            found[language or _FALLBACK] = file.read_text(encoding="utf-8")
    return found


@cache
def _template_lines(name: str) -> tuple[frozenset[str], ...]:
    return tuple(
        frozenset({line.strip() for line in text.splitlines()} | {""})
        for text in _templates(name).values()
    )
