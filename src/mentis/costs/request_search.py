"""Search through what models were told: the newest request first, so many at a time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from mentis.errors import UsageError
from mentis.values.blame import PromptMatch
from mentis.values.cost import TurnCost
from mentis.values.value import Value

from .blame import find_in_prompt
from .entry_costs import pricing_on, turn_cost
from .record_reader import RecordReader

MOST_CALLS = 8  # requests that one look puts together again
_MOST_ENTRIES = 1000  # entries that it goes through
_MOST_PLACES = 4  # in one request
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class RequestHit(Value):
    """A turn in whose request the words stand, and where."""

    turn: TurnCost
    places: tuple[PromptMatch, ...]


@dataclass(frozen=True, slots=True)
class RequestSearch(Value):
    """`searched` requests were looked at; those before the entry `next` were not."""

    hits: tuple[RequestHit, ...]
    searched: int
    next: int | None


def search_requests(
    reader: RecordReader, words: str, *, before: int | None = None, most: int = MOST_CALLS
) -> RequestSearch:
    """One look: no more requests than may be put together again while somebody waits. It blocks."""
    wanted = words.split()
    if not wanted or len(words) > _LONGEST:
        raise UsageError(f"give 1 to {_LONGEST} characters to look for", hint="type a few words")
    pattern = re.compile(r"\s+".join(map(re.escape, wanted)), re.IGNORECASE)
    hits, searched, price = list[RequestHit](), 0, pricing_on(reader.routes)
    for looked, entry in enumerate(reader.backwards(before), 1):
        turn = turn_cost(entry, price)
        if turn.calls:
            searched += 1
            places = tuple(islice(find_in_prompt(reader, entry.index, pattern), _MOST_PLACES))
            hits += [RequestHit(turn, places)] if places else []
        if searched == most or looked == _MOST_ENTRIES:
            return RequestSearch(tuple(hits), searched, entry.index or None)
    return RequestSearch(tuple(hits), searched, None)
