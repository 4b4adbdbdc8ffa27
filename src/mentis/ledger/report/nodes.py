"""Nodes of a page, and how values are shown on it. `report.js` says the same in its language."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Child: TypeAlias = "Node | str"
# What could steer a terminal, hide itself or turn the direction of reading, and what HTML changes.
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T.*Z\Z")
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb"
    "\U000e0000-\U000e0fff]"
)


@dataclass(frozen=True, slots=True)
class Node:
    tag: str
    attributes: dict[str, str]
    children: tuple[Child, ...]

    def html(self) -> str:
        named = "".join(f' {name}="{html.escape(v)}"' for name, v in self.attributes.items())
        inner = "".join(
            html.escape(one) if isinstance(one, str) else one.html() for one in self.children
        )
        return f"<{self.tag}{named}>{inner}</{self.tag}>"


def node(tag: str, *children: Child, **attributes: str) -> Node:
    """`cls` is the class, `data_entry` the entry that it speaks of."""
    named = {
        ("class" if name == "cls" else name.replace("_", "-")): value
        for name, value in attributes.items()
    }
    return Node(tag, named, tuple(one for one in children if one != ""))


def shown(value: object) -> str:
    """A text without characters that cannot be seen; "" for what is no text."""
    if not isinstance(value, str):
        return ""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", value)


def cut(text: str, most: int) -> str:
    """The beginning of a text that is longer, with how long it is."""
    if len(text) <= most:
        return text
    return f"{text[:most]} … ({count(len(text))} characters in all)"


def count(number: int) -> str:
    return f"{number:,}"


def quantity(number: int, one: str, more: str) -> str:
    return f"{count(number)} {one if number == 1 else more}"


def moment(time: object) -> str:
    """`2026-01-01 00:00:00 UTC`, as far as it is one."""
    text = shown(time)
    return f"{text[:10]} {text[11:19]} UTC" if _TIME.match(text) else text


def table(heads: Sequence[str], rows: Sequence[Node], name: str) -> Node:
    head = node("tr", *(node("th", one, scope="col") for one in heads))
    inner = node("table", node("thead", head), node("tbody", *rows))
    return node("div", inner, cls="scroller", role="region", tabindex="0", aria_label=name)
