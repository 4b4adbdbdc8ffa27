"""One provider's payload made from a request, and the map back to where each byte came from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from .digest import Digest, digest
from .json import JsonObject
from .span import Span
from .value import Value


@dataclass(frozen=True, slots=True)
class Loss(Value):
    """Something the wire format could not carry, and what was done instead."""

    code: str
    message: str
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class Boundary(Value):
    """A place in the payload up to which a provider may reuse its prefix cache."""

    pointer: str
    tokens: int


@dataclass(frozen=True, slots=True)
class CachePlan(Value):
    boundaries: tuple[Boundary, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceRange(Value):
    """Bytes `start` to `end` of the body, inside the string at `pointer`, came from `span`."""

    pointer: str
    start: int
    end: int
    span: Span


@dataclass(frozen=True, slots=True)
class Rendering(Value):
    """`sources` names, for each JSON pointer to a text, the spans that text was joined from."""

    wire: str
    payload: JsonObject
    sources: Mapping[str, tuple[Span, ...]] = field(default_factory=dict[str, tuple[Span, ...]])
    cache_plan: CachePlan = CachePlan()
    losses: tuple[Loss, ...] = ()
    name_map: Mapping[str, str] = field(default_factory=dict[str, str])

    def body(self) -> bytes:
        """The bytes to send; keys stand in the order the renderer laid them down."""
        return _dump(self.payload)

    @property
    def digest(self) -> Digest:
        return digest(self.body())

    def source_map(self) -> tuple[SourceRange, ...]:
        """Every byte range of the body that came from a span."""
        ranges: list[SourceRange] = []
        offset = 0
        for pointer, token in _walk(self.payload, ""):
            spans = self.sources.get(pointer, ())
            start = offset + 1  # past the opening quote
            for span in spans:
                end = start + len(_dump(span.text)) - 2
                ranges.append(SourceRange(pointer, start, end, span))
                start = end
            offset += len(token)
        return tuple(ranges)


def _dump(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _walk(value: object, pointer: str) -> Iterator[tuple[str, bytes]]:
    """The body, token by token; leaves come with the pointer to them."""
    if isinstance(value, Mapping):
        yield from _walk_members(cast("Mapping[str, object]", value), pointer)
    elif isinstance(value, (list, tuple)):
        items = cast("list[object]", value)
        yield "", b"["
        for index, item in enumerate(items):
            if index:
                yield "", b","
            yield from _walk(item, f"{pointer}/{index}")
        yield "", b"]"
    else:
        yield pointer, _dump(value)


def _walk_members(members: Mapping[str, object], pointer: str) -> Iterator[tuple[str, bytes]]:
    yield "", b"{"
    for index, (key, item) in enumerate(members.items()):
        if index:
            yield "", b","
        yield "", _dump(key) + b":"
        escaped = key.replace("~", "~0").replace("/", "~1")
        yield from _walk(item, f"{pointer}/{escaped}")
    yield "", b"}"
