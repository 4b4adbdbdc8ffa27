"""A conversation that is kept as a tree: every message knows the one before it, and what was asked
or answered anew stands beside what was there first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mentis.errors import BadInput
from mentis.values.imported import ImportedTurn
from mentis.values.turn import Role
from mentis.values.value import Value


@dataclass(frozen=True, slots=True)
class TreeMessage(Value):
    """One message. Without a role it is nobody's words: a root, a call of a tool, a thought."""

    id: str
    parent: str = ""
    role: Role | None = None
    text: str = ""
    time: str = ""


@dataclass(frozen=True, slots=True)
class Branch(Value):
    """The branch that was read last. `edited` counts messages that were said anew: the older ones,
    with what followed, are on other branches.
    """

    turns: tuple[ImportedTurn, ...]
    edited: int = 0


def read_branch(messages: Sequence[TreeMessage], leaf: str = "") -> Branch:
    """From the root to a leaf, by default the last message; answers beside an answer become its
    `others`.
    """
    by_id = {one.id: one for one in messages}
    children: dict[str, list[TreeMessage]] = {}
    for one in messages:
        children.setdefault(one.parent, []).append(one)
    path = _path(by_id, leaf if leaf in by_id else messages[-1].id) if messages else []
    turns: list[ImportedTurn] = []
    others: list[str] = []
    edited = 0
    for one in path:
        for other in children[one.parent]:
            said = None if other.id == one.id else _first_said(other, children)
            if said is not None and said.role == "assistant":
                others.append(said.text)
            elif said is not None:
                edited += 1
        if one.role is not None:
            turn = ImportedTurn(one.role, one.text, time=one.time)
            mine = tuple(others) if one.role == "assistant" else ()
            turns.append(replace(turn, others=mine))
            others = []
    return Branch(tuple(turns), edited)


def _path(by_id: Mapping[str, TreeMessage], leaf: str) -> list[TreeMessage]:
    path: dict[str, TreeMessage] = {}
    at: TreeMessage | None = by_id[leaf]
    while at is not None:
        if at.id in path:
            raise BadInput(f"message {at.id!r} comes after itself", hint="export it anew")
        path[at.id] = at
        at = by_id.get(at.parent)
    return list(reversed(path.values()))


def _first_said(
    start: TreeMessage, children: Mapping[str, Sequence[TreeMessage]]
) -> TreeMessage | None:
    """The first words of a branch; of several further branches in it those of the newest."""
    seen: set[str] = set()
    at: TreeMessage | None = start
    while at is not None and at.role is None and at.id not in seen:
        seen.add(at.id)
        below = children.get(at.id, ())
        at = below[-1] if below else None
    return at if at is not None and at.role is not None else None
