"""One provider's payload made from a request, and the map back to where each byte came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from .digest import Digest, digest
from .fragment import Fragment
from .json import JsonObject
from .memo import IdentityMemo
from .source_map import Reading, SourceRange, Walk
from .span import Span
from .value import LATE, Value
from .written import dump


@dataclass(frozen=True, slots=True)
class Loss(Value):
    """Something the wire format could not carry, and what was done instead."""

    code: str
    message: str
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class Boundary(Value):
    """A place in the payload up to which a provider may reuse its prefix cache.

    `ttl` is empty where none was asked for; `marked` says that the payload asks for this boundary
    by name. How many tokens lie before it is counted where a counter is, in `ask`.
    """

    pointer: str
    region: Literal["tools", "stable", "session", "history"] = "stable"
    ttl: str = ""
    marked: bool = False


@dataclass(frozen=True, slots=True)
class CachePlan(Value):
    """Prefixes below `minimum` tokens are not cached by the provider, and no error says so."""

    boundaries: tuple[Boundary, ...] = ()
    key: str = ""
    minimum: int = 0


_LARGE = 500_000


@dataclass(frozen=True, slots=True)
class Rendering(Value):
    """The payload of one request in the format of one provider, and where its bytes come from.

    `sources` names, for each JSON pointer to a text, the spans that text was joined from.

    `name_map` leads from a tool's name on the wire to our own, `id_map` likewise for call ids;
    what is not in them was sent as it is. `reads` says what else than texts the model reads.
    `output_tool` is the tool by which the final answer is given, where it has a form and the wire
    takes no schema for it.
    """

    wire: str
    payload: JsonObject
    sources: Mapping[str, tuple[Span, ...]] = field(default_factory=dict[str, tuple[Span, ...]])
    cache_plan: CachePlan = CachePlan()
    losses: tuple[Loss, ...] = ()
    name_map: Mapping[str, str] = field(default_factory=dict[str, str])
    id_map: Mapping[str, str] = field(default_factory=dict[str, str])
    reads: Mapping[str, Reading] = field(default_factory=dict[str, Reading])
    output_tool: str = field(default="", metadata=LATE)

    def body(self) -> bytes:
        """The bytes to send; keys stand in the order the renderer laid them down."""
        return _BODIES.remember(Rendering._body, self)

    def _body(self) -> bytes:
        pieces: list[bytes] = []
        for key, value in self.payload.items():
            pieces += (b"," if pieces else b"{", dump(key), b":")
            if type(value) is list:
                _write_items(cast("list[object]", value), pieces)
            else:
                pieces.append(dump(value))
        pieces.append(b"}" if pieces else b"{}")
        return b"".join(pieces)

    @property
    def digest(self) -> Digest:
        """The digest of the bytes to send."""
        return digest(self.body())

    def source_map(self) -> tuple[SourceRange, ...]:
        """Every byte range of the body that the model reads, and the span it came from."""
        return tuple(Walk(self.sources, self.reads).through(self.payload).ranges)


_BODIES = IdentityMemo[bytes](64, keeps=lambda body: len(body) <= _LARGE)


def _write_items(items: list[object], pieces: list[bytes]) -> None:
    """Each of them is written once, so it takes its place as a fragment."""
    before = b"["
    for number, given in enumerate(items):
        item = given
        if type(item) is dict:
            items[number] = item = Fragment(cast("dict[str, object]", item))
        pieces += (before, item.encode() if type(item) is Fragment else dump(item))
        before = b","
    pieces.append(b"]" if items else b"[]")
