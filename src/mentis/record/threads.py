"""The thread of a conversation: everything is kept in it, and not all of it is told.

A message that was said anew replaces the earlier one and what followed; it does so once it has an
answer. A summary stands for what was told before it. A thought is told while it waits for the next
message, and stays where it was told.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from mentis.values.part import ToolResultPart
from mentis.values.turn import Turn

CAME_TO_NOTHING = ("pending", "failed")


def standing_numbers(turns: Sequence[Turn], before: int | None = None) -> list[int]:
    """The numbers of the turns that nothing has replaced; with `before`, as if that one were."""
    return standing_in(dict(enumerate(turns)), before)


def told_turns(turns: Sequence[Turn], before: int | None = None) -> tuple[Turn, ...]:
    """What the model is told: the newest summary, then what was said since."""
    return tuple(turns[number] for number in told_numbers(turns, before))


def told_numbers(turns: Sequence[Turn], before: int | None = None) -> tuple[int, ...]:
    """Their numbers, in the order they are told; of what was erased nothing is."""
    return told_in(dict(enumerate(turns)), before)


def told_in(turns: Mapping[int, Turn], before: int | None = None) -> tuple[int, ...]:
    """As `told_numbers`, of turns by their numbers, in the order of these."""
    kept = [number for number in standing_in(turns, before) if turns[number].parts]
    if not [number for number in kept if turns[number].kind != "said"]:
        return tuple(kept)  # as of most talks
    summary = next((n for n in reversed(kept) if turns[n].kind == "summary"), None)
    since = 0 if summary is None else turns[summary].until or 0
    rest = [n for n in kept if n >= since and turns[n].kind in ("said", "thought")]
    shown = [
        number
        for place, number in enumerate(rest)
        if turns[number].kind == "said" or _waits(turns, rest[place + 1 :])
    ]
    return (*(() if summary is None else (summary,)), *shown)


def is_message(turn: Turn) -> bool:
    """Somebody's words, not the results of calls."""
    results = any(isinstance(part, ToolResultPart) for part in turn.parts)
    return turn.role == "user" and turn.kind == "said" and not results


def title_of(turns: Sequence[Turn]) -> str:
    return next((turn.text for turn in reversed(turns) if turn.kind == "title" and turn.parts), "")


def standing_in(turns: Mapping[int, Turn], before: int | None = None) -> list[int]:
    """As `standing_numbers`, of turns by their numbers: all, or those from one on."""
    replacing = [n for n, turn in turns.items() if turn.replaces is not None]
    kept = [] if replacing else list(turns)  # at once: it may be a long talk
    for number, turn in turns.items() if replacing else ():
        if turn.replaces is not None and turn.state not in CAME_TO_NOTHING:
            _cut(turns, kept, turn.replaces)
        kept.append(number)
    if before is not None:
        _cut(turns, kept, before)
    return kept


def _waits(turns: Mapping[int, Turn], after: Sequence[int]) -> bool:
    """The thought before it was the last thing, or the next message came."""
    return not after or is_message(turns[after[0]])


def _cut(turns: Mapping[int, Turn], kept: list[int], end: int) -> None:
    """Only what goes is looked at: a message may have been said anew hundreds of times."""
    place = bisect_left(kept, end)
    kept[place:] = [number for number in kept[place:] if _outlives(turns[number], end)]


def _outlives(turn: Turn, end: int) -> bool:
    """What is about the whole talk, or about a part of it that stays."""
    if turn.kind == "title":
        return True
    return turn.kind == "summary" and turn.until is not None and turn.until <= end
