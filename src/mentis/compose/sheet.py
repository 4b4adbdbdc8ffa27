"""The told blocks of a builder as one list of spans with holes: filling it is one short pass.

A sheet serves as long as the same blocks are told. Whenever that cannot be seen at a glance, or a
value needs tidying, it says None, and the blocks are judged again one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from operator import itemgetter, ne
from typing import Any, NamedTuple, TypeAlias

from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.trust import Trust
from mentis.values.value import Value

from .built import BuiltText
from .conditions import required_keys
from .fate import EMPTY, SEPARATOR, Fate
from .placeholders import Filling, Values


class Sheet:
    """What was built last for one occasion, and how to build it again with other values."""

    __slots__ = ("_inputs", "_keys", "_press", "built")

    def __init__(self, fates: Sequence[Fate], built: BuiltText, values: Values) -> None:
        needed = {key: one for f in fates for key, one in zip(f.keys, f.inputs, strict=True)}
        self._keys = tuple(needed)
        self._inputs = tuple(needed.values())
        self._press = _press(fates, built, values)
        self.built = built if self._press is None else self._press.result

    def refill(self, values: Values) -> BuiltText | None:
        """What the builder would make of these values, or None if it has to look closer."""
        if self._press is not None:
            built = self._press.run(values)
            if built is not None:
                return built
        return self.built if self._inputs == values.get_all(self._keys) else None


class _Blank(Value):
    """A span before it is frozen: filled in field by field, it then becomes a `Span`.

    A frozen class sets each field through a call, which takes three times as long.
    """

    __slots__ = Span.__slots__
    text: Any
    block: Any
    placeholder: Any
    source: Any
    trust: Any
    stability: Any
    reason: Any


# Where in the list a value goes, and all its span has but the text: block, key, source, trust,
# stability. A plain tuple, because a named one is taken apart more slowly.
_Hole: TypeAlias = tuple[int, str, str, str, Trust, Stability]


class _Run(NamedTuple):
    """The values of the holes, and what came of them; `texts` and `spans` are of equal length."""

    given: tuple[Any, ...]
    texts: list[str]
    spans: list[Any]
    built: BuiltText


class _Press:
    def __init__(self, fates: Sequence[Fate], built: BuiltText, values: Values) -> None:
        told = [fate for fate in fates if fate.texts]
        gates = {key for fate in fates for key in required_keys(fate.block)}
        used = {key for fate in told for key in fate.wordings[0].keys}
        given = values.runtime.keys()
        self._spans: list[Span] = []
        self._holes: list[_Hole] = []
        self._edges: list[tuple[int, int]] = []
        for fate in told:
            self._lay(fate, values)
        keys = [key for _, _, key, *_ in self._holes]
        self._pick = _picker(keys)
        self._clocked = [key for key in keys if key not in given]
        self._fixed = frozenset((gates | used) - given)
        self._gates = [(key, values.has_text(key)) for key in sorted(gates & given)]
        texts = [span.text for span in self._spans]
        self._last = _Run((None,) * len(keys), texts, self._spans, built)

    @property
    def result(self) -> BuiltText:
        return self._last.built

    def run(self, values: Values) -> BuiltText | None:
        runtime = values.runtime
        if not self._fixed.isdisjoint(runtime):
            return None
        for key, flag in self._gates:
            value = runtime.get(key)
            if not isinstance(value, str) or bool(value.strip()) is not flag:
                return None
        if self._clocked:
            runtime = {**runtime, **_told_now(self._clocked, values)}
        try:
            given = self._pick(runtime)
        except KeyError:
            return None
        before = self._last
        if given == before.given:
            return before.built
        for number, side in self._edges:
            if type(given[number]) is not str or _ragged(given[number], side):
                return None
        return self._filled(given, before)

    def _filled(self, given: tuple[Any, ...], before: _Run) -> BuiltText | None:
        """Only where a value differs from the last one there, a span is made."""
        texts, spans = before.texts.copy(), before.spans.copy()
        different = map(ne, given, before.given)
        for (at, block, key, source, trust, stability), value in compress(
            zip(self._holes, given, strict=True), different
        ):
            texts[at] = value
            spans[at] = span = _Blank()
            span.text = value
            span.block = block
            span.placeholder = key
            span.source = source
            span.trust = trust
            span.stability = stability
            span.reason = ""
            span.__class__ = Span  # pyright: ignore[reportAttributeAccessIssue]  # same layout
        try:
            text, values = "".join(texts), "".join(given)
        except TypeError:  # not all of them are text
            return None
        empty = "" in given
        # Only an empty value or a line end in one can make a gap; looking for gaps takes longer.
        if (empty or "\n" in values) and "\n\n\n" in text:
            return None
        told = [span for span in spans if span.text] if empty else spans
        last = before.built
        built = BuiltText(
            tuple(told), text, last.told, last.skipped, last.unresolved, last.degraded
        )
        self._last = _Run(given, texts, spans, built)
        return built

    def _lay(self, fate: Fate, values: Values) -> None:
        if self._spans:
            self._spans.append(SEPARATOR)
        start, before = len(self._spans), len(self._holes)
        for literal, verbatim, key in fate.wordings[0].pieces:
            if literal is not None:
                self._spans.append(literal)
            if verbatim is not None:
                self._lay_value(key, verbatim, fate, values)
        holes = self._holes[before:]
        # A hole at either end of a block: a value that is blank there would have to be stripped.
        if holes and holes[0][0] == start:
            self._edges.append((before, 0))
        if holes and holes[-1][0] == len(self._spans) - 1:
            self._edges.append((len(self._holes) - 1, -1))

    def _lay_value(self, key: str, verbatim: Span, fate: Fate, values: Values) -> None:
        """A hole for what may change from call to call, a span for what lasts."""
        filling = values.get(key)
        if filling is None:
            kept = any(span is verbatim for span in fate.texts[0].spans)
            self._spans.extend([verbatim] if kept else [])
        elif key in values.runtime or values.is_clocked(key):
            where = (filling.source, filling.trust, filling.stability)
            self._holes.append((len(self._spans), fate.block.id, key, *where))
            self._spans.append(verbatim)
        elif filling.text:
            self._spans.append(_span(filling, fate.block.id, key))


def _press(fates: Sequence[Fate], built: BuiltText, values: Values) -> _Press | None:
    """A press, if it makes of the same values what the builder made of them.

    Whether a block is told must not hang on its values, but only on whether keys are given.
    """
    told = [fate for fate in fates if fate.texts]
    if not all(fate.wordings[0].solid for fate in told):
        return None
    if any(fate.trace.reason == EMPTY for fate in fates):
        return None
    if not all(isinstance(value, str) for value in values.runtime.values()):
        return None
    press = _Press(fates, built, values)
    again = press.run(values)
    return press if again == built else None


def _picker(keys: Sequence[str]) -> Callable[[Mapping[str, object]], tuple[Any, ...]]:
    """Gets the values of these keys in one go; a getter of one key would not give a tuple."""
    if len(keys) > 1:
        return itemgetter(*keys)
    return lambda runtime: tuple(runtime[key] for key in keys)


def _told_now(keys: Sequence[str], values: Values) -> dict[str, str]:
    """What the clock gives these keys; one whose function failed is not among them."""
    told = ((key, values.get(key)) for key in keys)
    return {key: filling.text for key, filling in told if filling and not filling.reason}


def _ragged(value: str, side: int) -> bool:
    return not value or value[side].isspace()


def _span(filling: Filling, block: str, key: str) -> Span:
    where = (filling.source, filling.trust, filling.stability, filling.reason)
    return Span(filling.text, block, key, *where)
