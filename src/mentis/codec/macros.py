"""Macros of other programs, `{{char}}` and the like, made into plain text.

One pass from left to right, inner ones first; what a macro gave is never looked at again. Chance is
drawn from a seed, so that the same text with the same seed is the same text again. What is unknown
becomes nothing and is named: no macro is left standing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from mentis.values.value import Value

_EDGE = re.compile(r"\{\{|\}\}")
_OLD_STYLE = re.compile(r"<(user|bot|char)>", re.IGNORECASE)
_TRIM = "\x00trim\x00"
_TRIMMED = re.compile(rf"\n*{_TRIM}\n*")
_MARK = re.compile(r"\x00(\d+)\x00")
_ROLL = re.compile(r"(?:(\d{1,3})?d)?(\d{1,6})(?:\s*([+-])\s*(\d{1,6}))?", re.IGNORECASE)
_HEAD = re.compile(r"\s*(//|[A-Za-z_][\w-]*)(?:\s*::?|\s+|$)(.*)", re.DOTALL)
_DEEPEST = 32
_SILENT = frozenset({"//", "comment", "hidden_key", "noop", "banned"})
CLOCK = frozenset(
    {"time", "date", "weekday", "isotime", "isodate", "datetimeformat", "idle_duration", "time_utc"}
)


@dataclass(frozen=True, slots=True)
class MacroDraw(Value):
    """What chance chose for one macro."""

    macro: str
    result: str


@dataclass(frozen=True, slots=True)
class ExpandedText(Value):
    """`unknown` are macros that nothing is known of, or that have no place here."""

    text: str
    draws: tuple[MacroDraw, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(slots=True)
class _Run:
    values: Mapping[str, str]
    seed: str
    given: list[str] = field(default_factory=list[str])  # what stands for a mark, by its number
    draws: list[MacroDraw] = field(default_factory=list[MacroDraw])
    unknown: dict[str, None] = field(default_factory=dict[str, None])


def has_macros(text: str) -> bool:
    """Whether there may be something to expand."""
    return "{{" in text or _OLD_STYLE.search(text) is not None


def expand_macros(text: str, values: Mapping[str, str], *, seed: str) -> ExpandedText:
    """The text with its macros made plain; `values` by the lower-case names of macros."""
    if not has_macros(text):
        return ExpandedText(text)
    run = _Run(values, seed)
    text = text.replace("\x00", "")
    stack: list[list[str]] = [[]]
    at = 0
    for edge in _EDGE.finditer(text):
        stack[-1].append(_plain(text[at : edge.start()], run))
        at = edge.end()
        if edge[0] == "{{" and len(stack) <= _DEEPEST:
            stack.append([])
        elif edge[0] == "}}" and len(stack) > 1:
            inner = "".join(stack.pop())
            stack[-1].append(_value(inner, run))
    stack[-1].append(_plain(text[at:], run))
    whole = "".join("".join(part) for part in stack)  # without the braces of what was never closed
    whole = _TRIMMED.sub("", whole)
    while "{{" in whole:  # made of halves that stood apart
        whole = whole.replace("{{", "{ {")
    draws = tuple(MacroDraw(one.macro, _filled(one.result, run)) for one in run.draws)
    return ExpandedText(_filled(whole, run), draws, tuple(run.unknown))


def macro_names(text: str) -> tuple[str, ...]:
    """The names of the macros in a text, each once, in lower case."""
    found = (_HEAD.match(inner) for inner in re.findall(r"\{\{([^{}]*)\}\}", text))
    return tuple(dict.fromkeys(match[1].lower() for match in found if match))


def draw(seed: str, most: int) -> int:
    """A number from 0 up to, not including, `most`: the same one for the same seed."""
    return int.from_bytes(sha256(seed.encode()).digest()[:8]) % most


def _filled(text: str, run: _Run) -> str:
    return _MARK.sub(lambda match: run.given[int(match[1])], text)


def _given(name: str, run: _Run) -> str:
    """A mark for a value: nothing in a value can become a macro with what stands beside it."""
    run.given.append(run.values[name])
    return f"\x00{len(run.given) - 1}\x00"


def _plain(text: str, run: _Run) -> str:
    if "<" not in text:
        return text
    return _OLD_STYLE.sub(lambda match: _named(match[1].lower(), run), text)


def _named(name: str, run: _Run) -> str:
    name = "user" if name == "user" else "char"
    return _given(name, run) if name in run.values else ""


def _value(inner: str, run: _Run) -> str:
    match = _HEAD.match(inner)
    if match is None:
        return _unknown(inner, run)
    name, rest = match[1].lower(), match[2]
    if name in _SILENT:
        return ""
    if name in run.values:
        return _given(name, run)
    made = _WORKED_OUT.get(name)
    return _unknown(name, run) if made is None else made(rest, run)


def _unknown(name: str, run: _Run) -> str:
    run.unknown[name.strip()[:40] or "{{}}"] = None
    return ""


def _choice(rest: str, run: _Run) -> str:
    options = rest.split("::") if "::" in rest else _comma_parts(rest)
    if not rest.strip():
        return ""
    chosen = options[draw(f"{run.seed}\x00{len(run.draws)}\x00{rest}", len(options))]
    run.draws.append(MacroDraw(f"one of {len(options)}", chosen))
    return chosen


def _comma_parts(rest: str) -> Sequence[str]:
    return [part.replace("\\,", ",").strip() for part in re.split(r"(?<!\\),", rest)]


def _roll(rest: str, run: _Run) -> str:
    match = _ROLL.fullmatch(rest.strip())
    if match is None or not int(match[2]):
        return _unknown("roll", run)
    dice, sides = int(match[1] or 1), int(match[2])
    seed = f"{run.seed}\x00{len(run.draws)}\x00{rest}"
    total = sum(1 + draw(f"{seed}\x00{number}", sides) for number in range(dice))
    if match[3]:
        total += int(f"{match[3]}{match[4]}")
    run.draws.append(MacroDraw(f"roll {rest.strip()}", str(total)))
    return str(total)


def _newlines(rest: str, _run: _Run) -> str:
    return "\n" * (min(int(rest), 100) if rest.strip().isdecimal() else 1)


_WORKED_OUT: Mapping[str, Callable[[str, _Run], str]] = {
    "newline": _newlines,
    "space": lambda _rest, _run: " ",
    "trim": lambda _rest, _run: _TRIM,
    "random": _choice,
    "pick": _choice,
    "roll": _roll,
    "reverse": lambda rest, run: _filled(rest, run)[::-1],
}
