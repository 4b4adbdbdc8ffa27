"""Takes a whole answer apart: where its window is, how many there are, what stands around it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import cast

from mentis.codec.canon import MAX_BYTES
from mentis.codec.strict_json import read_strict_object
from mentis.errors import NotCanonical
from mentis.values.guardian import GuardianProfile, GuardianState, Judgement
from mentis.values.json import JsonObject
from mentis.values.window import is_window

from .case import Case, Response
from .draft import unwrap_window
from .judge import draft_rules, judge_case
from .table import RULES

_OPENING = re.compile(r'\{\s{0,1000}"')
_FENCE = re.compile(r"```[ \t]*\w*[ \t]*\r?\n\s{0,1000}\Z")
_FENCE_END = re.compile(r"\s{0,1000}```[ \t]*(?=\r?\n|\Z)")
_FENCE_ROOM = 1100
_DECODER = json.JSONDecoder()
# An answer may be made so that every brace begins a long search; then the search says so and ends.
_MOST_ATTEMPTS = 5_000
_MOST_READ = 16 * MAX_BYTES


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    value: Mapping[str, object]


@dataclass(slots=True)
class _Search:
    """Every outermost JSON object in a text, and why the search stopped early if it did."""

    text: str
    attempts: int = 0
    read: int = 0
    undecided: str = ""

    def objects(self) -> Iterator[_Found]:
        place = 0
        while (opening := _OPENING.search(self.text, place)) is not None:
            if self._spent():
                return
            found = self._at(opening.start())
            if found is not None:
                yield found
            place = found.end if found is not None else opening.start() + 1

    def _spent(self) -> bool:
        self.attempts += 1
        if self.attempts > _MOST_ATTEMPTS or self.read > _MOST_READ:
            self.undecided = "too much in it looks like JSON and is none"
        return bool(self.undecided)

    def _at(self, start: int) -> _Found | None:
        try:
            # No window is longer, so no attempt reads further.
            value, length = _DECODER.raw_decode(self.text[start : start + MAX_BYTES])
        except json.JSONDecodeError as error:
            self.read += error.pos
        except (RecursionError, ValueError):  # too deep, or an integer of thousands of digits
            self.read += MAX_BYTES
        else:
            self.read += length
            return _Found(start, start + length, cast("Mapping[str, object]", value))
        return None


def check_response(text: str, state: GuardianState, profile: GuardianProfile) -> Judgement:
    """The judgement of a whole answer: its order, and the window in it as a draft."""
    response, window = find_window(text)
    case = Case(window, state, profile, response=response)
    rules = [rule for rule in RULES if rule.stage == "response"]
    # Without a window there is nothing else to judge, and one finding says it.
    judged = rules if response.windows == 0 else [*rules, *draft_rules(RULES)]
    return judge_case(case, judged)


def find_window(text: str) -> tuple[Response, JsonObject]:
    """The answer taken apart, and its first window (an empty one when there is none).

    A trigger printed on its own after the text belongs to a window that has none.
    """
    search = _Search(text)
    found = list(search.objects())
    windows = [one for one in found if is_window(one.value)]
    response = Response(text, windows=len(windows), undecided=search.undecided)
    if not windows:
        return response, {}
    placed = _placed(response, windows[0], text)
    try:
        data = text[windows[0].start : windows[0].end].encode(errors="surrogatepass")
        window = unwrap_window(read_strict_object(data))
    except NotCanonical as error:
        return replace(placed, windows=0, unreadable=error.message), {}
    trigger = next((one for one in reversed(found) if _is_trigger(one.value)), None)
    if trigger is None:
        return placed, window
    placed = replace(placed, trigger_start=trigger.start, trigger_end=trigger.end)
    if "mcp_trigger" in window:
        return placed, window
    return placed, {**window, "mcp_trigger": trigger.value["mcp_trigger"]}


def _placed(response: Response, window: _Found, text: str) -> Response:
    start, end = window.start, window.end
    room = max(0, start - _FENCE_ROOM)
    fence = _FENCE.search(text[room:start])
    closing = _FENCE_END.match(text, end) if fence is not None else None
    if fence is not None and closing is not None:
        start, end = room + fence.start(), closing.end()
    return replace(
        response,
        start=start,
        end=end,
        fenced=closing is not None,
        before=text[:start].strip(),
        after=text[end:],
    )


def _is_trigger(value: Mapping[str, object]) -> bool:
    return list(value) == ["mcp_trigger"]
