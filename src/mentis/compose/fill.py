"""One wording into spans: what is literal, what was put in, and where it came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from mentis.errors import ComposeError
from mentis.values.span import Span, join_spans
from mentis.values.trust import Trust
from mentis.values.value import Value

from .fences import fence_spans, plain
from .headings import DEEPEST
from .placeholders import Filling, Policy, Values
from .wording import GAP, Wording

# Who wrote such a value is no author of prompts, not even the persona itself.
_NOT_OURS = frozenset({Trust.SELF, Trust.REFERENCE, Trust.UNTRUSTED})


@dataclass(frozen=True, slots=True)
class FilledText(Value):
    """Spans; joined they are the text. `unresolved` keys had no value: the policy stood in."""

    spans: tuple[Span, ...]
    text: str
    unresolved: tuple[str, ...] = ()


def fill(wording: Wording, values: Values, policy: Policy = "keep") -> FilledText:
    """One pass; more than one empty line in a row becomes one, and the ends are stripped."""
    spans: list[Span] = []
    unresolved: dict[str, None] = {}
    for literal, verbatim, key in wording.pieces:
        if literal is not None:
            spans.append(literal)
        if verbatim is None:
            continue
        filling = values.get(key)
        if filling is None:
            unresolved[key] = None
            spans.extend(_stand_in(verbatim, policy))
        elif filling.text:
            spans.extend(_told(filling, wording.block, key, values))
    kept = tidy(spans)
    return FilledText(kept, join_spans(kept), tuple(unresolved))


def tidy(spans: Iterable[Span]) -> tuple[Span, ...]:
    """What collapsing and stripping the joined text would leave, still as spans."""
    spans = tuple(spans)
    text = join_spans(spans)
    if text and not (text[0].isspace() or text[-1].isspace() or "\n\n\n" in text):
        return spans
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    inner = (gap for gap in GAP.finditer(text) if start <= gap.start() < end)
    gaps = ((gap.start() + 2, gap.end()) for gap in inner)
    drops = [(0, start), *gaps, (end, len(text))]
    return tuple(_without(spans, drops))


def _told(filling: Filling, block: str, key: str, values: Values) -> Iterator[Span]:
    """Below its heading. What is not ours is made plain, and fenced where nobody vouches for it."""
    head, text = filling.head, filling.text
    where = (filling.source, filling.trust, filling.stability, filling.reason)
    if head:
        yield Span(f"{head}\n\n", block, key, "words", stability=filling.stability)
    if filling.bare or filling.trust not in _NOT_OURS:
        yield Span(text, block, key, *where)
        return
    depth = len(head) - len(head.lstrip("#")) or DEEPEST
    span = Span(plain(text, values.headings, depth), block, key, *where)
    if filling.trust is not Trust.UNTRUSTED or not text.strip():
        yield span
        return
    facts = values.facts
    for one in fence_spans((span,), facts.secret, " ".join(facts.word("notice_outside"))):
        yield replace(one, block=block)


def _stand_in(verbatim: Span, policy: Policy) -> tuple[Span, ...]:
    match policy:
        case "keep":
            return (verbatim,)
        case "empty":
            return ()
        case "error":
            key = verbatim.placeholder
            raise ComposeError(
                f"block {verbatim.block!r}: nothing gives {verbatim.text} a value",
                hint=f"pass {key!r} as a runtime variable, or register it with a default",
                block=verbatim.block,
                placeholder=key,
            )


def _without(spans: Iterable[Span], drops: list[tuple[int, int]]) -> Iterator[Span]:
    """The spans less the given ranges of their joined text; ranges are sorted and apart."""
    offset = 0
    for span in spans:
        here, at = offset, 0
        pieces: list[str] = []
        for low, high in drops:
            if high > here and low < here + len(span.text):
                pieces.append(span.text[at : max(at, low - here)])
                at = max(at, high - here)
        offset += len(span.text)
        if text := "".join((*pieces, span.text[at:])):
            yield replace(span, text=text) if text != span.text else span
