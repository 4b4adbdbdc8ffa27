"""Reads docstrings of functions and their parameters: Google, NumPy and reST forms."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from inspect import cleandoc

_GOOGLE = re.compile(r"(Args|Arguments|Parameters|Params)\s*:\s*$", re.IGNORECASE)
_NUMPY = re.compile(r"(Parameters|Other Parameters)\s*$", re.IGNORECASE)
_UNDERLINE = re.compile(r"-{3,}\s*$")
# Where the words for the reader of the call end and those for the reader of the code begin.
_SECTION = re.compile(
    r"(Args|Arguments|Parameters|Params|Other Parameters|Returns?|Yields?|Raises|Examples?|Notes?"
    r"|See Also|References|Warnings?|Attributes)\s*:?\s*$",
    re.IGNORECASE,
)
_FIELD = re.compile(r":(\w+)((?:\s+[^:\s]+)*)\s*:\s*(.*)$")
_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY_ENTRY = re.compile(r"\*{0,2}(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?$")


@dataclass(frozen=True, slots=True)
class Docstring:
    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict[str, str])


def read_docstring(text: str | None) -> Docstring:
    """Everything before the first section describes the function; line breaks in one are spaces."""
    lines = cleandoc(text or "").splitlines()
    end = next((n for n in range(len(lines)) if _begins(lines, n)), len(lines))
    return Docstring(_paragraphs(lines[:end]), _parameters(lines, end))


def _begins(lines: list[str], number: int) -> bool:
    line = lines[number]
    if _FIELD.match(line):
        return True
    if not _SECTION.match(line):
        return False
    underlined = number + 1 < len(lines) and _UNDERLINE.match(lines[number + 1])
    return bool(underlined) or line.rstrip().endswith(":")


def _parameters(lines: list[str], start: int) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    number = start
    while number < len(lines):
        line = lines[number]
        numpy = _NUMPY.match(line) and _begins(lines, number)
        if numpy or _GOOGLE.match(line):
            number = _section(lines, number + (2 if numpy else 1), found, numpy=bool(numpy))
            continue
        if match := _FIELD.match(line):
            number = _rest_field(lines, number, match, found)
            continue
        number += 1
    return {name: " ".join(said).strip() for name, said in found.items() if any(said)}


def _section(lines: list[str], number: int, found: dict[str, list[str]], *, numpy: bool) -> int:
    """The entries of one section; how far in the first one stands tells names from their words."""
    names: list[str] = []
    first = -1
    while number < len(lines) and not _begins(lines, number):
        line = lines[number]
        number += 1
        if not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        if not numpy and depth == 0:
            return number - 1
        first = depth if first < 0 else first
        match = (_NUMPY_ENTRY if numpy else _ENTRY).match(line.strip())
        if depth <= first and match:
            names = re.split(r"\s*,\s*", match[1])
            said = "" if numpy else match[2]
            found.update({name: [said] for name in names})
            continue
        for name in names:
            found[name].append(line.strip())
    return number


def _rest_field(
    lines: list[str], number: int, match: re.Match[str], found: dict[str, list[str]]
) -> int:
    kind, names, said = match[1].lower(), match[2].split(), match[3]
    words = [said]
    number += 1
    while number < len(lines) and lines[number].startswith(" "):
        words.append(lines[number].strip())
        number += 1
    if kind in ("param", "parameter", "arg", "argument", "key", "keyword") and names:
        found[names[-1].lstrip("*")] = words
    return number


def _paragraphs(lines: list[str]) -> str:
    """Lists and indented lines stay as they are; a paragraph becomes one line."""
    text = "\n".join(line.rstrip() for line in lines).strip()
    parts = re.split(r"\n\s*\n", text)
    return "\n\n".join(part if _laid_out(part) else " ".join(part.split()) for part in parts)


def _laid_out(part: str) -> bool:
    return any(re.match(r"\s+|[-*•]\s|\d+[.)]\s", line) for line in part.split("\n"))
