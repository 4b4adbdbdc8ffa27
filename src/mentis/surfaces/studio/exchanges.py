"""A conversation as people see it: each message with its answer, and the other ways it went.

Nothing is ever taken out of a session: what was said anew stays, as another version of the same
exchange.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from mentis.app.agent import Agent
from mentis.record.threads import CAME_TO_NOTHING, is_message
from mentis.values.part import MediaPart, Part, ReasoningPart, TextPart, ToolCallPart
from mentis.values.session import BEATS, SessionOutline
from mentis.values.turn import Turn, guest_name
from mentis.web.agents import own_name

from .pages import PageCall, PageData

_MOST_RESULT = 4000  # characters of a result that a page shows
_MOST_LABEL = 60
_BLOCK = 64  # turns that are read at once
_MOST_TURNS = 512  # of one exchange
# The last turns of a conversation, so many, before a number if one is given; the oldest first.
ReadTurns: TypeAlias = Callable[[int, int | None], Sequence[tuple[int, Turn]]]


@dataclass(slots=True)
class TalkExchange:
    """A message and what followed it, up to the next one."""

    number: int
    turns: list[tuple[int, Turn]] = field(default_factory=list[tuple[int, Turn]])

    @property
    def last(self) -> int:
        return self.turns[-1][0]


def last_exchanges(
    read: ReadTurns, count: int, before: int | None = None
) -> tuple[list[tuple[TalkExchange, list[TalkExchange]]], int | None]:
    """The last exchanges that are told, or the last before a turn, the oldest first, each with all
    its versions, itself among them; and the number before which there are more. About as much is
    read as is shown: a message that was said anew names the one in whose place it stands.
    """
    walk = _BackwardWalk(read, before)
    found: list[tuple[TalkExchange, list[TalkExchange]]] = []
    while len(found) < count and (shown := walk.exchange()) is not None:
        earlier = _earlier_versions(read, shown)
        found.append((shown, [*_others(earlier, shown), shown]))
        walk.go_before(earlier[0].number if earlier else shown.number)
    return found[::-1], walk.before if len(found) == count and walk.before else None


class _BackwardWalk:
    """Goes through a conversation from its end, or from before a turn."""

    def __init__(self, read: ReadTurns, before: int | None) -> None:
        self._read = read
        self.before = before
        self._block: list[tuple[int, Turn]] = []

    def exchange(self) -> TalkExchange | None:
        """The one that ends here, from its first turn on, as far as a page shows it."""
        turns: list[tuple[int, Turn]] = []
        while len(turns) < _MOST_TURNS and (one := self._take()) is not None:
            turn = one[1]
            if turn.kind == "undo" and turn.replaces is not None:
                self._go_before_all_of(turn.replaces)
            if not _is_shown(turn):
                continue
            if turn.kind == "summary" and turns:
                self._block.append(one)
                break  # what follows it is an exchange of its own
            turns.append(one)
            if _begins(turn):
                break
        return TalkExchange(turns[-1][0], turns[::-1]) if turns else None

    def go_before(self, number: int) -> None:
        self.before, self._block = number, [one for one in self._block if one[0] < number]

    def _go_before_all_of(self, number: int) -> None:
        """Also before what the message of this number stands in the place of."""
        taken = exchange_at(self._read, number)
        earlier = [] if taken is None else _earlier_versions(self._read, taken)
        self.go_before(earlier[0].number if earlier else number)

    def _take(self) -> tuple[int, Turn] | None:
        if not self._block:
            self._block = list(self._read(_BLOCK, self.before))
        if not self._block:
            return None
        self.before = self._block[-1][0]
        return self._block.pop()


def _earlier_versions(read: ReadTurns, shown: TalkExchange) -> list[TalkExchange]:
    """Those that it stands in the place of, the first one first."""
    found: list[TalkExchange] = []
    first = shown.turns[0][1]
    while first.replaces is not None and first.state not in CAME_TO_NOTHING:
        earlier = exchange_at(read, first.replaces)
        if earlier is None:
            break
        found.append(earlier)
        first = earlier.turns[0][1]
    return found[::-1]


def _others(earlier: Sequence[TalkExchange], shown: TalkExchange) -> list[TalkExchange]:
    """Each once: one that was told again stands in the conversation twice."""
    seen, found = [_parts(shown)], list[TalkExchange]()
    for one in earlier:
        if _parts(one) not in seen:
            seen.append(_parts(one))
            found.append(one)
    return found


def _parts(one: TalkExchange) -> list[tuple[Part, ...]]:
    return [turn.parts for _, turn in one.turns]


def exchange_at(read: ReadTurns, number: int) -> TalkExchange | None:
    """The one that begins with this turn, as far as a page shows it."""
    after = [one for one in read(_BLOCK, number + _BLOCK) if one[0] >= number]
    turns = [one for one in after if _is_shown(one[1])]
    if not turns:
        return None
    end = next((n for n, one in enumerate(turns) if n and _begins(one[1])), len(turns))
    return TalkExchange(number, turns[:end])


def _is_shown(turn: Turn) -> bool:
    return turn.kind not in ("title", "undo") and bool(turn.parts)


def _begins(turn: Turn) -> bool:
    return is_message(turn) or turn.kind == "summary" or turn.replaces is not None


def exchange_data(shown: TalkExchange, versions: Sequence[TalkExchange]) -> dict[str, object]:
    """For a page: the version that is told now, and how many there are."""
    return {
        **_version_data(shown),
        "version": versions.index(shown) + 1,
        "versions": [_version_data(one) for one in versions] if len(versions) > 1 else [],
    }


def label_of(outline: SessionOutline) -> str:
    """What a conversation is known by: its title, else how it began."""
    words = outline.title or " ".join(outline.begins.split())
    return words if len(words) <= _MOST_LABEL else f"{words[:_MOST_LABEL].rstrip()}…"


def talk_link(call: PageCall, agent: Agent | None, session: str) -> PageData:
    """A conversation by what it is known by, and its page where it is of whoever asks. Those of
    recorded programs have no agent, and no page.
    """
    if agent is None or session in ("", BEATS):
        return {"label": session, "path": ""}
    own = own_name(call.token, session)
    path = f"/studio/talk/{call.path('persona')}/{own}" if own else ""
    return {"label": label_of(agent.session_outline(session)) or own or session, "path": path}


def _version_data(one: TalkExchange) -> dict[str, object]:
    number, first = one.turns[0]
    said = is_message(first)
    answer = one.turns[1:] if said else one.turns
    return {
        "number": number,
        "last": one.last,
        "kind": first.kind,
        "state": one.turns[-1][1].state,
        "said": _said(first) if said else None,
        "steps": [step for _, turn in answer for part in turn.parts for step in _step(turn, part)],
    }


def _said(turn: Turn) -> dict[str, object]:
    files = [part for part in turn.parts if isinstance(part, MediaPart)]
    return {
        "text": turn.text,
        "author": guest_name(turn.author) if turn.author else "",
        "trust": turn.lineage.value,
        "files": [{"name": one.name or one.url or one.kind, "kind": one.kind} for one in files],
    }


def _step(turn: Turn, part: Part) -> list[dict[str, object]]:
    """One thing that the answer says or does."""
    match part:
        case TextPart():
            kind = "text" if turn.kind == "said" else turn.kind
            return [{"kind": kind, "text": part.text}] if part.text else []
        case ReasoningPart():
            return [{"kind": "reasoning", "text": part.text}] if part.text else []
        case ToolCallPart():
            arguments = part.raw or json.dumps(part.arguments, indent=2, ensure_ascii=False)
            return [{"kind": "call", "name": part.name, "text": arguments, "id": part.id}]
        case MediaPart():
            return [{"kind": "file", "name": part.name or part.kind, "text": ""}]
        case _:
            cut = part.text[:_MOST_RESULT]
            return [
                {
                    "kind": "result",
                    "name": part.name,
                    "text": cut,
                    "more": len(part.text) - len(cut),
                    "failed": part.failed,
                    "trust": part.trust.value,
                    "screening": part.verdict,
                }
            ]
