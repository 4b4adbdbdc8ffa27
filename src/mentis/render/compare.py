"""Where a rendering departs from the one before it: the byte, the span, what no longer holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from mentis.values.json import JsonObject
from mentis.values.rendering import Boundary, CachePlan, Rendering
from mentis.values.source_map import SourceRange, dump
from mentis.values.span import Span
from mentis.values.value import Value

from .cuts import PrefixCut, cuts_of, strip_marks

_SPOKEN = ("assistant", "model", "tool")
_CALLS = ("function_call", "function_call_output")
_RESULTS = (b'"type":"tool_result"', b'"functionResponse":')
# What a body of each format has, and what only one of another format with the same key would have.
_TOLD = {
    "openai-chat": "messages",
    "openai-responses": "input",
    "anthropic": "messages",
    "gemini": "contents",
    "text": "prompt",
    "live": "type",
    "ollama": "messages",
}
_NOT_ANTHROPIC = ("system", "developer")
# Without spans, texts are found by their keys: what counts is how much there was to read.
_TEXTS = ("text", "content", "instructions", "output", "error", "prompt", "description")
_AROUND = 32  # bytes of context on each side of a difference


@dataclass(frozen=True, slots=True)
class Divergence(Value):
    """`byte` is the first that differs, cache marks not counted, for they are not in the prefix.

    `pointer` and `span` say what stands there now. `kept` of the boundaries planned before still
    hold; `lost` are the others, whose texts must be read again.
    """

    byte: int
    pointer: str
    span: Span | None
    kept: int
    lost: tuple[PrefixCut, ...] = ()


def compare(before: Rendering, after: Rendering) -> Divergence | None:
    """None when both say the same. Payload keys stand in the order in which prefixes match."""
    bare = strip_marks(after)
    byte = first_difference(strip_marks(before).body(), bare.body())
    if byte is None:
        return None
    here = _at(bare.source_map(), byte)
    planned = _planned(before)
    kept = sum(cut.end <= byte for cut in planned)
    pointer, span = (here.pointer, here.span) if here else ("", None)
    return Divergence(byte, pointer, span, kept, tuple(planned[kept:]))


def is_kept(before: Rendering, after: Rendering) -> bool:
    """Whether everything that was planned before still holds."""
    planned = _planned(before)
    if not planned:
        return True
    byte = first_difference(strip_marks(before).body(), strip_marks(after).body())
    return byte is None or all(cut.end <= byte for cut in planned)


def _planned(rendering: Rendering) -> list[PrefixCut]:
    return [cut for cut in cuts_of(rendering) if cut.region != "turn"]


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


def context_of(rendering: Rendering, byte: int) -> str:
    """What stands around a byte, as the provider compares it."""
    body = strip_marks(rendering).body()
    return body[max(0, byte - _AROUND) : byte + _AROUND].decode("utf-8", "replace")


def is_body(payload: object, wire: str) -> bool:
    """Whether this can be a body of that format: its conversation stands where it should."""
    if not isinstance(payload, Mapping):
        return False
    told = cast("Mapping[str, object]", payload).get(_TOLD[wire])
    if wire in ("text", "live"):
        return isinstance(told, str)
    items = cast("list[object]", told) if isinstance(told, list) else []
    if not items or not all(isinstance(item, (dict, Mapping)) for item in items):
        return False
    if wire == "openai-chat":
        return "system" not in payload
    return wire != "anthropic" or find(items[0], "/role") not in _NOT_ANTHROPIC


def read_before(payload: JsonObject, after: Rendering) -> Rendering:
    """An earlier payload as a rendering, to compare `after` with. It must be one: see `is_body`.

    It does not say where a boundary lay: those of `after` are taken, as far as their places are
    there, and the last thing the model itself said or did ends what was settled.
    """
    plan = CachePlan(tuple(_boundaries(payload, after)), minimum=after.cache_plan.minimum)
    sources = {pointer: (Span(text, source="before"),) for pointer, text in _texts(payload)}
    return Rendering(after.wire, payload, sources, plan, reads=after.reads)


def _at(ranges: Sequence[SourceRange], byte: int) -> SourceRange | None:
    """The text the byte is in, or else the next one after it."""
    return next((place for place in ranges if byte < place.end), None)


def _boundaries(payload: JsonObject, after: Rendering) -> Iterator[Boundary]:
    for boundary in after.cache_plan.boundaries:
        root, _, _ = boundary.pointer.rpartition("/")
        items = find(payload, root)
        if boundary.region == "tools":
            if isinstance(items, list):
                yield replace(boundary, pointer=f"{root}/{len(cast('list[object]', items)) - 1}")
        elif boundary.region != "history":
            if find(payload, boundary.pointer) is not None:
                yield boundary
        elif (last := _last_spoken(payload, f"/{boundary.pointer.split('/')[1]}")) is not None:
            yield replace(boundary, pointer=last)


def _last_spoken(payload: JsonObject, root: str) -> str | None:
    """The last item that the model said, or that answers a call of its."""
    items = find(payload, root)
    listed = cast("list[object]", items) if isinstance(items, list) else []
    for index in range(len(listed) - 1, -1, -1):
        item = cast("Mapping[str, object]", listed[index])
        said = item.get("role") in _SPOKEN or item.get("type") in _CALLS
        if said or any(mark in dump(item) for mark in _RESULTS):
            return f"{root}/{index}"
    return None


def find(value: object, pointer: str) -> object:
    """What stands at a pointer, or None."""
    for step in pointer.split("/")[1:]:
        if isinstance(value, Mapping):
            value = cast("Mapping[str, object]", value).get(step)
        elif isinstance(value, list) and step.isdecimal():
            value = next(iter(cast("list[object]", value)[int(step) :]), None)
        else:
            return None
    return cast("object", value)


def _texts(value: object, pointer: str = "", key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        if key in _TEXTS:
            yield pointer, value
    elif isinstance(value, Mapping):
        for name, part in cast("Mapping[str, object]", value).items():
            yield from _texts(part, f"{pointer}/{name}", name)
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            yield from _texts(item, f"{pointer}/{index}")
