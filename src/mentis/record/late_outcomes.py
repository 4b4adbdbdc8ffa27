"""Late outcomes of acts, told where the conversation still says that they wait.

The kept turns are bound by the record and stay as they are: what is read from them is brought up to
date with what the ledger says of the act by now.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from mentis.act import entries
from mentis.ports.entries import Entries
from mentis.values.entry import Entry
from mentis.values.part import Part, ToolResultPart
from mentis.values.trust import Trust
from mentis.values.turn import Turn

from .act_stories import ActStory, act_stories

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
    """The same turns, with the outcomes of acts that wait no more; only those that stood in the
    record `before` an entry, if given. It blocks.
    """
    return tuple(_turn(turn, ledger, agent, before) for turn in turns)


def waiting_keys(turns: Iterable[Turn]) -> frozenset[str]:
    """The acts of which these turns say that they wait."""
    parts = (part for turn in turns if turn.role == "user" for part in turn.parts)
    found = (_WAITING.fullmatch(p.text) for p in parts if isinstance(p, ToolResultPart))
    return frozenset(waited[1] for waited in found if waited)


def _turn(turn: Turn, ledger: Entries, agent: str, before: int | None) -> Turn:
    if turn.role != "user" or not any(isinstance(part, ToolResultPart) for part in turn.parts):
        return turn
    parts = tuple(_part(part, ledger, agent, before) for part in turn.parts)
    return turn if parts == turn.parts else replace(turn, parts=parts)


def _part(part: Part, ledger: Entries, agent: str, before: int | None) -> Part:
    waited = _WAITING.fullmatch(part.text) if isinstance(part, ToolResultPart) else None
    if not isinstance(part, ToolResultPart) or waited is None:
        return part
    known = _entries(ledger, agent, waited[1])
    then = (entry for entry in known if before is None or entry.index < before)
    story = next(iter(act_stories(then)), None)
    if story is None or story.type != part.name:
        return part
    state, reason = _came_to(story)
    if not state:
        return part
    text = outcome_text(state, reason, story.text)
    # The record does not say who vouches for it, so nobody does.
    return replace(part, text=text, failed=state != "done", trust=Trust.UNTRUSTED)


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
