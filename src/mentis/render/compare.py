"""Where a rendering departs from the one before it: the byte, the span, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from mentis.values.json import JsonObject
from mentis.values.rendering import Boundary, Rendering, SourceRange, walk_tokens
from mentis.values.span import Span
from mentis.values.value import Value

_MARKS = ("cache_control", "prompt_cache_breakpoint")


@dataclass(frozen=True, slots=True)
class Divergence(Value):
    """`byte` is the first that differs, cache marks not counted, for they are not in the prefix.

    `pointer` and `span` say what stands there now. `kept` of the boundaries planned before still
    hold, `lost` do not, and `lost_tokens` of the prefix must be read again, by estimate.
    """

    byte: int
    pointer: str
    span: Span | None
    kept: int
    lost: int
    lost_tokens: int


def compare(before: Rendering, after: Rendering) -> Divergence | None:
    """None when both say the same. Payload keys stand in the order in which prefixes match."""
    before, after = unmarked(before), unmarked(after)
    byte = first_difference(before.body(), after.body())
    if byte is None:
        return None
    here = _at(after, byte)
    ranges = before.source_map()
    planned = before.cache_plan.boundaries
    kept = sum(_end(before, boundary, ranges) <= byte for boundary in planned)
    lost = planned[kept:]
    tokens = lost[-1].tokens - (planned[kept - 1].tokens if kept else 0) if lost else 0
    pointer, span = (here.pointer, here.span) if here else ("", None)
    return Divergence(byte, pointer, span, kept, len(lost), tokens)


def unmarked(rendering: Rendering) -> Rendering:
    """The same payload without cache marks: what the provider compares."""
    return replace(rendering, payload=cast("JsonObject", _without_marks(rendering.payload)))


def _without_marks(value: object) -> object:
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value).items()
        return {name: _without_marks(part) for name, part in members if name not in _MARKS}
    if isinstance(value, list):
        return [_without_marks(item) for item in cast("list[object]", value)]
    return value


def first_difference(old: bytes, new: bytes) -> int | None:
    """The length of the longest common beginning, found by halving."""
    if old == new:
        return None
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[:middle] == new[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _at(rendering: Rendering, byte: int) -> SourceRange | None:
    """The text the byte is in, or else the next one after it."""
    return next((place for place in rendering.source_map() if byte < place.end), None)


def _end(rendering: Rendering, boundary: Boundary, ranges: Sequence[SourceRange]) -> int:
    """The byte up to which the boundary reaches: inside a text, or the end of a whole value."""
    own = [place for place in ranges if place.pointer == boundary.pointer]
    if not own:
        return _value_end(rendering.payload, boundary.pointer)
    end, most = own[0].start, int(boundary.region in ("session", "history"))
    for place in own:
        if place.span.stability.rank > most:
            break
        end = place.end
    return end


def _value_end(payload: JsonObject, pointer: str) -> int:
    offset = end = 0
    for place, token in walk_tokens(payload):
        offset += len(token)
        if place == pointer or place.startswith(f"{pointer}/"):
            end = offset
    return end
