"""Which bytes of a body came from which span. Worked out when asked for, from the payload itself.

Texts that a renderer joined from spans come with those spans. What else the model reads (names,
arguments, schemas, thoughts, names of files) is found by its key: `reads` says which keys those
are in one wire format, and as what they are read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, cast

from .fragment import Fragment
from .json import JsonObject
from .memo import IdentityMemo
from .span import Span
from .stability import Stability
from .trust import Trust
from .value import Value
from .written import dump

Reading: TypeAlias = Literal["name", "tool", "call", "thought", "file", "form"]
FORM = "form of the answer"
_ITEM = 3  # so many steps lead to an item of a list at the top: "", the list, its number
Sources: TypeAlias = Mapping[str, tuple[Span, ...]]


@dataclass(frozen=True, slots=True)
class SourceRange(Value):
    """Bytes `start` to `end` of the body came from `span`.

    In the form `text` they stand, escaped, inside the string at `pointer`; in the form `json` they
    are the whole value at `pointer`, and `span.text` is that value as it is written.
    """

    pointer: str
    start: int
    end: int
    span: Span
    form: Literal["text", "json"] = "text"


@dataclass(slots=True)
class Walk:
    """One way through a payload. `ends` are the bytes at which the `wanted` values end."""

    sources: Sources
    reads: Mapping[str, Reading]
    wanted: Collection[str] = ()
    ranges: list[SourceRange] = field(default_factory=list[SourceRange])
    ends: dict[str, int] = field(default_factory=dict[str, int])
    offset: int = 0
    parents: frozenset[str] = frozenset()  # items of the payload with something wanted inside

    def through(self, payload: JsonObject) -> Walk:
        steps = (pointer.split("/", 4) for pointer in self.wanted)
        self.parents = frozenset("/".join(s[:3]) for s in steps if len(s) > _ITEM)
        self._members(payload, "")
        return self

    def _value(self, value: object, pointer: str, key: str, beside: JsonObject) -> None:
        if pointer in self.sources:
            self._text(pointer, dump(value), self.sources[pointer])
        elif key in self.reads and value and isinstance(value, (str, Mapping, list)):
            self._read(cast("object", value), pointer, key, beside)
        elif isinstance(value, Mapping):
            self._members(cast("JsonObject", value), pointer)
        elif isinstance(value, (list, tuple)):
            self._items(cast("list[object]", value), pointer)
        else:
            self.offset += len(dump(value))
        if pointer in self.wanted:
            self.ends[pointer] = self.offset

    def _members(self, members: JsonObject, pointer: str) -> None:
        self.offset += 1
        for index, (key, item) in enumerate(members.items()):
            self.offset += len(dump(key)) + (2 if index else 1)  # a colon, and a comma before
            escaped = key.replace("~", "~0").replace("/", "~1")
            self._value(item, f"{pointer}/{escaped}", key, members)
        self.offset += 1

    def _items(self, items: list[object], pointer: str) -> None:
        self.offset += 1
        for index, item in enumerate(items):
            self.offset += 1 if index else 0
            place = f"{pointer}/{index}"
            if type(item) is Fragment and place not in self.parents:
                self._fragment(item, place)
            else:
                self._value(item, place, "", {})
        self.offset += 1

    def _fragment(self, item: Fragment, pointer: str) -> None:
        """What is in a piece that comes again with the next payload, in the same place."""
        known = _WALKED.remember(_nowhere, item)
        if pointer not in known:
            own = Walk(self.sources, self.reads)
            own._value(item, pointer, "", {})  # of its own class
            known[pointer] = own.ranges, own.offset
        ranges, length = known[pointer]
        here = self.offset
        self.ranges += [
            SourceRange(one.pointer, one.start + here, one.end + here, one.span, one.form)
            for one in ranges
        ]
        self.offset += length
        if pointer in self.wanted:
            self.ends[pointer] = self.offset

    def _text(self, pointer: str, written: bytes, spans: tuple[Span, ...]) -> None:
        start = self.offset + 1  # past the opening quote
        for span in spans:
            end = start + len(dump(span.text)) - 2
            self.ranges.append(SourceRange(pointer, start, end, span))
            start = end
        self.offset += len(written)

    def _read(self, value: object, pointer: str, key: str, beside: JsonObject) -> None:
        written = dump(value)
        parent = pointer.rpartition("/")[0]
        if isinstance(value, str):
            self._text(pointer, written, (self._span(value, parent, key, beside),))
            return
        span = self._span(written.decode(), parent, key, beside)
        end = self.offset + len(written)
        self.ranges.append(SourceRange(pointer, self.offset, end, span, "json"))
        self.offset = end

    def _span(self, text: str, parent: str, key: str, beside: JsonObject) -> Span:
        """A tool's parts belong where its description does; what is said in a call, to the call."""
        match self.reads[key]:
            case "tool":
                return self._of_tool(text, parent, beside)
            case "name" if "description" in beside:
                return self._of_tool(text, parent, beside)
            case "name" | "call":
                source = f"call of {beside.get('name', '')}"
                return Span(text, source=source, trust=Trust.SELF, stability=Stability.SESSION)
            case "thought":
                return Span(text, source="reasoning", trust=Trust.SELF, stability=Stability.SESSION)
            case "file":
                return Span(text, source="attachment", trust=Trust.UNTRUSTED)
            case "form":
                return Span(text, source=FORM, trust=Trust.RUNTIME)

    def _of_tool(self, text: str, parent: str, beside: JsonObject) -> Span:
        described = self.sources.get(f"{parent}/description", ())
        if described:
            return replace(described[0], text=text)
        return Span(text, source=f"tool {beside.get('name', '')}", trust=Trust.REFERENCE)


_Walked: TypeAlias = dict[str, tuple[list[SourceRange], int]]


def _nowhere(_item: Fragment) -> _Walked:
    return {}


_WALKED = IdentityMemo[_Walked](4096)
