"""One provider's payload made from a request, and the map back to where each byte came from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

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
    """A place in the payload up to which a provider may reuse its prefix cache.

    `tokens` are estimated, from the beginning up to here. `ttl` is empty where none was asked
    for; `marked` says that the payload asks for this boundary by name.
    """

    pointer: str
    tokens: int
    region: Literal["tools", "stable", "session", "history"] = "stable"
    ttl: str = ""
    marked: bool = False


@dataclass(frozen=True, slots=True)
class CachePlan(Value):
    """Prefixes below `minimum` tokens are not cached by the provider, and no error says so."""

    boundaries: tuple[Boundary, ...] = ()
    key: str = ""
    minimum: int = 0


class Fragment(dict[str, object]):
    """A piece of a payload that is not changed once made, so it is written as JSON only once."""

    __slots__ = ("_encoded",)

    def encoded(self) -> bytes:
        try:
            return self._encoded
        except AttributeError:
            held = any(type(part) is Fragment for part in self.values())
            self._encoded = _encode_members(self) if held else _dump(self)
            return self._encoded


@dataclass(frozen=True, slots=True)
class SourceRange(Value):
    """Bytes `start` to `end` of the body, inside the string at `pointer`, came from `span`."""

    pointer: str
    start: int
    end: int
    span: Span


@dataclass(frozen=True, slots=True)
class Rendering(Value):
    """`sources` names, for each JSON pointer to a text, the spans that text was joined from.

    `name_map` leads from a tool's name on the wire to our own, `id_map` likewise for call ids;
    what is not in them was sent as it is.
    """

    wire: str
    payload: JsonObject
    sources: Mapping[str, tuple[Span, ...]] = field(default_factory=dict[str, tuple[Span, ...]])
    cache_plan: CachePlan = CachePlan()
    losses: tuple[Loss, ...] = ()
    name_map: Mapping[str, str] = field(default_factory=dict[str, str])
    id_map: Mapping[str, str] = field(default_factory=dict[str, str])

    def body(self) -> bytes:
        """The bytes to send; keys stand in the order the renderer laid them down."""
        return _encode_members(self.payload)

    @property
    def digest(self) -> Digest:
        return digest(self.body())

    def source_map(self) -> tuple[SourceRange, ...]:
        """Every byte range of the body that came from a span."""
        ranges: list[SourceRange] = []
        offset = 0
        for pointer, token in walk_tokens(self.payload):
            spans = self.sources.get(pointer, ())
            start = offset + 1  # past the opening quote
            for span in spans:
                end = start + len(_dump(span.text)) - 2
                ranges.append(SourceRange(pointer, start, end, span))
                start = end
            offset += len(token)
        return tuple(ranges)


_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _dump(value: object) -> bytes:
    return _encoder.encode(value).encode()


def _encode_members(members: JsonObject) -> bytes:
    pieces: list[bytes] = []
    for key, item in members.items():
        pieces += (b"," if pieces else b"{", _dump(key), b":")
        _collect(item, pieces)
    pieces.append(b"}" if pieces else b"{}")
    return b"".join(pieces)


def _collect(value: object, pieces: list[bytes]) -> None:
    """Add the value as JSON, with fragments taken as they were written before."""
    if type(value) is Fragment:
        pieces.append(value.encoded())
    elif isinstance(value, list) and value:
        before = b"["
        for item in cast("list[object]", value):
            pieces.append(before)
            _collect(item, pieces)
            before = b","
        pieces.append(b"]")
    else:
        pieces.append(_dump(cast("object", value)))


def walk_tokens(value: object, pointer: str = "") -> Iterator[tuple[str, bytes]]:
    """The body, token by token; leaves come with the pointer to them."""
    if isinstance(value, Mapping):
        yield from _walk_members(cast("Mapping[str, object]", value), pointer)
    elif isinstance(value, (list, tuple)):
        items = cast("list[object]", value)
        yield "", b"["
        for index, item in enumerate(items):
            if index:
                yield "", b","
            yield from walk_tokens(item, f"{pointer}/{index}")
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
        yield from walk_tokens(item, f"{pointer}/{escaped}")
    yield "", b"}"
