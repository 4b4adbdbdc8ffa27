"""Changes between two texts of the same kind, section by section.

A section is told anew as a whole, with its heading and its marks; only of what was said in a talk
the new lines are enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from mentis.values.span import Span, join_spans
from mentis.values.value import Value

_GAP = Span("\n\n", source="layout")
_TALK = "history"  # the source of lines of a talk
Run = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Changes(Value):
    """`spans` is what to tell; `changed` and `gone` name the sections, by block or heading."""

    spans: tuple[Span, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return join_spans(self.spans)


def changes(before: Iterable[Span], after: Iterable[Span]) -> Changes:
    """Nothing, if the texts are the same; a mere move is no change."""
    old, new = _sections(before), _sections(after)
    known = {join_spans(run) for run in old}
    others = [run for run in new if join_spans(run) not in known]
    told: list[Span] = []
    for run in others:
        told += (*([_GAP] if told else []), *_new_lines(old, run))
    names = {_name(run) for run in new}
    gone = dict.fromkeys(_name(run) for run in old if _name(run) not in names)
    return Changes(tuple(told), tuple(dict.fromkeys(map(_name, others))), tuple(gone))


def _sections(spans: Iterable[Span]) -> list[Run]:
    runs = groupby(spans, key=lambda one: (one.text, one.source) == (_GAP.text, _GAP.source))
    return [tuple(run) for gap, run in runs if not gap]


def _name(run: Run) -> str:
    """A block's, or the topic of the heading."""
    names = (span.block or span.placeholder for span in run)
    return next(filter(None, names), run[0].source)


def _new_lines(old: Sequence[Run], run: Run) -> Sequence[Span]:
    """Of a talk, the heading and the lines since; of all else, all of it."""
    said = [place for place, span in enumerate(run) if span.source == _TALK]
    earlier = [one for one in old if _name(one) == _name(run)]
    if not said or not earlier:
        return run
    was = [span.text for span in earlier[0] if span.source == _TALK]
    lines = [run[place].text for place in said]
    shared = next((n for n in range(len(lines) - 1, 0, -1) if was[-n:] == lines[:n]), 0)
    if not shared:
        return run
    # Before the first line stands the mark of the list, before each other one a newline with it.
    return (*run[: said[0]], *run[said[shared] :])
