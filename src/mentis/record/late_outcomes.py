"""Late outcomes of acts, told where the conversation still says that they wait, or were withheld.

The kept turns are bound by the record and stay as they are: what is read from them is brought up to
date with what the ledger says of the act by now.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from mentis.act import entries
from mentis.act.screening import withheld_key
from mentis.ports.entries import Entries
from mentis.values.entry import Entry
from mentis.values.part import Part, TextPart, ToolResultPart
from mentis.values.trust import Trust
from mentis.values.turn import Turn

from .act_stories import ActStory, act_stories

_RELEASED = '{"released": "owner"}'
_WAITING = re.compile(r"waiting: .*\nact: (\S{1,200})", re.DOTALL)


def waiting_text(reason: str, key: str) -> str:
    """With the key, by which what comes of it is found."""
    return f"waiting: {reason}\nact: {key}" if key else f"waiting: {reason}"


def outcome_text(state: str, reason: str, text: str) -> str:
    """The state comes first, unless it is done: what a timeout is must not be guessed."""
    if state == "done":
        return text or reason or state
    head = f"{state}: {reason}" if reason else state
    return f"{head}\n{text}" if text else head


def with_late_outcomes(
    turns: Sequence[Turn], ledger: Entries, agent: str, *, before: int | None = None
) -> tuple[Turn, ...]:
    """The same turns, with the outcomes of acts that wait no more, and with withheld results that
    the owner released; only what stood in the record `before` an entry, if given. It blocks.
    """
    return tuple(
        [
            # Of one text, as most are.
            turn
            if len(turn.parts) == 1 and type(turn.parts[0]) is TextPart
            else _turn(turn, ledger, agent, before)
            for turn in turns
        ]
    )


def waiting_keys(turns: Iterable[Turn]) -> frozenset[str]:
    """The acts of which these turns say that they wait, or that what came of them was withheld."""
    parts = (part for turn in turns if turn.role == "user" for part in turn.parts)
    found = (_keys(part) for part in parts if isinstance(part, ToolResultPart))
    return frozenset(key for keys in found for key in keys if key)


def _keys(part: ToolResultPart) -> tuple[str, str]:
    """Of the act that it says waits, and of the one whose result it says is withheld."""
    waited = _WAITING.fullmatch(part.text)
    # The verdict is ours: a text that says so by itself is anybody's.
    return waited[1] if waited else "", withheld_key(part.text) if part.verdict == "dropped" else ""


def _turn(turn: Turn, ledger: Entries, agent: str, before: int | None) -> Turn:
    if turn.role != "user" or not any(isinstance(part, ToolResultPart) for part in turn.parts):
        return turn
    parts = tuple(_part(part, ledger, agent, before) for part in turn.parts)
    return turn if parts == turn.parts else replace(turn, parts=parts)


def _part(part: Part, ledger: Entries, agent: str, before: int | None) -> Part:
    if not isinstance(part, ToolResultPart):
        return part
    waited, withheld = _keys(part)
    if withheld:
        return _released(part, withheld, ledger, agent, before=before)
    if not waited:
        return part
    known = _entries(ledger, agent, waited)
    then = (entry for entry in known if before is None or entry.index < before)
    story = next(iter(act_stories(then)), None)
    if story is None or story.type != part.name:
        return part
    state, reason = _came_to(story)
    if not state:
        return part
    text = outcome_text(state, reason, story.text)
    # The record does not say who vouches for it, so nobody does.
    told = replace(part, text=text, failed=state != "done", trust=Trust.UNTRUSTED)
    held = bool(withheld_key(story.text))
    return _released(told, waited, ledger, agent, before=before) if held else told


def _released(
    part: ToolResultPart, key: str, ledger: Entries, agent: str, *, before: int | None
) -> ToolResultPart:
    """With what was withheld, if the owner had it told by then; it stays the words of somebody
    else.
    """
    entry = ledger.find_delivery(agent, entries.delivery(key, "released"))
    if entry is None or (before is not None and entry.index >= before):
        return part
    (story,) = act_stories([entry])
    if story.type != part.name:
        return part
    text = f"{_RELEASED}\n{story.text}"
    return replace(part, text=text, trust=Trust.UNTRUSTED, verdict="released")


def _entries(ledger: Entries, agent: str, key: str) -> Iterator[Entry]:
    """Nothing, unless it waited once: a result cannot claim to be another act."""
    waited = ledger.find_delivery(agent, entries.delivery(key, "waiting"))
    if waited is None:
        return
    yield waited
    for stage in entries.DECIDED:
        if decided := ledger.find_delivery(agent, entries.delivery(key, stage)):
            yield decided
    attempt = 1
    while ledger.find_delivery(agent, entries.delivery(key, "intent", attempt)):
        if ended := ledger.find_delivery(agent, entries.delivery(key, "outcome", attempt)):
            yield ended
        attempt += 1
    if attempt == 1 and (ended := ledger.find_delivery(agent, entries.delivery(key, "outcome"))):
        yield ended  # it was found missing or changed before it began


def _came_to(story: ActStory) -> tuple[str, str]:
    """State and reason; the empty state while it waits, or is begun."""
    last = story.steps[-1]
    if last.state:
        return last.state, last.reason
    said = {"denied": f"denied by {last.by}", "expired": "nobody approved it in time"}
    if last.stage not in said:
        return "", ""
    return "refused", ": ".join(filter(None, (said[last.stage], last.words)))
