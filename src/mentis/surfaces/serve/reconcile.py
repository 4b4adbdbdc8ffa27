"""Holds the conversation as a client has it against ours, and says what the client's next turn is.

A client keeps its own view: it may have edited a message, asked for another answer, or talk of
things that were never said here. Both are compared as the two have spoken, without calls and their
results; spaces do not count. The rest of the plan is in our own words: an edit, a regeneration, or
turns that are adopted as the client's word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from mentis.errors import BadInput
from mentis.record.threads import standing_numbers
from mentis.values.part import Part, ToolCallPart, ToolResultPart
from mentis.values.turn import Role, Turn
from mentis.values.value import Value

_CAME_TO_NOTHING = ("pending", "failed")


@dataclass(frozen=True, slots=True)
class Spoken(Value):
    """What one of the two said before the other spoke again, from the turn `place` to `end`."""

    role: Role
    words: str
    place: int
    end: int
    broken: bool = False


@dataclass(frozen=True, slots=True)
class TurnPlan(Value):
    """What is to be done in a session: turns to adopt first, then a message to say, in the place
    of the one of number `replaces` if it has one; or the results of calls to bring. `shared` is how
    much of the conversation both have; `answers_calls`: the session waits for these results.
    """

    adopted: tuple[Turn, ...] = ()
    message: tuple[Part, ...] = ()
    results: tuple[ToolResultPart, ...] = ()
    replaces: int | None = None
    shared: int = 0
    answers_calls: bool = False


def plan_turn(asked: Sequence[Turn], kept: Sequence[Turn], *, named: bool) -> TurnPlan:
    """What the last turn of the client is in a session that has `kept` these turns.

    `named`: the client named the session, so that its view may begin anywhere in it, and what fits
    nowhere goes on at the end. Else both begin with the same words, or share nothing.
    """
    check_last(asked)
    last, before = asked[-1], [*asked[:-1]]
    results = tuple(part for part in last.parts if isinstance(part, ToolResultPart))
    message = tuple(part for part in last.parts if not isinstance(part, ToolResultPart))
    said, ours = spoken(before), spoken_here(kept)
    start = _best_start(said, ours) if named else 0
    ours = ours[start:]
    shared = shared_length(said, ours)
    if named and not shared:
        ours = []  # it goes on at the end
    if shared < len(said):
        begin = said[shared - 1].end + 1 if shared else 0
        follows = _following(kept, ours[:shared]) if shared < len(ours) else None
        adopted = (replace(before[begin], replaces=follows), *before[begin + 1 :])
        return _with_unsaid(adopted, results, message, shared=shared)
    if not results:
        after = ours[shared].place if shared < len(ours) else None
        return TurnPlan(message=message, replaces=after, shared=shared)
    if shared == len(ours) and _open_ids(kept) == sorted(one.call_id for one in results):
        told = () if not message else (Turn("user", results),)
        brought = () if message else results
        return TurnPlan(told, message, brought, shared=shared, answers_calls=True)
    # The calls do not wait here any more: what followed the message is told anew.
    begin = said[-1].end + 1 if said and said[-1].role == "user" else _last_message(before) + 1
    if begin >= len(before):
        raise BadInput(
            "there are results, and no calls of which", hint="send the calls before them"
        )
    until = shared if said and said[-1].role == "user" else shared - 1
    follows = _following(kept, ours[:until]) if ours else None
    adopted = (replace(before[begin], replaces=follows), *before[begin + 1 :])
    return _with_unsaid(adopted, results, message, shared=shared)


def spoken(turns: Sequence[Turn]) -> list[Spoken]:
    """What was said, from turns as a client has them."""
    return [*_merged((turn, place) for place, turn in enumerate(turns))]


def first_words(turns: Sequence[Turn]) -> str | None:
    """What was said first, from turns as a client has them; None where nothing was."""
    return next((one.words for one in _merged((turn, 0) for turn in turns)), None)


def spoken_here(kept: Sequence[Turn]) -> list[Spoken]:
    """What was said and counts, from the turns of a session."""
    return [*_merged(_counting(kept))]


def first_words_here(kept: Sequence[Turn]) -> str | None:
    """What was said first and counts, from the turns of a session; None where nothing was."""
    return next((one.words for one in _merged(_counting(kept))), None)


def _counting(kept: Sequence[Turn]) -> Iterator[tuple[Turn, int]]:
    for number in standing_numbers(kept):
        turn = kept[number]
        if turn.kind == "said" and turn.state not in _CAME_TO_NOTHING:
            yield turn, number


def shared_length(said: Sequence[Spoken], ours: Sequence[Spoken]) -> int:
    """How many of the first are the same."""
    pairs = zip(said, ours, strict=False)
    return next((n for n, pair in enumerate(pairs) if not _alike(*pair)), min(len(said), len(ours)))


def open_calls(kept: Sequence[Turn]) -> list[ToolCallPart]:
    """The calls at the end of a session that wait for results."""
    standing = [kept[n] for n in standing_numbers(kept) if kept[n].kind == "said"]
    answered: set[str] = set()
    for turn in reversed(standing):
        results = {part.call_id for part in turn.parts if isinstance(part, ToolResultPart)}
        if turn.role == "user" and not results:
            return []
        answered |= results
        calls = [part for part in turn.parts if isinstance(part, ToolCallPart)]
        if calls:
            return [call for call in calls if call.id not in answered]
        if turn.role == "assistant":
            return []
    return []


def with_call_ids(asked: Sequence[Turn], kept: Sequence[Turn]) -> tuple[Turn, ...]:
    """The last results under the ids of the calls that wait here: by their order."""
    waiting = [call.id for call in open_calls(kept)]
    results = [part for part in asked[-1].parts if isinstance(part, ToolResultPart)]
    if not results or len(results) != len(waiting):
        return tuple(asked)
    named = [replace(part, call_id=name) for part, name in zip(results, waiting, strict=True)]
    rest = [part for part in asked[-1].parts if not isinstance(part, ToolResultPart)]
    return (*asked[:-1], Turn("user", (*named, *rest)))


def check_last(asked: Sequence[Turn]) -> None:
    """BadInput where the last word is not the user's."""
    if not asked or asked[-1].role != "user":
        raise BadInput(
            "the last message has to be the user's, and it is not",
            hint="an answer that the client has begun cannot be continued",
        )


def _with_unsaid(
    adopted: tuple[Turn, ...],
    results: tuple[ToolResultPart, ...],
    message: tuple[Part, ...],
    *,
    shared: int,
) -> TurnPlan:
    if results and message:
        return TurnPlan((*adopted, Turn("user", results)), message, shared=shared)
    return TurnPlan(adopted, message, results, shared=shared)


def _following(kept: Sequence[Turn], shared: Sequence[Spoken]) -> int | None:
    """The number of what follows, in a session, the last that both have."""
    end = shared[-1].end if shared else -1
    numbers = (n for n in standing_numbers(kept) if kept[n].kind == "said" and n > end)
    return next(numbers, None)


def _last_message(turns: Sequence[Turn]) -> int:
    return max((n for n, turn in enumerate(turns) if _is_message(turn)), default=-1)


def _open_ids(kept: Sequence[Turn]) -> list[str]:
    return sorted(call.id for call in open_calls(kept))


def _merged(turns: Iterable[tuple[Turn, int]]) -> Iterator[Spoken]:
    last: Spoken | None = None
    for turn, place in turns:
        text = "".join(turn.text.split())
        if not text and not _is_message(turn):
            continue  # calls or results alone
        broken = turn.state == "interrupted"
        if last is not None and last.role == turn.role:
            last = replace(last, words=last.words + text, end=place, broken=broken)
            continue
        if last is not None:
            yield last
        last = Spoken(turn.role, text, place, place, broken)
    if last is not None:
        yield last


def _is_message(turn: Turn) -> bool:
    return turn.role == "user" and any(not isinstance(part, ToolResultPart) for part in turn.parts)


def _alike(theirs: Spoken, ours: Spoken) -> bool:
    """Of our answers a client may have missed the end: it came later, or the reader had gone."""
    if theirs.role != ours.role:
        return False
    if theirs.words == ours.words:
        return True
    if ours.role == "user" or not theirs.words:
        return False
    return ours.words.startswith(theirs.words) or (
        ours.broken and theirs.words.startswith(ours.words)
    )


def _best_start(said: Sequence[Spoken], ours: Sequence[Spoken]) -> int:
    """Where in a session the view of the client begins: the longest run, the last of equals."""
    runs = [(shared_length(said, ours[start:]), start) for start in range(len(ours))]
    return max(runs, default=(0, 0))[1]
