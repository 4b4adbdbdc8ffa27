"""Text from outside stands between two marks of ours, which nothing inside can imitate.

Whoever wrote it, a text that is told as an item of a list stays one item. The result of a call
carries its marks with it, and every wire writes them around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from mentis.values.fence import FENCE, Fence
from mentis.values.marks import neutral, nonce_of
from mentis.values.part import Part, TextPart, ToolResultPart
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.trust import Trust
from mentis.values.turn import Turn

from .headings import DEEPEST, plain_headings

_INDENT = "\n  "
_WHY = "text from outside"
_OPENING = re.compile(rf"<{FENCE} ([0-9a-f]{{12}})>\n$")


def fence_spans(spans: Sequence[Span], secret: bytes, note: str = "") -> Iterator[Span]:
    """The spans between two marks; what is not trusted in them is made harmless.

    The marks hold a number made from the secret and the text: the same every time, and not to be
    known to whoever wrote the text. `note` says before them what they mean.
    """
    inside = [_harmless(span) for span in spans]
    fence = Fence(nonce_of((span.text for span in inside), secret), note)
    yield _mark(fence.opening, inside[0].stability)
    yield from inside
    yield _mark(fence.closing, inside[-1].stability)


def fence_results(turn: Turn, secret: bytes, note: str = "") -> Turn:
    """With marks around each result that nobody vouches for; the turn itself where none is."""
    if len(turn.parts) == 1 and type(turn.parts[0]) is TextPart:  # as most are
        return turn
    parts = tuple([_fence_result(part, secret, note) for part in turn.parts])
    same = all(new is old for new, old in zip(parts, turn.parts, strict=True))
    return turn if same else replace(turn, parts=parts)


def close_fence(spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """With its end where a cut took that away from what stands between marks."""
    opened: Span | None = None
    end = ""
    for span in spans:
        if found := nonce_in(span):
            opened, end = span, Fence(found[1]).closing
        elif opened is not None and span.source == "layout" and span.text.endswith(end.strip()):
            opened = None
    return spans if opened is None else (*spans, replace(opened, text=end))


def nonce_in(span: Span) -> re.Match[str] | None:
    """The opening mark around text from outside, if this is one."""
    return _OPENING.search(span.text) if span.source == "layout" else None


def plain(text: str, headings: tuple[str, ...], depth: int = DEEPEST) -> str:
    """Without look-alikes of our marks and headings; the text itself where there are none."""
    return neutral(plain_headings(text, headings, depth))


def one_item(text: str, headings: tuple[str, ...]) -> str:
    """A text as an entry of a list: plain, and nothing in it begins a line."""
    return _INDENT.join(plain(text, headings).splitlines())


def _harmless(span: Span) -> Span:
    if span.trust is not Trust.UNTRUSTED:
        return span
    text = neutral(span.text)
    return span if text is span.text else replace(span, text=text)


def _fence_result(part: Part, secret: bytes, note: str) -> Part:
    if not isinstance(part, ToolResultPart) or part.trust is not Trust.UNTRUSTED:
        return part
    if not part.text.strip():
        return part
    text, nonce = _plain_result(part.text, secret)
    return replace(part, text=text, fence=Fence(nonce, note))


@lru_cache(maxsize=256)  # a conversation tells the same results in every turn
def _plain_result(text: str, secret: bytes) -> tuple[str, str]:
    made = neutral(text)
    return made, nonce_of((made,), secret)


def _mark(text: str, stability: Stability) -> Span:
    return Span(text, source="layout", trust=Trust.RUNTIME, stability=stability, reason=_WHY)
