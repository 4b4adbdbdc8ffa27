"""Which bytes of a body came from which span. Worked out when asked for, from the payload itself.

Texts that a renderer joined from spans come with those spans. What else the model reads (names,
arguments, schemas, thoughts, names of files) is found by its key: `reads` says which keys those
are in one wire format, and as what they are read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias, cast

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
Reads: TypeAlias = Mapping[str, Reading]


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
    reads: Reads
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
            self._value(item, f"{pointer}/{escaped(key)}", key, members)
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
        walked, here = self._walked(item, pointer), self.offset
        self.ranges += [
            SourceRange(one.pointer, one.start + here, one.end + here, one.span, one.form)
            for one in walked.ranges
        ]
        self.offset += walked.length
        if pointer in self.wanted:
            self.ends[pointer] = self.offset

    def _walked(self, item: Fragment, pointer: str) -> _Walked:
        """What is in a piece that comes again with the next payload, in the same place."""
        known = _WALKED.remember(_nowhere, item)
        if pointer not in known:
            own = Walk(self.sources, self.reads)
            own._value(item, pointer, "", {})  # of its own class
            known[pointer] = _Walked(own.ranges, own.offset)
        return known[pointer]

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


def escaped(key: str) -> str:
    """A key as a step of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def texts_of(ranges: Sequence[SourceRange]) -> tuple[str, ...]:
    """What stands in one text stays one."""
    texts, pointer = list[str](), None
    for place in ranges:
        if place.pointer == pointer:
            texts[-1] += place.span.text
        else:
            texts.append(place.span.text)
        pointer = place.pointer
    return tuple(texts)


class _Walked(NamedTuple):
    """One piece walked through by itself: its ranges begin at 0."""

    ranges: list[SourceRange]
    length: int


def _nowhere(_item: Fragment) -> dict[str, Any]:
    return {}


_WALKED = IdentityMemo[dict[str, _Walked]](4096)


class ItemReading(NamedTuple):
    """What the model reads in one item of a payload, which ends at the byte `end` of the body: the
    text at each place, and whether some of it is JSON, which providers write anew in their own way.
    """

    pointer: str
    end: int
    texts: tuple[str, ...]
    written: bool


class _Item(NamedTuple):
    """One item by itself."""

    length: int
    texts: tuple[str, ...]
    written: bool


@dataclass(frozen=True, slots=True)
class TextReader:
    """The way that `Walk` goes, for whoever does not ask which span a byte came from."""

    sources: Sources
    reads: Reads

    def items(self, payload: JsonObject) -> Iterator[ItemReading]:
        """Each item of the payload, be it a value of its own or one in a list."""
        offset = 0
        for key, value in payload.items():
            pointer = f"/{escaped(key)}"
            offset += len(dump(key)) + 2  # a brace or a comma, and a colon
            if type(value) is not list or pointer in self.sources or key in self.reads:
                item = self._item(cast("object", value), pointer, key)
                offset += item.length
                yield ItemReading(pointer, offset, item.texts, item.written)
                continue
            for number, one in enumerate(cast("list[object]", value)):
                item = self._listed(one, f"{pointer}/{number}")
                offset += item.length + 1  # a bracket or a comma
                yield ItemReading(f"{pointer}/{number}", offset, item.texts, item.written)
            offset += 1 if value else 2

    def _listed(self, one: object, pointer: str) -> _Item:
        if type(one) is not Fragment:
            return self._item(one, pointer, "")
        known = _READ.remember(_nowhere, one)  # it comes again with the next payload
        if pointer not in known:
            known[pointer] = self._item(one, pointer, "")
        return known[pointer]

    def _item(self, value: object, pointer: str, key: str) -> _Item:
        found = [*self._texts(value, pointer, key)]
        length = len(value.encode() if type(value) is Fragment else dump(value))
        return _Item(length, tuple(text for text, _ in found), any(json for _, json in found))

    def _texts(self, value: object, pointer: str, key: str) -> Iterator[tuple[str, bool]]:
        """Each with whether it is JSON. A schema of the answer does not count: it stands after
        everything, and not every server tells the model of it.
        """
        if pointer in self.sources:
            if spans := self.sources[pointer]:
                yield "".join([span.text for span in spans]), False
        elif key in self.reads and value and isinstance(value, (str, Mapping, list)):
            if self.reads[key] != "form":
                text = value if isinstance(value, str) else dump(cast("object", value)).decode()
                yield text, not isinstance(value, str)
        elif isinstance(value, Mapping):
            for name, one in cast("JsonObject", value).items():
                yield from self._texts(one, f"{pointer}/{escaped(name)}", name)
        elif isinstance(value, (list, tuple)):
            for number, one in enumerate(cast("list[object]", value)):
                yield from self._texts(one, f"{pointer}/{number}", "")


_READ = IdentityMemo[dict[str, _Item]](4096)
