"""Which result answers which call. Every call gets exactly one answer; nothing is left over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mentis.values.part import MediaPart, TextPart, ToolCallPart, ToolResultPart
from mentis.values.turn import Turn

Place = tuple[int, int]  # the number of the turn, the number of the part in it


@dataclass(slots=True)
class Pairs:
    """`answers` leads from the place of a call to its result; orphans and repeated answer none."""

    answers: dict[Place, ToolResultPart] = field(default_factory=dict[Place, ToolResultPart])
    orphans: set[Place] = field(default_factory=set[Place])
    repeated: set[Place] = field(default_factory=set[Place])
    called: list[str] = field(default_factory=list[str])  # the names, in the order of the calls
    media: dict[Place, dict[Place, MediaPart]] = field(  # of the answer, by the place of its call
        default_factory=dict[Place, dict[Place, MediaPart]]
    )
    media_of: dict[Place, ToolResultPart] = field(default_factory=dict[Place, ToolResultPart])


def pair(turns: Sequence[Turn]) -> Pairs:
    """A result belongs to the first open call with its id, in the latest turn that has one.

    A result without an id answers, in their order, the calls without one.
    """
    pairs = Pairs()
    calls: dict[str, list[Place]] = {}
    for number, turn in enumerate(turns):
        if len(turn.parts) == 1 and type(turn.parts[0]) is TextPart:
            continue
        for index, part in enumerate(turn.parts):
            if type(part) is ToolCallPart:
                pairs.called.append(part.name)
                calls.setdefault(part.id, []).append((number, index))
            elif type(part) is ToolResultPart:
                _answer(pairs, part, (number, index), calls.get(part.call_id))
                if part.media:
                    _own_media(pairs, part, turn, (number, index))
    return pairs


def _own_media(pairs: Pairs, part: ToolResultPart, turn: Turn, place: Place) -> None:
    number, index = place
    after = enumerate(turn.parts[index + 1 : index + 1 + part.media], start=index + 1)
    media = {(number, n): one for n, one in after if type(one) is MediaPart}
    pairs.media_of |= dict.fromkeys(media, part)
    call = next((call for call, answer in pairs.answers.items() if answer is part), None)
    if call is not None:
        pairs.media[call] = media


def _answer(pairs: Pairs, part: ToolResultPart, place: Place, calls: list[Place] | None) -> None:
    if calls is None:
        pairs.orphans.add(place)
        return
    if len(calls) == 1 and calls[0] not in pairs.answers:
        pairs.answers[calls[0]] = part
        return
    waiting = [call for call in calls if call not in pairs.answers]
    if not waiting:
        pairs.repeated.add(place)
        return
    latest = waiting[-1][0] if part.call_id else waiting[0][0]
    pairs.answers[next(call for call in waiting if call[0] == latest)] = part
