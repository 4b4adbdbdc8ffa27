"""The Input IR of a tick, for its primary: four sections in a fixed order, each a plain text.

Whatever stands in a body, it cannot open or close a section: an `InputIr` cannot be made otherwise.
The renderers here need no model; the same input gives the same text, one line for each thing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from html import escape

from mentis.values.cognition import Goal, L1Entry, RootPartition, Sense
from mentis.values.json import JsonObject
from mentis.values.marks import ELEMENT, elementless, sectionless
from mentis.values.tick import Descriptor
from mentis.values.trust import Trust
from mentis.values.value import Value

MOST_BYTES = 2048  # a payload that is larger is told as a brief
SHOWN_HASH = 8
_MOST_BRIEF = 1024
_MOST_VALUE = 200
_MOST_NAME = 128
_REVIEW = " [review]"
_UNTRUSTED = " [untrusted]"
_encode = json.JSONEncoder(ensure_ascii=False).encode  # made once: to make it takes longer
_BREAKS = {ord(one): f"\\u{ord(one):04x}" for one in "\x85\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class InputIr(Value):
    senses: str
    act_descriptor_catalog: str
    goal_tree: str
    l1_memory: str

    def __post_init__(self) -> None:
        for one in fields(self):
            body: str = getattr(self, one.name)
            object.__setattr__(self, one.name, sectionless(body.strip()))

    @property
    def text(self) -> str:
        bodies = ((one.name.replace("_", "-"), getattr(self, one.name)) for one in fields(self))
        return "\n".join(f"<{name}>\n{body}\n</{name}>" for name, body in bodies)


@dataclass(frozen=True, slots=True)
class Brief(Value):
    """A payload that is too large to be told, in short. `omitted` names what is cut or left out;
    all of it can be had by the number of the sense.
    """

    brief: JsonObject
    original_size_in_bytes: int
    omitted: tuple[str, ...] = field(default=())


def render_senses(
    senses: Sequence[Sense], descriptors: Iterable[Descriptor] = (), *, most: int = MOST_BYTES
) -> str:
    """One line each, counted from 1 in the order of arrival, without ids of ours; a payload of
    more than `most` bytes as a brief. What nobody vouches for is marked.
    """
    known = {(one.endpoint, one.name): one.description for one in descriptors}
    lines: list[str] = []
    for number, sense in enumerate(senses, 1):
        meaning = flat(known.get((sense.endpoint, sense.kind), ""))
        about = f" ({meaning})" if meaning else ""
        told = line(told_payload(sense.payload, most=most))
        lines.append(f"{number}. {sense_name(sense)}{about}{_vouched(sense)}: {told}")
    return "\n".join(lines)


def sense_name(sense: Sense) -> str:
    kind = short(sense.kind)
    return f"{short(sense.endpoint)}/{kind}" if sense.endpoint else kind


def short(name: str) -> str:
    """A name on one line; what is too long for one is cut, and seen to be."""
    told = flat(name)
    return told if len(told) <= _MOST_NAME else f"{told[:_MOST_NAME]}…"


def _vouched(sense: Sense) -> str:
    """The program is told apart from outside by more than by names."""
    return _UNTRUSTED if sense.trust.rank > Trust.SELF.rank else ""


def told_payload(payload: JsonObject, *, most: int = MOST_BYTES) -> JsonObject:
    """The payload itself if it is small, else its brief."""
    brief = brief_of(payload, most=most)
    if brief is None:
        return payload
    return {
        "brief": brief.brief,
        "original_size_in_bytes": brief.original_size_in_bytes,
        "omitted": brief.omitted,
    }


def brief_of(payload: JsonObject, *, most: int = MOST_BYTES) -> Brief | None:
    """None when the payload is small enough to be told whole."""
    size = _size(payload)
    if size <= most:
        return None
    kept, omitted, room = dict[str, object](), list[str](), _MOST_BRIEF
    for name, value in payload.items():
        short = _shortened(value)
        needed = _size({name: short})
        if needed > room:
            omitted.append(name[:_MOST_VALUE])
            continue
        kept[name] = short
        room -= needed
        if short is not value:
            omitted.append(name)
    return Brief(kept, size, tuple(omitted[:20]))


def _shortened(value: object) -> object:
    """The value itself if it is short."""
    if isinstance(value, str):
        return value if len(value) <= _MOST_VALUE else f"{value[:_MOST_VALUE]}…"
    if value is None or isinstance(value, (bool, float)):
        return value
    written = line(value)  # also of an integer: some have thousands of digits
    return value if len(written) <= _MOST_VALUE else f"{written[:_MOST_VALUE]}…"


def render_catalog(acts: Iterable[Descriptor]) -> str:
    """The two names of each act as they are to be written, what it does, what its payload is."""
    return "\n".join([_act(one) for one in acts])


def _act(one: Descriptor) -> str:
    names = {"endpoint_id": one.endpoint, "neural_signal_descriptor_id": one.name}
    about = f"\n  {flat(one.description)}" if one.description.strip() else ""
    return f"- {line(names)}{about}\n  payload_schema: {line(one.schema)}"


def act_descriptor_element(one: Descriptor, text: str) -> str:
    """What a helper said of one act, with the names it must be called by around it."""
    names = f'endpoint-id="{escape(one.endpoint)}" act-id="{escape(one.name)}"'
    return f"<{ELEMENT} {names}>\n{elementless(text.strip())}\n</{ELEMENT}>"


def looked_through(goal: Goal) -> Goal:
    """The tree without goals that are in review, and without what hangs from them."""
    kept = tuple([looked_through(one) for one in goal.children if not one.review])
    return replace(goal, children=kept)


def render_goals(user: Goal) -> str:
    """An outline with numbers, weights and ids; the fixed root is its first line."""
    return "\n".join([_goal(user, "", 0), *_below(user, "", 0)])


def _below(goal: Goal, number: str, depth: int) -> Iterator[str]:
    for place, child in enumerate(goal.children, 1):
        own = f"{number}{place}."
        yield _goal(child, own, depth)
        yield from _below(child, own, depth + 1)


def _goal(goal: Goal, number: str, depth: int) -> str:
    mark = _REVIEW if goal.review else ""
    place = f"{'  ' * depth}{number} " if number else ""
    return f"{place}[{goal.weight}] {goal.id}: {flat(goal.text)}{mark}"


def goal_tree_section(root: RootPartition, user: str) -> str:
    """The drives exactly as they are given, and below them the text made of the user partition."""
    drives = [f"- {text}" for text in root.texts]
    return "\n".join(["root partition:", *drives, "", "user partition:", user.strip()])


def render_memory(entries: Iterable[L1Entry], *, holds_back: bool = False) -> str:
    """Place, the beginning of the hash, and the words; both name the entry in a patch. With
    `holds_back`, what is in review is not told; the others keep their places.
    """
    return "\n".join(
        [
            f"{place} {entry.hash[:SHOWN_HASH]} {line(entry.text)}{_REVIEW if entry.review else ''}"
            for place, entry in enumerate(entries)
            if not (holds_back and entry.review)
        ]
    )


def waiting_line(lines: int) -> str:
    """So many wait for their owner: told, so that nobody thinks them anew each time."""
    return f"{line({'in_review': lines})}\n" if lines else ""


def flat(text: str) -> str:
    """On one line, so that no text can pass for a line of its own."""
    return " ".join(text.split())


def line(value: object) -> str:
    """JSON, with what some take for the end of a line written as its number."""
    written = _encode(value)
    return written if written.isascii() else written.translate(_BREAKS)


def _size(value: object) -> int:
    return len(line(value).encode("utf-8", "surrogatepass"))
