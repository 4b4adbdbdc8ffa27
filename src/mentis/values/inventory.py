"""Inventory of what an agent keeps beside its record, as entries of that kind bind it.

Each item has a leaf: a salted digest of what it holds. An entry lists the leaves that changed since
the one before; so the entries together say what is kept, and say nothing of what it is. With the
salt gone, nobody can guess a short text from its leaf.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from .value import Value

KIND = "inventory"  # of the entries, and the one field of their body
MEMORY, REVISION, FILE = "memory", "revision", "file"
FIRST = "first"  # files as the first turn found them: bound by whichever entry comes first
_DOMAIN = b"mentis-1/inventory\0"


@dataclass(frozen=True, slots=True)
class BoundItem(Value):
    """An item as an entry binds it. Of two that speak of one item the greater number counts; no
    leaf says that it is gone.
    """

    kind: str
    name: str
    number: int
    leaf: str | None


@dataclass(frozen=True, slots=True)
class HeldItem(Value):
    """An item as it is kept now: `leaf` is worked out anew, `noted` is what was noted beside it
    when it was last changed through Mentis, and `bound` the agent whose record says so.

    Without a number nothing was noted; without a leaf the item is gone.
    """

    kind: str
    name: str
    number: int | None
    leaf: str | None
    noted: str | None
    bound: str


@dataclass(frozen=True, slots=True)
class NotedFile(Value):
    """A file of the home as it was noted last. Entries call it by `id`: its name has words in it.
    Without a leaf it is gone.
    """

    id: str
    path: str
    number: int
    salt: str
    leaf: str | None
    bound: str

    def is_still(self, outline: str | None) -> bool:
        """None of one that is gone."""
        told = None if outline is None else leaf_of(self.salt, FILE, self.path, (outline,))
        return self.leaf == told


def leaf_of(salt: str, kind: str, name: str, cells: Sequence[str]) -> str:
    told = json.dumps([salt, kind, name, *cells], ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(_DOMAIN + told.encode()).hexdigest()


def scopes_of(agent: str) -> tuple[str, ...]:
    """Whose items the record of an agent binds: its own, and those of its persona's files."""
    home, _, name = agent.rpartition("/")
    return (agent,) if home == "recorded" else (agent, f"persona:{name}")


def files_scope(agent: str) -> str:
    """Whose item a file of the home is: each agent binds the files that it is told by."""
    return f"files:{agent}"


def revision_scope(key: str) -> str:
    """Whose item a revision is, by its key; empty where it is the library's, so nobody's own."""
    what, _, rest = key.partition(":")
    if what == "state":
        return rest
    return f"persona:{rest.partition('/')[0]}" if what == "memory" else ""


def revision_name(key: str, number: int) -> str:
    return f"{key}#{number}"


def write_items(items: Sequence[BoundItem]) -> list[list[object]]:
    """As they stand in an entry, or in the list that one names."""
    return [[one.kind, one.name, one.number, one.leaf] for one in items]


def read_items(told: object) -> tuple[BoundItem, ...]:
    """ValueError where it is no list of items."""
    if not isinstance(told, list):
        raise ValueError("it is no list of items")  # noqa: TRY004 - as below
    return tuple(map(_read_item, cast("list[object]", told)))


def _read_item(told: object) -> BoundItem:
    match told:
        case [str(kind), str(name), int(number), str() | None as leaf]:
            return BoundItem(kind, name, number, leaf)
        case _:
            raise ValueError(f"{told!r} is no item")


def outline_of(content: str, parts: Mapping[str, str]) -> str:
    """A file by the digest of what it holds, with those of its parts where it has any."""
    told = {"content": content, **({"parts": dict(sorted(parts.items()))} if parts else {})}
    return json.dumps(told, ensure_ascii=True, separators=(",", ":"))


def has_parts(outline: str) -> bool:
    return '"parts"' in outline


def is_outline_of(outline: str, content: str) -> bool:
    return outline.startswith(f'{{"content":"{content}"')


def parts_of(outline: str) -> dict[str, str]:
    return json.loads(outline).get("parts", {}) if outline else {}
