"""Reads the answer of the primary: one `<output-ir>` with three sections and nothing else.

A tag's name may stand inside a body: a body that is JSON ends where the JSON ends, and any other
ends at the closing tag that lets the whole answer be read as the contract has it. Where two
readings do that, or a complete root stands beside another, nobody can tell what was meant, and
nothing is taken. Where none does, the answer is read piece by piece, and every piece that does not
belong is told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias, cast, get_args

from mentis.values.tick import OutputIr, Section, Violation

ROOT = "output-ir"
SECTIONS: tuple[Section, ...] = get_args(Section)
_OPEN, _CLOSE = f"<{ROOT}>", f"</{ROOT}>"
_BLANK = re.compile(r"\s*")
_EMPTY = re.compile(rf"\s*<({'|'.join(SECTIONS)})\s*/>")
_OPENING = re.compile(rf"\s*<({'|'.join(SECTIONS)})>")
_ANY_TAG = re.compile(r"<([A-Za-z][\w.:-]*)(?:\s[^<>]*)?(/?)>")
_KNOWN = frozenset(form for name in SECTIONS for form in (f"<{name}>", f"<{name}/>"))
_MOST_CLOSINGS = 64  # tried for one body: the ends of a text full of tags are no reason to hang
_MOST_ROOTS = 16
_MOST_TOLD = 64
_SHOWN = 120
_FATAL = ("no-root", "ambiguous")  # nothing can be taken from such an answer


def scan_output_ir(text: str) -> OutputIr:
    """The sections and all that breaks the contract. Nothing is executed or mended here."""
    opens, closes = _all(text, _OPEN), _all(text, _CLOSE)
    if not opens:
        return OutputIr(violations=(Violation("no-root", evidence(text)),))
    if _rivals(text, opens):
        return OutputIr(violations=(Violation("ambiguous", "there is more than one root"),))
    closed = bool(closes) and closes[-1] > opens[0]
    end = closes[-1] if closed else len(text)
    starts = [at + len(_OPEN) for at in opens if at < end]
    found = _readings(text, starts, end)
    if len(found) > 1:
        return OutputIr(violations=(Violation("ambiguous", "it can be read in more than one way"),))
    if found:
        return _made(found[0].bodies, _around(text, found[0].start, end, closed))
    start = starts[-1] if text[: opens[0]].strip() else starts[0]
    pieces = _Pieces(text[start:end])
    bodies = pieces.read()
    return _made(bodies, (*_around(text, start, end, closed), *pieces.told))


def _made(bodies: Mapping[Section, str], told: Iterable[Violation]) -> OutputIr:
    missing = (Violation("missing-section", name) for name in SECTIONS if name not in bodies)
    return OutputIr(*[bodies.get(name) for name in SECTIONS], violations=(*told, *missing))


def refusal(ir: OutputIr, *, strict: bool) -> str:
    """Why the whole answer comes to nothing; "" when what was read of it counts."""
    fatal = [one for one in ir.violations if strict or one.code in _FATAL]
    return "; ".join(f"{one.code}: {one.detail}" if one.detail else one.code for one in fatal)


def write_output_ir(bodies: Mapping[Section, object]) -> str:
    """The form a model is asked for. No text in it can be taken for a tag."""
    lines = [f"<{name}>{_json(bodies.get(name, []))}</{name}>" for name in SECTIONS]
    return "\n".join([_OPEN, *lines, _CLOSE])


def _json(body: object) -> str:
    return json.dumps(body, ensure_ascii=False).replace("<", "\\u003c")


@dataclass(frozen=True, slots=True)
class _Reading:
    """The sections, and where the inside of the root begins. `sure`: every body is JSON."""

    start: int
    bodies: dict[Section, str]
    sure: bool


def _readings(text: str, starts: Sequence[int], end: int) -> list[_Reading]:
    """Every reading in which the root holds sections and nothing else; two are enough to know that
    nobody can tell. What stands inside JSON is no second reading.
    """
    found: list[_Reading] = []
    for start in dict.fromkeys((starts[0], *reversed(starts[-_MOST_ROOTS:]))):
        read = _Whole(text[start:end]).read()
        found += [_Reading(start, bodies, sure) for bodies, sure in read]
        if len(found) > 1 or any(one.sure for one in found):
            break
    return found


def _rivals(text: str, opens: Sequence[int]) -> bool:
    """Whether a root that is complete stands beside another one: one of them may be a quotation,
    and nobody can tell which.
    """
    roots, complete, after = 0, False, 0
    for at in opens:
        if at < after:
            continue
        start = at + len(_OPEN)
        end = _end_of_root(text, start)
        complete = complete or end is not None
        stop = text.find(_CLOSE, start) if end is None else end
        if stop < 0:
            break
        roots += end is not None or _any_section(text[start:stop])
        if complete and roots > 1:
            return True
        after = stop + len(_CLOSE)
    return False


def _any_section(text: str) -> bool:
    return any(form in text for form in _KNOWN)


def _end_of_root(text: str, at: int) -> int | None:
    """Where the root is closed, if sections that are JSON or empty are all there is in it."""
    seen: set[str] = set()
    while (found := _EMPTY.match(text, at) or _OPENING.match(text, at)) and found[1] not in seen:
        seen.add(found[1])
        at = found.end()
        if found[0].endswith("/>"):
            continue
        closing = f"</{found[1]}>"
        blank = _blank_to(text, at)
        stop = blank if text.startswith(closing, blank) else _end_of_json(text, at, closing)
        if stop is None:
            return None
        at = stop + len(closing)
    end = _blank_to(text, at)
    return end if seen and text.startswith(_CLOSE, end) else None


def _around(text: str, start: int, end: int, closed: bool) -> Iterator[Violation]:
    before, after = text[: start - len(_OPEN)], text[end + len(_CLOSE) :] if closed else ""
    if not closed:
        yield Violation("unclosed-root")
    if _OPEN in before:
        yield Violation("more-roots", "the last one counts")
    for outside in (before.strip(), after.strip()):
        if outside:
            yield Violation("text-outside", evidence(outside))


_Read: TypeAlias = tuple[dict[Section, str], bool]


@dataclass(slots=True)
class _Whole:
    """The readings in which sections are all there is, at most two."""

    text: str
    known: dict[tuple[int, frozenset[str]], list[_Read]] = field(
        default_factory=dict[tuple[int, frozenset[str]], list[_Read]]
    )

    def read(self) -> list[_Read]:
        return self._from(0, frozenset())

    def _from(self, at: int, seen: frozenset[str]) -> list[_Read]:
        if _blank_to(self.text, at) == len(self.text):
            return [({}, True)]
        if (at, seen) not in self.known:
            self.known[at, seen] = list(islice(self._sections(at, seen), 2))
        return self.known[at, seen]

    def _sections(self, at: int, seen: frozenset[str]) -> Iterator[_Read]:
        empty = _EMPTY.match(self.text, at)
        opening = empty or _OPENING.match(self.text, at)
        if opening is None or opening[1] in seen:
            return
        name, start = cast("Section", opening[1]), opening.end()
        sure, ends = (True, [(start, start)]) if empty else self._ends(name, start)
        for stop, after in ends:
            body = self.text[start:stop].strip()
            for rest, rest_sure in self._from(after, seen | {name}):
                yield {name: body, **rest}, rest_sure and (sure or not body)

    def _ends(self, name: str, start: int) -> tuple[bool, list[tuple[int, int]]]:
        """Where the body may stop and what follows begin; and whether there is no doubt."""
        closing = f"</{name}>"
        sure = _end_of_json(self.text, start, closing)
        if sure is not None:
            return True, [(sure, sure + len(closing))]
        found = _all(self.text, closing, start)[:_MOST_CLOSINGS]
        return False, [(at, at + len(closing)) for at in found]


class _Pieces:
    """Reads what does not hold to the contract: known sections count, the rest is told."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.told: list[Violation] = []
        self._bodies: dict[Section, str] = {}

    def read(self) -> dict[Section, str]:
        at = 0
        while (tag := _ANY_TAG.search(self._text, at)) is not None:
            self._between(at, tag.start())
            if len(self.told) > _MOST_TOLD:
                self.told.append(Violation("text-between", evidence(self._text[tag.start() :])))
                return self._bodies
            at = self._section(tag)
        self._between(at, len(self._text))
        return self._bodies

    def _between(self, start: int, end: int) -> None:
        if stray := self._text[start:end].strip():
            self.told.append(Violation("text-between", evidence(stray)))

    def _section(self, tag: re.Match[str]) -> int:
        name, known = tag[1], tag[0] in _KNOWN
        stop = tag.end() if tag[2] else self._stop(name, tag.end())
        if not known:
            self.told.append(Violation("unknown-section", evidence(tag[0])))
            return tag.end() if stop is None else self._after(stop, tag)
        if stop is None:
            self.told.append(Violation("unclosed-section", name))
            return len(self._text)
        self._keep(cast("Section", name), self._text[tag.end() : stop].strip())
        return self._after(stop, tag)

    def _keep(self, name: Section, body: str) -> None:
        if name in self._bodies:
            self.told.append(Violation("repeated-section", f"{name}: the first one counts"))
            return
        self._bodies[name] = body

    def _stop(self, name: str, start: int) -> int | None:
        closing = f"</{name}>"
        sure = _end_of_json(self._text, start, closing)
        if sure is not None:
            return sure
        at = self._text.find(closing, start)
        return None if at < 0 else at

    @staticmethod
    def _after(stop: int, tag: re.Match[str]) -> int:
        return stop if tag[2] else stop + len(f"</{tag[1]}>")


def _end_of_json(text: str, start: int, closing: str) -> int | None:
    """Where the body's closing tag stands, if the body is one JSON value; in its texts a tag is
    only text.
    """
    begin = _blank_to(text, start)
    if text[begin : begin + 1] not in ("[", "{"):
        return None
    try:
        _, end = cast("tuple[object, int]", _DECODER.raw_decode(text, begin))
    except (ValueError, RecursionError):
        return None
    end = _blank_to(text, end)
    return end if text.startswith(closing, end) else None


_DECODER = json.JSONDecoder()


def _blank_to(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _all(text: str, tag: str, start: int = 0) -> list[int]:
    return [found.start() for found in re.compile(re.escape(tag)).finditer(text, start)]


def evidence(text: str) -> str:
    """The beginning of it on one line; what is no character to look at is written as its escape."""
    short = " ".join(text.split())
    short = short if len(short) <= _SHOWN else f"{short[: _SHOWN - 1]}…"
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in short)
