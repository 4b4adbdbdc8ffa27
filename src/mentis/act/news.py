"""Outcomes that came outside of a turn, told only as the record says them.

The mark that keeps it is bound by nothing, so it is held against the entry that it came with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from mentis.errors import StoreDamaged
from mentis.values.action import Outcome
from mentis.values.entry import Entry
from mentis.values.json import JsonObject
from mentis.values.mark import Mark
from mentis.values.trust import Trust

from . import entries
from .briefs import clean, short

# The genuine entry that was delivered as this; None where there is none.
Find: TypeAlias = Callable[[str], Entry | None]
_ERASED = "the owner erased what is known of it"
_MOST_ATTEMPTS = 1000
ENDS: tuple[entries.Stage, ...] = ("outcome", "denied", "expired", "released")


def bound_news(mark: Mark, find: Find) -> Outcome:
    """StoreDamaged unless the record says the same of the act. Nobody vouches for its text."""
    outcome, act = entries.news(mark), find_act(mark.key, find)
    if act is None:
        raise _unbound(mark.key, "no entry says that anything came of it")
    if outcome.key != mark.key or not act.is_of(outcome.action.type):
        raise _unbound(mark.key, "it is of another act")
    told = replace(outcome, trust=Trust.UNTRUSTED)
    if act.erased and is_blank(told) and act.state in (told.state, ""):
        return told if act.state else replace(told, state="unknown")  # that is erased, too
    if not act.says(outcome):
        raise _unbound(mark.key, "the record says something else of it")
    return told


def blank(outcome: Outcome) -> Outcome:
    """Without what it asked for and what came of it."""
    action = replace(outcome.action, payload={})
    return replace(outcome, action=action, text="", reason=_ERASED, blob="", size=0, screening=None)


def is_blank(outcome: Outcome) -> bool:
    return outcome == blank(outcome)


@dataclass(frozen=True, slots=True)
class RecordedAct:
    """All that stands in the record of an act that came to something; `ended` says to what."""

    steps: Sequence[Entry]
    ended: Entry

    @property
    def erased(self) -> bool:
        return any(len(step.body) < len(step.fields) for step in self.steps)

    @property
    def state(self) -> str:
        head = _head(self.ended)
        return str(head.get("state") or ("refused" if head else ""))

    @property
    def stage(self) -> str:
        return str(_head(self.ended).get("stage", ""))

    @property
    def type(self) -> str:
        return str(_head(self.ended).get("type", ""))

    @property
    def payload(self) -> JsonObject:
        """What it was asked for with; nothing, where that was not recorded."""
        payloads = [step.body["payload"] for step in self.steps if "payload" in step.body]
        return _object(payloads[0]) if payloads else {}

    def is_of(self, name: str) -> bool:
        known = {str(head["type"]) for head in map(_head, self.steps) if "type" in head}
        return not known or bool({name, short(clean(name)[0])} & known)

    def says(self, outcome: Outcome) -> bool:
        head = _head(self.ended)
        result = _object(self.ended.body.get("result"))
        came = (self.state, head.get("source", ""), *map(result.get, ("text", "size", "blob")))
        if not result:  # nobody began it
            came = (*came[:2], "", 0, "")
        told = (outcome.state, outcome.source, outcome.text, outcome.size, outcome.blob)
        verdict = {"screening": result["screening"]} if "screening" in result else {}
        if entries.payload_digest(verdict) != entries.payload_digest(
            entries.verdict_fields(outcome)
        ):
            return False
        return came == told and outcome.reason in self._reasons() and self._asked_for(outcome)

    def _reasons(self) -> Sequence[str]:
        head = _head(self.ended)
        if head.get("stage") in ("outcome", "released"):
            return (str(head.get("reason", "")),)
        decided = _object(self.ended.body.get("decided"))
        words = f": {decided['words']}" if decided.get("words") else ""
        if head.get("stage") == "denied":
            return (f"denied by {decided.get('by', '')}{words}",)
        until = {str(told["expires"]) for told in map(_head, self.steps) if "expires" in told}
        return [f"nobody {did} it until {one}" for did in ("approved", "began") for one in until]

    def _asked_for(self, outcome: Outcome) -> bool:
        payloads = [step.body["payload"] for step in self.steps if "payload" in step.body]
        wanted = entries.payload_digest(outcome.action.payload)
        return bool(payloads) and all(
            entries.payload_digest(_object(payload)) == wanted for payload in payloads
        )


def find_act(key: str, find: Find) -> RecordedAct | None:
    """What the record says of an act; None where it says of nothing that came of it."""
    steps = [*_steps(key, find)]
    ended = [entry for entry in steps if ends(entry)]
    return RecordedAct(steps, ended[-1]) if ended else None


def ends(entry: Entry) -> bool:
    """Whether what came of an act stands in it; not known of one whose delivery was erased."""
    parts = (entry.delivery or "").split("/")
    return parts[0] == "act" and parts[2:3] in ([stage] for stage in ENDS)


def _steps(key: str, find: Find) -> Iterator[Entry]:
    """In the order of the stages; what was tried again more than once by its attempts."""
    asked: tuple[entries.Stage, ...] = ("waiting", "denied", "expired")
    for stage in asked:
        if entry := find(entries.delivery(key, stage)):
            yield entry
    for attempt in range(1, _MOST_ATTEMPTS):
        begun = find(entries.delivery(key, "intent", attempt))
        ended = find(entries.delivery(key, "outcome", attempt))
        yield from filter(None, (begun, ended))
        if begun is None:
            break
    if released := find(entries.delivery(key, "released")):
        yield released


def _unbound(key: str, why: str) -> StoreDamaged:
    return StoreDamaged(
        f"what is said to have come of act {key} is not told: {why}",
        hint="`mentis ledger repair` records that and takes it away",
        key=key,
    )


def _head(entry: Entry) -> JsonObject:
    return _object(entry.body.get("act"))


def _object(value: object) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, Mapping) else {}
