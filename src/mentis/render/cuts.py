"""Places in a body up to which two requests may be the same, and what the model reads before each.

Cache marks do not count: they move with the conversation and are not part of the prefix.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Literal, Protocol, TypeAlias, cast

from mentis.values.json import JsonObject
from mentis.values.memo import IdentityMemo
from mentis.values.rendering import Boundary, Rendering
from mentis.values.source_map import FORM, SourceRange, TextReader, Walk, texts_of
from mentis.values.value import Value

CutRegion: TypeAlias = Literal["tools", "stable", "session", "history", "turn"]
_MARKS = ("cache_control", "prompt_cache_breakpoint")


class _Hash(Protocol):
    def hexdigest(self) -> str: ...


@dataclass(frozen=True, slots=True)
class PrefixCut(Value):
    """`end` is a byte of the body without marks, `digest` 24 digits of the SHA-256 up to it.

    `text` is what the model reads since the cut before; `written`: some of it is JSON, which
    providers write anew in their own way. `blocks` stand in messages before it.
    """

    region: CutRegion
    pointer: str
    end: int
    digest: str
    text: str
    written: bool = False
    ttl: str = ""
    marked: bool = False
    blocks: int = 0


# A call is held against the one before it, so that each is looked at more than once.
_CUTS = IdentityMemo[tuple[PrefixCut, ...]](64)
_BARE = IdentityMemo[Rendering](64)


def cuts_of(rendering: Rendering) -> tuple[PrefixCut, ...]:
    """First the boundaries of the plan, then each message of the turn itself. Where nothing is
    planned there is one, behind everything: nobody will look for less of it.
    """
    return _CUTS.remember(_cuts, rendering)


def _cuts(rendering: Rendering) -> tuple[PrefixCut, ...]:
    if not rendering.cache_plan.boundaries:
        return _whole(rendering)
    bare = strip_marks(rendering)
    items = {f"/{key}{rest}" for key, part in bare.payload.items() for rest in _tops(part)}
    planned = rendering.cache_plan.boundaries
    wanted = items | {boundary.pointer for boundary in planned}
    walk = Walk(bare.sources, bare.reads, wanted).through(bare.payload)
    # A schema of the answer stands after everything, and not every server tells the model of it.
    read = [place for place in walk.ranges if place.span.source != FORM]
    places = [(end_of(each, walk), each) for each in planned]
    last = max((end for end, _ in places), default=0)
    tail = {_top(each.pointer, items) for each in read if each.end > last}
    places += sorted((walk.ends[pointer], Boundary(pointer)) for pointer in tail)
    body, told = bare.body(), iter(read)
    found = list[PrefixCut]()
    seed, before, ahead = sha256(), 0, next(told, None)
    for number, (end, boundary) in enumerate(places):
        seed.update(body[before:end])
        since = list[SourceRange]()
        while ahead is not None and ahead.end <= end:
            since.append(ahead)
            ahead = next(told, None)
        region = boundary.region if number < len(planned) else "turn"
        found.append(
            PrefixCut(
                region,
                boundary.pointer,
                end,
                _short(seed),
                "\n".join(texts_of(since)),
                written=any(place.form == "json" for place in since),
                ttl=boundary.ttl,
                marked=boundary.marked,
                blocks=_blocks(boundary.pointer, rendering.payload),
            )
        )
        before = max(before, end)
    return tuple(found)


def _whole(rendering: Rendering) -> tuple[PrefixCut, ...]:
    """The one cut behind all that the model reads, put together from what its items are."""
    items = TextReader(rendering.sources, rendering.reads).items(rendering.payload)
    read = [item for item in items if item.texts]
    if not read:
        return ()
    pointer, end = read[-1].pointer, read[-1].end
    text = "\n".join(text for item in read for text in item.texts)
    digest = _short(sha256(rendering.body()[:end]))
    written = any(item.written for item in read)
    return (PrefixCut("turn", pointer, end, digest, text, written=written),)


def strip_marks(rendering: Rendering) -> Rendering:
    """The same payload without cache marks: what the provider compares."""
    return _BARE.remember(_bare, rendering)


def _bare(rendering: Rendering) -> Rendering:
    if not any(boundary.marked for boundary in rendering.cache_plan.boundaries):
        return rendering
    return replace(rendering, payload=cast("JsonObject", _without_marks(rendering.payload)))


def end_of(boundary: Boundary, walk: Walk) -> int:
    """The byte up to which a boundary reaches: inside a text, or the end of a whole value."""
    own = [place for place in walk.ranges if place.pointer == boundary.pointer]
    if not own:
        return walk.ends.get(boundary.pointer, 0)
    end, most = own[0].start, int(boundary.region in ("session", "history"))
    for place in own:
        if place.span.stability.rank > most:
            break
        end = place.end
    return end


def _short(seed: _Hash) -> str:
    return seed.hexdigest()[:24]


def _tops(part: object) -> Iterator[str]:
    yield ""
    if isinstance(part, list):
        yield from (f"/{index}" for index in range(len(cast("list[object]", part))))


def _top(pointer: str, items: set[str]) -> str:
    """The item of the payload a pointer leads into: a message, or a text of its own."""
    steps = pointer.split("/")
    item = "/".join(steps[:3])
    return item if item in items else "/".join(steps[:2])


def _blocks(pointer: str, payload: JsonObject) -> int:
    """How many blocks of content stand in messages before the end of the one at `pointer`."""
    match pointer.split("/"):
        case ["", "messages", message, "content", block]:
            before = cast("list[dict[str, object]]", payload["messages"])[: int(message)]
            told = [each.get("content") for each in before]
            own = [
                len(cast("list[object]", each)) if isinstance(each, list) else 1 for each in told
            ]
            return sum(own) + int(block) + 1
        case _:
            return 0


def _without_marks(value: object) -> object:
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value).items()
        return {name: _without_marks(part) for name, part in members if name not in _MARKS}
    if isinstance(value, list):
        return [_without_marks(item) for item in cast("list[object]", value)]
    return value


def digests_at(rendering: Rendering, ends: Collection[int]) -> Mapping[int, str]:
    """The digest of the body without marks up to each of these bytes, as far as it goes."""
    body, seed, before = strip_marks(rendering).body(), sha256(), 0
    found: dict[int, str] = {}
    for end in sorted(end for end in set(ends) if end <= len(body)):
        seed.update(body[before:end])
        found[end], before = _short(seed), end
    return found
