"""The tree drawn at the top of errors.py, read back, and held against the classes below it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mentis import errors
from mentis.errors import MentisError

_LINE = re.compile(
    r"^(?P<rail>(?:│   |    )*(?:├── |└── )|)(?P<name>[A-Z]\w+)(?: {2,}(?P<rest>.*))?$"
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """One line of the drawing. `code` is empty where the drawing leaves it out (branches)."""

    name: str
    parent: str
    code: str
    meaning: str
    line: int


def read_drawing() -> list[Drawn]:
    drawn: list[Drawn] = []
    branch: list[str] = []
    for number, text in enumerate((errors.__doc__ or "").splitlines(), start=1):
        if match := _LINE.match(text):
            depth = len(match["rail"]) // 4
            branch[depth:] = [match["name"]]
            *code, meaning = re.split(r" {2,}", match["rest"] or "")
            parent = branch[depth - 1] if depth else ""
            drawn.append(Drawn(match["name"], parent, "".join(code), meaning, number))
    return drawn


def real_classes(cls: type[MentisError] = MentisError) -> Iterator[type[MentisError]]:
    yield cls
    for child in cls.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from real_classes(child)


def disagreements() -> Iterator[tuple[int, str]]:
    """Where drawing and classes differ, both ways, with the line of the drawing."""
    drawn = {line.name: line for line in read_drawing()}
    real = {cls.__name__: cls for cls in real_classes()}
    for name in sorted(real.keys() - drawn.keys()):
        yield 1, f"{name} is not in the drawing"
    for line in drawn.values():
        yield from ((line.line, problem) for problem in _compare(line, real.get(line.name)))
    codes = [cls.code for cls in real.values()]
    for code in sorted({code for code in codes if codes.count(code) > 1}):
        yield 1, f"the code {code!r} stands for more than one error"


def _compare(line: Drawn, cls: type[MentisError] | None) -> Iterator[str]:
    if cls is None:
        yield f"{line.name} is drawn but does not exist"
        return
    parent = cls.__bases__[0].__name__
    if line.parent and parent != line.parent:
        yield f"{line.name} is drawn under {line.parent} but derives from {parent}"
    if line.code and line.code != cls.code:
        yield f"{line.name} is drawn with the code {line.code!r} but has {cls.code!r}"
    if not line.meaning and cls is not MentisError:
        yield f"{line.name} is drawn without a meaning"
