"""Text that somebody else wrote, as a person can read it without being misled by it.

What steers a terminal, turns the direction of writing or cannot be seen is written as `\\u202e`;
every line of foreign text stands behind a bar, so that none of it can pass for a line of ours.
"""

from __future__ import annotations

import json
import shutil
import unicodedata
from collections.abc import Iterator
from typing import cast

# Control, format (directions, joiners, tags), private, unassigned; odd spaces and line ends.
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"))
# Letters and marks that leave no trace: fillers, joiners, variation selectors, the empty Braille
# cell. They have no category of their own.
_BLANK = frozenset(
    chr(code)
    for code in (
        *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
        *(*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0000, 0xE1000)),
    )
)
_JSON_WIDTH = 80
_LEAST_WIDTH = 40
_MOST_WIDTH = 100


def safe(text: str) -> str:
    """On one line. Written into JSON it is still the same JSON."""
    if text.isprintable() and _BLANK.isdisjoint(text):
        return text
    return "".join(_letter(letter) for letter in text)


def json_line(value: object) -> str:
    """A value as JSON on one line."""
    return safe(json.dumps(value, ensure_ascii=False))


def json_block(value: object, *, before: int = 0, indent: str = "") -> str:
    """JSON in which what fits on its line stands on one; `before` is what stands there already."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(indent) + before + len(flat) <= _JSON_WIDTH or not value:
        return flat
    inner = indent + "  "
    room = _JSON_WIDTH - len(inner) - 1
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        names = [json.dumps(name, ensure_ascii=False) for name in members]
        told = [
            f"{name}: {json_block(one, before=len(name) + 3, indent=inner)}"
            for name, one in zip(names, members.values(), strict=True)
        ]
        opening, closing = "{}"
    elif isinstance(value, list):
        told = [json_block(one, before=1, indent=inner) for one in cast("list[object]", value)]
        told = told if any(one[0] in "[{" for one in told) else _packed(told, room)
        opening, closing = "[]"
    else:
        return flat
    lines = ",\n".join(f"{inner}{one}" for one in told)
    return f"{opening}\n{lines}\n{indent}{closing}"


def _packed(told: list[str], room: int) -> list[str]:
    """As many on a line as fit."""
    lines = told[:1]
    for one in told[1:]:
        longer = f"{lines[-1]}, {one}"
        if len(longer) <= room:
            lines[-1] = longer
        else:
            lines.append(one)
    return lines


def behind_bar(text: str, *, indent: int = 4) -> Iterator[str]:
    """All of a text, in lines that fit, each behind a bar."""
    before = f"{' ' * indent}| "
    for line in text.replace("\\", "\\\\").split("\n"):
        for part in fold_line(safe(line), room() - len(before)):
            yield before + part


def fold_line(line: str, width: int) -> Iterator[str]:
    """Every character of a line, broken after a space where there is one."""
    while len(line) > width:
        space = line.rfind(" ", width // 2, width) + 1
        yield line[: space or width]
        line = line[space or width :]
    yield line


def room() -> int:
    return max(_LEAST_WIDTH, min(_MOST_WIDTH, shutil.get_terminal_size().columns))


def _letter(letter: str) -> str:
    seen = unicodedata.category(letter) not in _UNSEEN and letter not in _BLANK
    if letter == " " or seen:
        return letter
    # As JSON writes it, so that JSON stays JSON: `\n`, `\u202e`, two halves for the far ones.
    return json.dumps(letter)[1:-1] if letter != "\x7f" else "\\u007f"
