"""Text and arguments as JSON can say them; what it cannot say is replaced and noted, or refused."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import cast

from mentis.errors import RenderError
from mentis.facts.ability import Abilities
from mentis.values.json import JsonObject
from mentis.values.marks import neutral
from mentis.values.rendering import Loss
from mentis.values.span import Span
from mentis.values.written import quick

# How the text format says who speaks and what follows: at the beginning of a line, and only ours.
_HEADED = re.compile(
    r"^([^\S\n]*)(\[(?=(?:system|user|assistant|current|tool)\])|---(?= (?:Context|History) ---))",
    re.MULTILINE | re.IGNORECASE,
)
_ALIKE = Loss("look-alike", "somebody wrote a marker that only Mentis sets; it was made plain")


_write = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def clean(text: str, losses: list[Loss]) -> str:
    """Without halves of characters, which UTF-8 cannot say."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        losses.append(Loss("bad-text", "half a character was replaced by U+FFFD"))
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def sound(span: Span, losses: list[Loss]) -> Span:
    """The same span wherever there is nothing to replace in it."""
    text = clean(span.text, losses)
    return span if text is span.text else replace(span, text=text)


@dataclass(frozen=True, slots=True)
class Guard:
    """What other people write must not pass for ours, where ours stands in the same text."""

    tags: bool = False
    headings: bool = False

    def text(self, text: str, losses: list[Loss]) -> str:
        if text.isascii() and "<" not in text and not self.headings:
            return text
        said = made = clean(text, losses)
        if self.tags:
            made = neutral(made)
        if self.headings and ("[" in made or "---" in made):
            made = _HEADED.sub(lambda found: f"{found[1]}\\{found[2]}", made)
        if made is said or made == said:
            return said
        losses.append(_ALIKE)
        return made


def guard_for(able: Abilities, wire: str) -> Guard:
    """System text is tagged in a user's message where there is no better place for it."""
    tags = able.mid_system != "before" or not able.system_role
    return Guard(tags or wire == "text", wire == "text")


def in_words(arguments: JsonObject) -> str:
    """Arguments as the text that some formats want."""
    return _write(arguments)


def sayable(arguments: JsonObject, name: str, losses: list[Loss]) -> tuple[JsonObject, int]:
    """The arguments as they can be sent, as an object or as a text, and about how long they are."""
    if size := len(quick(arguments)):
        return arguments, size
    try:
        text = _write(dict(arguments))
    except (ValueError, TypeError, RecursionError) as error:
        raise RenderError(
            f"the arguments of an earlier call of {name!r} cannot be written as JSON: {error}",
            hint="they are stored in the conversation: drop or correct that turn",
            tool=name,
        ) from error
    cleaned = clean(text, losses)
    made = dict(arguments) if cleaned is text else cast("JsonObject", json.loads(cleaned))
    return made, len(cleaned)
