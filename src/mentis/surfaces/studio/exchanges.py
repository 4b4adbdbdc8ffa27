"""A conversation as people see it: each message with its answer, and the other ways it went.

Nothing is ever taken out of a session: what was said anew stays, as another version of the same
exchange.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from mentis.record.threads import is_message, standing_numbers
from mentis.values.part import MediaPart, Part, ReasoningPart, TextPart, ToolCallPart
from mentis.values.turn import Turn, guest_name

_MOST_RESULT = 4000  # characters of a result that a page shows
_MOST_LABEL = 60
_EMPTY = ("title",)


@dataclass(slots=True)
class TalkExchange:
    """A message, what followed it up to the next one; `root` is the first version's number."""

    number: int
    root: int
    turns: list[tuple[int, Turn]] = field(default_factory=list[tuple[int, Turn]])

    @property
    def last(self) -> int:
        return self.turns[-1][0]


def exchanges_of(turns: Sequence[Turn]) -> list[TalkExchange]:
    """All of them, in the order in which they were said."""
    found: list[TalkExchange] = []
    roots: dict[int, int] = {}
    for number, turn in enumerate(turns):
        if turn.kind in _EMPTY or not turn.parts:
            continue
        begins = is_message(turn) or turn.kind == "summary" or turn.replaces is not None
        if begins or not found or found[-1].turns[0][1].kind == "summary":
            root = number if turn.replaces is None else roots.get(turn.replaces, turn.replaces)
            found.append(TalkExchange(number, root))
        roots[number] = found[-1].root
        found[-1].turns.append((number, turn))
    return found


def thread(turns: Sequence[Turn]) -> list[tuple[TalkExchange, list[TalkExchange]]]:
    """The exchanges that are told now, each with all its versions, itself among them."""
    found, counting = exchanges_of(turns), set(standing_numbers(turns))
    versions: dict[int, list[TalkExchange]] = {}
    for one in found:
        versions.setdefault(one.root, []).append(one)
    return [(one, versions[one.root]) for one in found if one.number in counting]


def exchange_data(shown: TalkExchange, versions: Sequence[TalkExchange]) -> dict[str, object]:
    """For a page: the version that is told now, and how many there are."""
    return {
        **_version_data(shown),
        "version": versions.index(shown) + 1,
        "versions": [_version_data(one) for one in versions] if len(versions) > 1 else [],
    }


def first_words(turns: Sequence[Turn]) -> str:
    """What a conversation without a title is known by: how it began."""
    said = next((turn for turn in turns if turn.kind == "said" and turn.text.strip()), None)
    words = " ".join(said.text.split()) if said is not None else ""
    return words if len(words) <= _MOST_LABEL else f"{words[:_MOST_LABEL].rstrip()}…"


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
