"""Which earlier turns go along: the newest that fit, never opening with an answer.

Where all of them do not fit, the told part begins in steps: it stays where it begins until it is
full, and then at most half of it goes at once. So most prompts begin with the same bytes as the one
before, and a provider's cache holds. Where it may begin hangs on the numbers of the turns alone.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

from mentis.ports.token_counter import TokenCounter
from mentis.values.keywords import LoreTrace
from mentis.values.memo import IdentityMemo
from mentis.values.part import (
    MediaPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from mentis.values.tool import ToolDeclaration
from mentis.values.trace import Cut, TokenCount
from mentis.values.turn import Turn, guest_name
from mentis.values.value import Value

from .media import media_tokens

NO_ROOM = "no room left in the context"
LEFT_BEHIND = "before the part of the conversation that is told"
_HEADLESS = "what it answers was left out"
_RECKONED = "reckoned from those after them"
# So many of those that had no room are told each by itself: nobody reads more, and each is counted.
_TOLD_ALONE = 50
_GONE = (NO_ROOM, LEFT_BEHIND, _HEADLESS)
# What a chat template puts around each message, generously: roles, markers, line ends.
FRAMING_TOKENS = 8


@dataclass(frozen=True, slots=True)
class KeptHistory(Value):
    turns: tuple[Turn, ...]
    tokens: TokenCount
    cuts: tuple[Cut, ...]
    lore: tuple[LoreTrace, ...] = ()


@dataclass(frozen=True, slots=True)
class HistorySteps(Value):
    """The told part moves in steps and holds at most so many `tokens`. `numbers` are those of the
    turns in their conversation; without them they are counted.
    """

    tokens: int
    numbers: tuple[int, ...] = ()


_NO_TOKENS = TokenCount(0, exact=True)
_COUNTED = IdentityMemo[IdentityMemo[TokenCount]](16)  # by the counter, then by the turn
_TOOLS_COUNTED = IdentityMemo[TokenCount](64)
_AT_ONCE = 128  # turns that are counted together
_TOOL_TEXTS = IdentityMemo[str](1024)
_NOTHING = KeptHistory((), _NO_TOKENS, ())


def keep_newest(
    history: Sequence[Turn],
    room: int,
    counter: TokenCounter,
    *,
    earlier: int = 0,
    steps: HistorySteps | None = None,
) -> KeptHistory:
    """Drop turns that came to nothing, then the oldest until the rest fits into `room` tokens, or
    in `steps`. So many `earlier` ones are left out in any case.
    """
    if not history:
        return _NOTHING
    reasons = _unusable_each(history)
    if steps is None:
        why, (first, _, counts) = NO_ROOM, _first_that_fits(history, reasons, room, counter)
    else:
        steps = steps if steps.numbers else HistorySteps(steps.tokens, _numbers(earlier, history))
        why, (first, counts) = (
            LEFT_BEHIND,
            _first_step(history, reasons, room, counter, steps=steps),
        )
    reasons[:first] = [reason or why for reason in reasons[:first]]
    _drop_headless(history, reasons)
    together = first - _TOLD_ALONE if first > _TOLD_ALONE else 0
    cuts = [
        Cut(
            _place(earlier + index, history[index]),
            turn_tokens(history[index], counter).tokens,
            reason,
        )
        for index, reason in enumerate(reasons[together:], start=together)
        if reason
    ]
    kept = [index for index, reason in enumerate(reasons) if not reason]
    tokens = add(*[counts[index] for index in kept])
    if together := earlier + together:
        known = [cut.tokens for cut in cuts] or [tokens.tokens // max(len(kept), 1)]
        each = sum(known) // len(known)
        cuts.insert(0, Cut(f"turns 1 to {together}", each * together, f"{why}; {_RECKONED}"))
    return KeptHistory(tuple([history[index] for index in kept]), tokens, tuple(cuts))


def history_tokens(history: Sequence[Turn], counter: TokenCounter) -> int:
    """What the usable turns cost, with what stands around each of them."""
    usable = [turn for turn in history if not _unusable(turn)]
    return sum([one.tokens for one in _each_tokens(usable, counter)]) + _framing(usable)


def number_beyond(history: Sequence[Turn], room: int, counter: TokenCounter) -> int:
    """How many of the newest turns are more than so many tokens; 0 where all of them are not."""
    reasons = _unusable_each(history)
    first, _, _ = _first_that_fits(history, reasons, room, counter)
    return len(history) - first + 1 if first else 0


def _framing(turns: Sequence[Turn]) -> int:
    return len(turns) * FRAMING_TOKENS


def continuation_tokens(turns: Sequence[Turn], counter: TokenCounter) -> TokenCount:
    """What the steps of a turn cost, with what stands around each message."""
    counted = [turn_tokens(turn, counter) for turn in turns]
    return add(*counted, TokenCount(len(turns) * FRAMING_TOKENS))


def turn_tokens(turn: Turn, counter: TokenCounter) -> TokenCount:
    """A conversation tells the same turns each time: each is counted once."""
    return _each_tokens((turn,), counter)[0]


def _each_tokens(turns: Sequence[Turn], counter: TokenCounter) -> list[TokenCount]:
    known = _COUNTED.remember(_new_memo, counter)
    return known.remember_each(partial(_turn_tokens, counter), turns)


def _new_memo(_: TokenCounter) -> IdentityMemo[TokenCount]:
    return IdentityMemo(16384)


def _turn_tokens(counter: TokenCounter, turn: Turn) -> TokenCount:
    counted = count(turn_text(turn), counter)
    media = [part for part in turn.parts if isinstance(part, MediaPart) and not _as_text(part)]
    return add(counted, *(media_tokens(part, counter) for part in media)) if media else counted


def _as_text(part: MediaPart) -> bool:
    """The extracted text of a document is counted with the rest of the turn."""
    return part.kind == "document" and bool(part.extracted)


def turn_text(turn: Turn) -> str:
    """Everything in a turn that costs tokens, as one text to count."""
    return "\n".join(_part_text(part) for part in turn.parts)


def under_name(turn: Turn) -> Turn:
    """A guest's words under their name; everybody else's as they are."""
    if not turn.author:
        return turn
    place = next((n for n, part in enumerate(turn.parts) if isinstance(part, TextPart)), None)
    if place is None:
        return turn
    named = TextPart(of_guest(turn.author, turn.text))
    rest = (part for part in turn.parts if not isinstance(part, TextPart))
    return replace(turn, parts=(*rest, named))


def of_guest(author: str, text: str) -> str:
    """The name has a line of its own: the words may begin with a quotation."""
    return f"{guest_name(author)}:\n{text}"


def tool_text(tool: ToolDeclaration) -> str:
    """All that a model is told of a tool, written once for as long as it is declared."""
    return _TOOL_TEXTS.remember(_tool_text, tool)


def tools_tokens(tools: Sequence[ToolDeclaration], counter: TokenCounter) -> TokenCount:
    """Of all of them, counted once for as long as they are the ones that are declared."""
    return _TOOLS_COUNTED.remember(_tools_tokens, counter, *tools)


def _tools_tokens(counter: TokenCounter, *tools: ToolDeclaration) -> TokenCount:
    return count("\n".join(tool_text(tool) for tool in tools), counter)


def _tool_text(tool: ToolDeclaration) -> str:
    return f"{tool.name} {tool.description} {json.dumps(tool.parameters, ensure_ascii=False)}"


def count(text: str, counter: TokenCounter) -> TokenCount:
    return counter.count(text) if text else _NO_TOKENS


def add(*counts: TokenCount) -> TokenCount:
    """A sum is exact only if all of it is."""
    return TokenCount(sum([one.tokens for one in counts]), all(one.exact for one in counts))


def _place(index: int, turn: Turn) -> str:
    return f"turn {index + 1} ({turn.role})"


def _unusable_each(turns: Sequence[Turn]) -> list[str]:
    """As most are whole, these are not asked one by one."""
    return ["" if turn.state == "complete" and turn.parts else _unusable(turn) for turn in turns]


def _unusable(turn: Turn) -> str:
    match turn.state:
        case "complete" | "interrupted":
            return "" if turn.parts else "the turn is empty"
        case "failed":
            return "the turn failed"
        case "pending":
            return "the turn was never finished"


def _first_that_fits(
    history: Sequence[Turn], reasons: Sequence[str], room: int, counter: TokenCounter
) -> tuple[int, int, dict[int, TokenCount]]:
    """The index from which on everything usable fits, the last from which on it is more than half
    of the room, and what was counted. The newest come first, and of those that do not fit only one
    is counted, so that a long conversation costs no more than what is told of it.
    """
    used, half, counts = 0, 0, dict[int, TokenCount]()
    for end in range(len(reasons), 0, -_AT_ONCE):
        usable = [n for n in range(max(0, end - _AT_ONCE), end) if not reasons[n]]
        counted = _each_tokens([history[n] for n in usable], counter)
        after = used + sum([one.tokens for one in counted]) + len(usable) * FRAMING_TOKENS
        if after <= room and (half or 2 * after <= room):  # nothing is passed: all of them at once
            counts.update(zip(usable, counted, strict=True))
            used = after
            continue
        for index, tokens in zip(reversed(usable), reversed(counted), strict=True):
            counts[index] = tokens
            used += tokens.tokens + FRAMING_TOKENS
            if not half and 2 * used > room:
                half = index
            if used > room:
                return index + 1, half, counts
    return 0, half, counts


def _first_step(
    history: Sequence[Turn],
    reasons: Sequence[str],
    room: int,
    counter: TokenCounter,
    *,
    steps: HistorySteps,
) -> tuple[int, dict[int, TokenCount]]:
    """The index at which the told part begins, with what was counted."""
    most, newest = min(room, steps.tokens), _newest_message(history)
    first, half, counts = _first_that_fits(history, reasons, most, counter)
    if first > newest:  # the newest exchange alone is more than the told part may hold
        first, _, counts = _first_that_fits(history, reasons, room, counter)
        return max(first, newest), counts
    if first:
        step = roundest(steps.numbers[first - 1], steps.numbers[max(first, half)])
        first = bisect_left(steps.numbers, step, lo=first)
    return first, counts


def roundest(before: int, last: int) -> int:
    """Of the numbers after `before` up to `last` the one that two divides the most often.

    It stays the same while both ends move on, until it is passed or one that is rounder comes in.
    """
    digits = (before ^ last).bit_length() - 1
    return last >> digits << digits


def _numbers(earlier: int, history: Sequence[Turn]) -> tuple[int, ...]:
    return tuple(range(earlier, earlier + len(history)))


def _newest_message(history: Sequence[Turn]) -> int:
    """The index of the last message; of the first turn where there is none."""
    messages = (n for n in range(len(history) - 1, -1, -1) if _is_message(history[n]))
    return next(messages, 0)


def _is_message(turn: Turn) -> bool:
    results = any(isinstance(part, ToolResultPart) for part in turn.parts)
    return turn.role == "user" and not results


def _drop_headless(history: Sequence[Turn], reasons: list[str]) -> None:
    """An answer whose question had to go, or a result without its call, cannot come first.

    An answer to nothing can: then it is the agent who began.
    """
    for index, turn in enumerate(history):
        if reasons[index]:
            continue
        if _is_message(turn):
            return
        result = any(isinstance(part, ToolResultPart) for part in turn.parts)
        if not result and not any(reason in _GONE for reason in reasons[:index]):
            return
        reasons[index] = _HEADLESS


def _part_text(part: Part) -> str:
    match part:
        case TextPart() | ReasoningPart():
            return part.text
        case ToolResultPart():
            return part.fence.around(part.text) if part.fence else part.text
        case ToolCallPart():
            told = part.raw or json.dumps(part.arguments, ensure_ascii=False, default=str)
            return f"{part.name} {told}"
        case MediaPart():
            return part.extracted
        case _:
            assert_never(part)
