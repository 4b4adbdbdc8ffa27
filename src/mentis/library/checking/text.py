"""Rules about what stands in the texts: placeholders, how long they last, and our own markers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from mentis.library.search import PLACEHOLDER, block_keys
from mentis.values.block import Block
from mentis.values.json import JsonObject
from mentis.values.placeholder import Placeholder
from mentis.values.stability import Stability

from .desk import CheckDesk, CheckFinding, FilePlace
from .marks import FENCES, SECTIONS, marks_in

_ODD = re.compile(r"\{\{(?:\s+\w+\s*|\w+\s+)\}\}")


@dataclass(frozen=True, slots=True)
class _Text:
    """One text of a block and where it stands."""

    variant: str
    text: str
    place: FilePlace

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(PLACEHOLDER.findall(self.text)))

    def at_key(self, key: str) -> FilePlace:
        return self.place.at(words=f"{{{{{key}}}}}")


def check_texts(desk: CheckDesk) -> Iterator[CheckFinding]:
    registered = desk.loaded.library.placeholders
    for block in desk.loaded.library.blocks:
        found = list(_texts(block, desk))
        for text in found:
            yield from _unknown(text, desk)
            yield from _odd(text)
        yield from _marks(block, found, desk)
        yield from _used(block, desk)
        yield from _fleeting(block, found, registered)


def _texts(block: Block, desk: CheckDesk) -> Iterator[_Text]:
    for name, variant in block.variants.items():
        place = desk.wording(block.id, name)
        if variant.content:
            yield _Text(name, variant.content, place.at("content"))
        for index, message in enumerate(variant.messages):
            yield _Text(name, message.content, place.at("messages", index, "content"))


def _unknown(text: _Text, desk: CheckDesk) -> Iterator[CheckFinding]:
    for key in text.keys:
        if key not in desk.loaded.library.placeholders:
            yield CheckFinding(
                "prompt-unknown-placeholder",
                text.at_key(key),
                f"{{{{{key}}}}} is not registered; it stays as it is unless a caller gives it",
                desk.suggestion(key) or "register the placeholder, or correct its name",
            )


def _odd(text: _Text) -> Iterator[CheckFinding]:
    for braces in dict.fromkeys(_ODD.findall(text.text)):
        yield CheckFinding(
            "prompt-odd-braces",
            text.place.at(words=braces),
            f"{braces} is plain text; a placeholder has no spaces",
            f"write {'{{' + braces.strip('{} ') + '}}'}",
        )


def _marks(block: Block, texts: list[_Text], desk: CheckDesk) -> Iterator[CheckFinding]:
    """Shipped wordings say what the markers mean; an override may keep those of its block."""
    allowed = set(SECTIONS) if block.category == "cortex" else set[str]()
    for text in texts:
        if not desk.is_owners(block.id, text.variant):
            continue
        for name in marks_in(text.text):
            if name not in allowed and name not in _shipped_marks(block, desk):
                yield fence_finding(name, text.place)


def _shipped_marks(block: Block, desk: CheckDesk) -> set[str]:
    wordings = desk.shipped_wordings(block.id).values()
    return {name for wording in wordings for text in _strings(wording) for name in marks_in(text)}


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in cast("JsonObject", value).values():
            yield from _strings(member)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _strings(item)


def fence_finding(name: str, place: FilePlace) -> CheckFinding:
    why = FENCES.get(name) or SECTIONS[name]
    return CheckFinding(
        "prompt-fence",
        place.at(words=f"<{name}"),
        f"the text holds a marker that only Mentis sets: <{name} ({why})",
        "take it out, or write the word without the bracket",
    )


def _used(block: Block, desk: CheckDesk) -> Iterator[CheckFinding]:
    listed = desk.merged[block.id].content.get("placeholders_used", [])
    declared = {key for key in cast("list[object]", listed) if isinstance(key, str)}
    used = set(block_keys(block))
    if declared == used:
        return
    parts = (("lacks", used - declared), ("has without need", declared - used))
    said = "; ".join(f"{verb} {', '.join(sorted(keys))}" for verb, keys in parts if keys)
    yield CheckFinding(
        "prompt-placeholders-used",
        desk.content(block.id, "placeholders_used"),
        f"placeholders_used of {block.id!r} {said}",
        "save the block anew with `mentis prompts edit`, or correct the list",
    )


def _fleeting(
    block: Block, texts: list[_Text], registered: Mapping[str, Placeholder]
) -> Iterator[CheckFinding]:
    fleeting = {key for key, one in registered.items() if one.stability is Stability.TURN}
    found = [(text, key) for text in texts for key in text.keys if key in fleeting]
    if not found:
        return
    if block.stability is Stability.STABLE:
        for text, key in found:
            yield _in_stable(block, text, key)
    elif block.stability is None and block.target == "system_prompt":
        text, key = max(found, key=lambda each: _lasting(each[0]))
        yield _undeclared(block, text, key)


def _in_stable(block: Block, text: _Text, key: str) -> CheckFinding:
    return CheckFinding(
        "prompt-turn-in-stable",
        text.at_key(key),
        f"{block.id!r} is declared stable, but {{{{{key}}}}} changes every turn",
        f'declare "stability": "turn" for {block.id!r}, or move {{{{{key}}}}} to a block that is',
    )


def _undeclared(block: Block, text: _Text, key: str) -> CheckFinding:
    return CheckFinding(
        "prompt-turn-undeclared",
        text.at_key(key),
        f"{{{{{key}}}}} changes every turn, so {_lasting(text)} lasting characters of"
        f" {block.id!r} (variant {text.variant!r}) leave the cached prefix",
        f'declare "stability": "turn" if that is meant, or give {{{{{key}}}}} a block of its own',
    )


def _lasting(text: _Text) -> int:
    return len(PLACEHOLDER.sub("", text.text))
